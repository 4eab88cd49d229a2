// A bare SSE server: everyone who comes is greeted, and then gets every event until the last. What has become due
// meanwhile is written as one.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };
const readers = new Set();
const taskId = uuidv7();

function frame(seq, type, payload) {
  const at = new Date().toISOString();
  return `id: ${seq}\nevent: ${type}\ndata: {"version":"1.0","event_id":"evt_${uuidv7()}","task_id":"${taskId}","seq":${seq},"event_type":"${type}","timestamp":"${at}","payload":${payload}}\n\n`;
}

/** A batch becomes due every millisecond, as the product's script has it; what is due is written as one to everyone. */
async function publish({ events, batch, payload }) {
  const startedMs = performance.now();
  for (let sent = 0; sent < events; await turn()) {
    const due = Math.min(events, batch * Math.ceil(performance.now() - startedMs)) - sent;
    const frames = Array.from({ length: due }, (_, at) => frame(sent + at + 2, 'agent.event', payload));
    sent += due;
    await deliver(frames);
  }
  await deliver([frame(events + 2, 'task.succeeded', '{"result":{"text":"done"}}')]);
  for (const res of readers) res.end();
  readers.clear();
}

/** Resolves when nobody is behind. */
async function deliver(frames) {
  const bytes = Buffer.from(frames.join(''));
  const behind = bytes.length === 0 ? [] : [...readers].filter((res) => !res.write(bytes));
  await Promise.all(behind.map((res) => once(res, 'drain')));
}

const server = createServer((req, res) => {
  res.writeHead(200, HEADERS);
  res.write(frame(1, 'task.created', '{}'));
  readers.add(res);
  res.once('close', () => readers.delete(res));
});
server.listen(0, '127.0.0.1', 4_096, () => process.send({ port: server.address().port }));
process.on('message', (job) => void publish(job));
