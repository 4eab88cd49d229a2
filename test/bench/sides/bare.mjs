// A server that does nothing but write events to its readers.
import path from 'node:path';
import { heapBytes, memoryProbe, startChild } from '../processes.mjs';

const file = path.resolve(import.meta.dirname, '../floor/sse.mjs');

export async function startBare(logs) {
  const probe = memoryProbe(logs, 'bare');
  const server = await startChild(logs, { name: 'bare', file, ...probe });
  return {
    name: 'bare',
    processes: { server: server.pid },
    events: { port: server.port, path: '/', headers: {} },
    publish: server.send,
    heapBytes: () => heapBytes(server.pid, probe),
  };
}
