// The load: clients that submit a task and read its stream to the end, over connections kept alive.
import { Agent, request } from 'node:http';

/** A side broke its promise: an event lost, repeated, out of order, or a refused submit. The round does not count. */
export class VoidRound extends Error {
  name = 'VoidRound';
}

const agent = new Agent({ keepAlive: true, maxSockets: 256, scheduling: 'fifo' });
const STREAM = { 'content-type': 'application/json', accept: 'text/event-stream' };

/** Submits one task; calls `onFrame(frame, index)` for each event, in order of arrival, until the stream ends. */
export function submit({ port, path, headers, body }, onFrame) {
  return new Promise((resolve, reject) => {
    const length = Buffer.byteLength(body);
    const options = {
      agent,
      host: '127.0.0.1',
      port,
      path,
      method: 'POST',
      headers: { ...STREAM, ...headers, 'content-length': length },
    };
    const outgoing = request(options, (res) => {
      let [text, index] = ['', 0];
      res.setEncoding('utf8');
      res.on('data', (chunk) => {
        text += chunk;
        if (res.statusCode !== 200) return;
        let end;
        while ((end = text.indexOf('\n\n')) >= 0) {
          const frame = text.slice(0, end + 1);
          text = text.slice(end + 2);
          if (frame.includes('data:')) onFrame(frame, index++);
        }
      });
      res.on('end', () => {
        if (res.statusCode === 200) resolve(index);
        else reject(new VoidRound(`answered ${res.statusCode}: ${text.slice(0, 300)}`));
      });
      res.on('error', reject);
    });
    outgoing.setTimeout(30_000, () => outgoing.destroy(new VoidRound('a stream stood still for 30 s')));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Runs one task and counts it: every event once and in order, or the round is void. */
export async function runTask(side, kind, onFrame) {
  const { fits, count } = side.expected(kind);
  const seen = await submit(side.request(kind), (frame, index) => {
    if (!fits(frame, index))
      throw new VoidRound(`${side.name}: event ${index + 1} is not the one due: ${frame.slice(0, 200)}`);
    onFrame?.(frame, index);
  });
  if (seen !== count) throw new VoidRound(`${side.name}: ${seen} events instead of ${count}`);
  return seen;
}
