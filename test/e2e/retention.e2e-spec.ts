import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type pg from 'pg';
import { SCOPES } from '#lib/domain';
import { ageTask, ownerClient } from '../support/aged-task.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

let database: TestDatabase;
let installation: Installation;
let owner: pg.Client;
let url: string;
let keys: Record<'ann' | 'bob', string>;

beforeAll(async () => {
  database = await createDatabase();
  const own = SCOPES.filter((scope) => scope !== 'tasks:all');
  keys = await createKeys(database.url, {
    ann: { principal: 'ann', scopes: own },
    bob: { principal: 'bob', scopes: own },
  });
  owner = await ownerClient(database.url);
  installation = await Installation.start({ databaseUrl: database.url, gateways: 1, runtimes: 1 });
  url = installation.gateways[0]!.url;
});

afterAll(async () => {
  await owner?.end();
  await installation?.stop();
  await database?.drop();
});

const BODY = {
  task_id: 'old',
  agent_id: 'scripted',
  input: { script: [{ artifact: { name: 'report.txt', text: 'the report' } }, { result: 'done' }] },
};
const submit = (headers: Record<string, string> = {}): ReturnType<typeof call> =>
  call(`${url}/v1/tasks`, { key: keys.ann, body: BODY, headers: { 'idempotency-key': 'key-1', ...headers } });
const read = (path: string, key = keys.ann, method = 'GET'): ReturnType<typeof call> =>
  call(`${url}${path}`, { key, method, headers: { accept: 'application/json' } });

describe('a task that is kept no longer', () => {
  let artifactId: string;
  let link: string;

  it('is removed by whichever process sweeps first', async () => {
    await submit();
    await until(async () => (await read('/v1/tasks/old/wait?timeout_seconds=30')).body['state'] === 'succeeded');
    const { artifacts } = (await read('/v1/tasks/old/artifacts')).body as {
      artifacts: { artifact_id: string; download_url: string }[];
    };
    [{ artifact_id: artifactId, download_url: link }] = artifacts as [(typeof artifacts)[0]];
    expect((await fetch(link)).status).toBe(200);
    const { rows } = await owner.query<{ task_key: string }>('select task_key from tasks');
    await ageTask(owner, rows[0]!.task_key, 31);
    expect((await read('/v1/tasks/old')).body['state']).toBe('succeeded');
    await installation.addGateway();
    await until(async () => (await read('/v1/tasks/old')).status === 410);
  });

  it('answers 410 to whoever could reach it, on each of its paths, and 404 to others', async () => {
    const paths = ['', '/events', '/wait', '/steps', '/artifacts', `/artifacts/${artifactId}`].map(
      (place) => ['GET', `/v1/tasks/old${place}`] as const,
    );
    for (const [method, path] of [...paths, ['POST', '/v1/tasks/old/cancel'] as const]) {
      const [mine, foreign] = await Promise.all([read(path, keys.ann, method), read(path, keys.bob, method)]);
      expect([path, mine.status, mine.body]).toEqual([
        path,
        410,
        {
          type: 'urn:switchyard:error:gone',
          title: 'It existed and was removed',
          status: 410,
          code: 'gone',
          detail: 'The task was removed: the time it is kept for is over.',
          instance: path,
        },
      ]);
      expect([path, foreign.status, foreign.body['code']]).toEqual([path, 404, 'not_found']);
    }
    const stream = await fetch(`${url}/v1/tasks/old/events`, {
      headers: { 'x-api-key': keys.ann, accept: 'text/event-stream' },
    });
    expect([stream.status, stream.headers.get('content-type')]).toEqual([410, 'application/problem+json']);
    await stream.body?.cancel();
    expect((await read('/v1/tasks')).body).toEqual({ tasks: [], next_cursor: null });
    expect((await fetch(link)).status).toBe(404);
  });

  it('answers 410 to the request that made it, and does not run again', async () => {
    const [repeat, other] = await Promise.all([
      submit(),
      call(`${url}/v1/tasks`, { key: keys.ann, body: { ...BODY, input: 'another' } }),
    ]);
    expect([repeat.status, repeat.body['code']]).toEqual([410, 'gone']);
    expect([other.status, other.body['code']]).toEqual([409, 'idempotency_conflict']);
    const streamed = await submit({ accept: 'text/event-stream' });
    expect([streamed.status, streamed.body['code']]).toEqual([410, 'gone']);
    expect((await owner.query('select from tasks')).rowCount).toBe(0);
  });

  it('is unknown another thirty days later, and its names are free', async () => {
    await owner.query(`update submit_keys set gone_until = gone_until - interval '30 days'`);
    await owner.query('select prune(500)');
    expect((await read('/v1/tasks/old')).status).toBe(404);
    expect((await submit()).status).toBe(202);
    await until(async () => (await read('/v1/tasks/old/wait?timeout_seconds=30')).body['state'] === 'succeeded');
  });
});
