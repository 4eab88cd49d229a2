// The floor's server: POST /tasks stores the task, queues it and streams its events until the last one.
import { createServer } from 'node:http';
import { v7 as uuidv7 } from 'uuid';
import { createBus, createPool, createQueue } from './services.mjs';

const pool = createPool(6);
const [bus, queue] = await Promise.all([createBus(), createQueue()]);
const JOB = { removeOnComplete: true, removeOnFail: true, attempts: 1 };
const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };

async function body(req) {
  const parts = [];
  for await (const part of req) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function submit(req, res) {
  const text = await body(req);
  const { events = 3 } = JSON.parse(text);
  const id = uuidv7();
  const stored = pool.query({
    name: 'submit',
    text: 'insert into tasks (id, input) values ($1, $2)',
    values: [id, text],
  });
  const subscribed = bus.subscribe(id, (message) => {
    res.write(message.slice(1));
    if (message[0] === '0') return;
    res.end();
    bus.unsubscribe(id);
  });
  await Promise.all([stored, subscribed]);
  res.writeHead(200, { ...HEADERS, location: `/tasks/${id}` });
  await queue.add('task', { id, events }, { ...JOB, jobId: `${id}-1` });
}

const server = createServer((req, res) => {
  submit(req, res).catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    res.destroy();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
