import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { Database } from '../database.js';
import { PgTaskStore } from './pg-task-store.js';

let test: TestDatabase;
let database: Database;
let tasks: PgTaskStore;
let backend: string;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 4, name: 'test' });
  tasks = new PgTaskStore(database);
  backend = await createBackend(test.url);
});

afterAll(async () => {
  await database.close();
  await test.drop();
});

describe('the newest key', () => {
  const alice = { tenant: 'acme', principal: 'alice' };

  it('is the last that begins so, of the same principal, and none from before', async () => {
    const keys = ['chat ab 01a2-0', 'chat ab 01a3-f', 'chat ab 01a3-0', 'chat ac 01a9-0', 'chatab01a9-0'];
    for (const idempotencyKey of keys) await tasks.submit(createSubmission(backend, { idempotencyKey }));
    const foreign = { idempotencyKey: 'chat ab 01a8-0', principal: 'bob' };
    await tasks.submit(createSubmission(backend, foreign));
    expect(await tasks.newestKey(alice, 'chat ab ', '01a1')).toBe('chat ab 01a3-f');
    expect(await tasks.newestKey(alice, 'chat ab ', '01a4')).toBeUndefined();
    expect(await tasks.newestKey({ ...alice, tenant: 'other' }, 'chat ab ', '01a1')).toBeUndefined();
  });
});

describe('who waits for a task', () => {
  const one = '01a22e55-6c35-40ba-8fc3-fc94469cbdd4';
  const another = '01a22e55-6c35-40ba-8fc3-fc94469cbdd5';
  const submitted = async () => {
    const submission = createSubmission(backend);
    await tasks.submit(submission);
    return submission.taskKey;
  };

  it('gives it up once, also where many leave at once', async () => {
    const taskKey = await submitted();
    const left = await Promise.all(Array.from({ length: 8 }, () => tasks.giveUp(taskKey, undefined)));
    expect(left.filter(Boolean)).toHaveLength(1);
  });

  it('does not give it up once somebody else has come, and nobody takes the place of who gave it up', async () => {
    const taskKey = await submitted();
    await tasks.watch(taskKey, one);
    expect(await tasks.giveUp(taskKey, undefined)).toBe(false);
    await tasks.watch(taskKey, another);
    expect(await tasks.giveUp(taskKey, one)).toBe(false);
    expect(await tasks.giveUp(taskKey, another)).toBe(true);
    await tasks.watch(taskKey, one);
    expect(await tasks.giveUp(taskKey, one)).toBe(false);
  });
});
