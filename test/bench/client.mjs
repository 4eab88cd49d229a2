// The load: clients that submit a task and read its stream to the end, over connections kept alive.
import { Agent, request } from 'node:http';

/** A side broke its promise: an event lost, repeated, out of order, or a refused submit. The round does not count. */
export class VoidRound extends Error {
  name = 'VoidRound';
}

const kept = new Agent({ keepAlive: true, maxSockets: 256, scheduling: 'fifo' });
const ALONE = { agent: new Agent({ maxSockets: Infinity }) };
const STREAM = { accept: 'text/event-stream' };
const STILL_MS = 30_000;

/** Cuts a stream into frames, comments left out. */
function frameReader(onFrame) {
  let [text, count] = ['', 0];
  return {
    /** True when `onFrame` has seen enough. */
    read(chunk) {
      text += chunk;
      let start = 0;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', start)) {
        const frame = text.slice(start, end + 1);
        start = end + 2;
        if (frame.includes('data:') && onFrame(frame, count++) === true) return true;
      }
      text = text.slice(start);
      return false;
    },
    get count() {
      return count;
    },
    get rest() {
      return text;
    },
  };
}

/**
 * Sends one request and reads the stream it is answered with; calls `onFrame(frame, index)` for each event, in order of
 * arrival, until the stream ends or that answers true. Resolves with the number of events.
 */
export function follow({ port, path, headers, body }, onFrame, options = { agent: kept }) {
  return new Promise((resolve, reject) => {
    const length =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const method = body === undefined ? 'GET' : 'POST';
    const outgoing = request(
      { ...options, host: '127.0.0.1', port, path, method, headers: { ...STREAM, ...headers, ...length } },
      (res) => {
        const reader = frameReader(res.statusCode === 200 ? onFrame : () => false);
        res.setEncoding('utf8');
        res.on('data', (chunk) => {
          try {
            if (!reader.read(chunk)) return;
            resolve(reader.count);
            outgoing.destroy();
          } catch (error) {
            outgoing.destroy(error);
            reject(error);
          }
        });
        res.on('end', () => {
          if (res.statusCode === 200) resolve(reader.count);
          else reject(new VoidRound(`answered ${res.statusCode}: ${reader.rest.slice(0, 300)}`));
        });
        res.on('error', reject);
      },
    );
    outgoing.setTimeout(STILL_MS, () => outgoing.destroy(new VoidRound('a stream stood still for 30 s')));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** As `follow`, on a connection of its own, for a stream whose every event must come once and in order. */
export function subscribe(target, afterSeq, onFrame) {
  const inOrder = (frame, index) => {
    const seq = afterSeq + index + 1;
    if (!frame.startsWith(`id: ${seq}\n`))
      throw new VoidRound(`event ${seq} is not the one due: ${frame.slice(0, 200)}`);
    return onFrame(seq, frame);
  };
  return follow(target, inOrder, ALONE);
}

/** Runs one task and counts it: every event once and in order, or the round is void. */
export async function runTask(side, kind, onFrame) {
  const { fits, count } = side.expected(kind);
  const seen = await follow(side.request(kind), (frame, index) => {
    if (!fits(frame, index))
      throw new VoidRound(`${side.name}: event ${index + 1} is not the one due: ${frame.slice(0, 200)}`);
    onFrame?.(frame, index);
  });
  if (seen !== count) throw new VoidRound(`${side.name}: ${seen} events instead of ${count}`);
  return seen;
}
