// The same pipeline with no framework: what the product is measured against.
import path from 'node:path';
import { createDatabase } from '../database.mjs';
import { SCHEMA } from '../floor/log.mjs';
import { startChild } from '../processes.mjs';

const dir = path.resolve(import.meta.dirname, '../floor');
const EVENTS = { task: 3, burst: 2_000 };

/** With `redis` undefined queue and bus live in Postgres. */
export async function startFloor(services, logs, redis) {
  const name = redis ? 'floor' : 'floor_postgres';
  const env = { FLOOR_DATABASE_URL: await createDatabase(services, name, SCHEMA), FLOOR_REDIS_URL: redis?.url ?? '' };
  const server = await startChild(logs, { name: `${name}-server`, file: path.join(dir, 'server.mjs'), env });
  const worker = await startChild(logs, { name: `${name}-worker`, file: path.join(dir, 'worker.mjs'), env });
  const body = Object.fromEntries(
    Object.entries(EVENTS).map(([kind, events]) => [kind, JSON.stringify({ input: 'hello', events })]),
  );
  return {
    name,
    processes: {
      server: server.pid,
      worker: worker.pid,
      postgres: services.postgres.pid,
      ...(redis && { redis: redis.pid }),
    },
    request: (kind) => ({ port: server.port, path: '/tasks', headers: {}, body: body[kind] }),
    expected: (kind) => ({ count: EVENTS[kind], fits: (frame, index) => frame.startsWith(`id: ${index + 1}\n`) }),
  };
}
