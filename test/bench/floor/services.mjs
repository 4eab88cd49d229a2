// What both processes of the floor share: where queue and bus live, by FLOOR_REDIS_URL set or not.
import { createPostgresBackend, Queue, withBackend, Worker } from 'bullmq';
import pg from 'pg';
import { createPostgresBus, createRedisBus } from './bus.mjs';

const databaseUrl = process.env.FLOOR_DATABASE_URL;
const redisUrl = process.env.FLOOR_REDIS_URL;
const QUEUE = 'tasks';

export const createPool = (max) => new pg.Pool({ connectionString: databaseUrl, max });
export const createBus = () => (redisUrl ? createRedisBus(redisUrl) : createPostgresBus(databaseUrl));

function backing() {
  if (redisUrl) {
    const { hostname, port } = new URL(redisUrl);
    return { Queue, Worker, connection: { host: hostname, port: Number(port) } };
  }
  const connection = { connectionString: databaseUrl, schema: 'bullmq', max: 2, migrate: true };
  return { ...withBackend(createPostgresBackend), connection };
}

export async function createQueue() {
  const { Queue, connection } = backing();
  const queue = new Queue(QUEUE, { connection });
  await queue.waitUntilReady();
  return queue;
}

export async function createWorker(handle) {
  const { Worker, connection } = backing();
  const worker = new Worker(QUEUE, handle, { connection, concurrency: 64 });
  await worker.waitUntilReady();
  return worker;
}
