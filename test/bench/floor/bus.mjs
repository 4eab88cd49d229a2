// Pub/sub of the floor: one channel per task on Redis, or NOTIFY with the frames inside on Postgres.
// A message is '1' or '0' (whether the stream ends with it) and then the SSE frames.
import { Redis } from 'ioredis';
import pg from 'pg';

const RECORD = '\u001e';
const NOTIFY_BYTES = 7_900;

export function createRedisBus(url) {
  const publisher = new Redis(url);
  const subscriber = new Redis(url);
  const listeners = new Map();
  subscriber.on('message', (channel, message) => listeners.get(channel)?.(message));
  return {
    async subscribe(taskId, listener) {
      listeners.set(taskId, listener);
      await subscriber.subscribe(taskId);
    },
    unsubscribe(taskId) {
      listeners.delete(taskId);
      void subscriber.unsubscribe(taskId);
    },
    async publish(messages) {
      const pipeline = publisher.pipeline();
      for (const [taskId, message] of messages) pipeline.publish(taskId, message);
      await pipeline.exec();
    },
  };
}

function chunks(messages) {
  const done = [];
  let open = '';
  for (const [taskId, message] of messages) {
    const item = taskId + message + RECORD;
    if (open && Buffer.byteLength(open) + Buffer.byteLength(item) > NOTIFY_BYTES) {
      done.push(open);
      open = '';
    }
    open += item;
  }
  return [...done, open];
}

export async function createPostgresBus(url) {
  const [sender, receiver] = [new pg.Client(url), new pg.Client(url)];
  await Promise.all([sender.connect(), receiver.connect()]);
  const listeners = new Map();
  receiver.on('notification', ({ payload }) => {
    for (const item of payload.split(RECORD)) listeners.get(item.slice(0, 36))?.(item.slice(36));
  });
  await receiver.query('listen events');
  return {
    async subscribe(taskId, listener) {
      listeners.set(taskId, listener);
    },
    unsubscribe(taskId) {
      listeners.delete(taskId);
    },
    async publish(messages) {
      for (const chunk of chunks(messages)) {
        await sender.query({ name: 'notify', text: `select pg_notify('events', $1)`, values: [chunk] });
      }
    },
  };
}
