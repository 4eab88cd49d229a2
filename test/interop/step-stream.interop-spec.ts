import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';
import type { Place } from './drivers/driver.js';
import { createByArguments, observe, pathOf } from './drivers/step-stream.client.js';

let database: TestDatabase;
let installation: Installation;
let here: Place;
let there: Place;

beforeAll(async () => {
  database = await createDatabase();
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env: { AGENTS_FILE: path.resolve('test/interop/agents.yaml') },
  });
  [here, there] = installation.gateways.map(({ url }) => ({ url, key: ADMIN_KEY })) as [Place, Place];
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

const step = (id: string, state: 'started' | 'completed'): object => ({
  event: { type: `step.${state}`, payload: { step_id: id, ...(state === 'started' ? { step_name: id } : {}) } },
});
const SCRIPT = [step('plan', 'started'), step('plan', 'completed'), { result: 'done' }];
const play = (script: readonly object[]): Promise<string> => createByArguments(here, { script });

async function cancel(place: Place, id: string): Promise<number> {
  return (await call(pathOf(place, `/${id}/cancel`), { key: place.key, body: {} })).status;
}

async function stateOf(id: string): Promise<unknown> {
  return (await call(`${here.url}/v1/tasks/${id}`)).body['state'];
}

describe('a task that is created by its arguments', () => {
  it('runs by itself, and its stream ends with the last step, at once and properly', async () => {
    const { status, headers, frames, closedAfterMs } = await observe(there, await play(SCRIPT));
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(frames.map(({ step: { name, status, is_last } }) => [name, status, is_last])).toEqual([
      ['task', 'created', false],
      ['task', 'running', false],
      ['plan', 'running', false],
      ['plan', 'completed', false],
      ['task', 'completed', true],
    ]);
    expect(frames.at(-1)!.step.output).toBe('done');
    expect(closedAfterMs).toBeLessThan(100);
    expect(new Set(frames.map(({ id }) => id)).size).toBe(frames.length);
  });

  it('is a bare task, with no input and its artifacts as a list', async () => {
    const body = { additional_input: { script: SCRIPT } };
    const answer = await call(pathOf(here), { body });
    expect([answer.status, answer.body]).toEqual([
      200,
      { task_id: expect.stringMatching(/^[\w-]+$/), input: null, ...body, artifacts: [] },
    ]);
  });

  it('does not repeat long arguments, which with the rest of the answer would be more than its client reads', async () => {
    const numbers = Array.from({ length: 99_994 }, () => 1);
    const answer = await call(pathOf(here), { body: { additional_input: { script: SCRIPT, numbers } } });
    expect([answer.status, answer.body]).toEqual([
      200,
      { task_id: expect.stringMatching(/^[\w-]+$/), input: null, additional_input: {}, artifacts: [] },
    ]);
    expect((await observe(there, String(answer.body['task_id']))).frames.at(-1)!.step.output).toBe('done');
  });

  it('is refused when its input is an object, as older clients send it', async () => {
    expect((await call(pathOf(here), { body: { input: { script: SCRIPT } } })).status).toBe(422);
  });
});

describe('a stream', () => {
  it('is the same to the byte for every reader, on every gateway, live or replayed, and after a restart', async () => {
    const id = await play([...SCRIPT.slice(0, 2), { wait_ms: 300 }, ...SCRIPT.slice(2)]);
    const live = await Promise.all([observe(here, id), observe(there, id), observe(here, id)]);
    const fresh = await installation.addGateway();
    const replayed = await observe({ url: fresh.url, key: ADMIN_KEY }, id);
    const [first, ...others] = [...live, replayed].map(({ frames }) => frames.map((frame) => [frame.id, frame.data]));
    expect(first!.length).toBe(5);
    expect(others).toEqual([first, first, first]);
  });

  it('goes on behind a frame its reader has, and from the start behind one that there is not', async () => {
    const id = await play(SCRIPT);
    const { frames: all } = await observe(here, id);
    const rest = await observe(there, id, all[2]!.id);
    expect(rest.frames).toEqual(all.slice(3));
    for (const unknown of ['nonsense', '999999', '-1', '1.5']) {
      expect((await observe(there, id, unknown)).frames).toEqual(all);
    }
    expect((await observe(there, id, all.at(-1)!.id)).frames).toEqual([]);
  });

  it('tells of a failure with the last step, safely', async () => {
    const { frames } = await observe(here, await play([step('plan', 'started'), { throw: { kind: 'bug' } }]));
    const last = frames.at(-1)!.step;
    expect(last).toMatchObject({ status: 'failed', is_last: true, output: 'Something went wrong on our side.' });
    expect(frames.filter((frame) => frame.step.is_last)).toHaveLength(1);
  });

  it('tells of steps that fail before the end in words that do not end it', async () => {
    const failed = {
      event: { type: 'step.failed', payload: { step_id: 'plan', error: { code: 'x', message: 'no' } } },
    };
    const { frames } = await observe(here, await play([SCRIPT[0]!, failed, SCRIPT[2]!]));
    expect(frames.map(({ step: { status, output } }) => [status, output])).toEqual([
      ['created', null],
      ['running', null],
      ['running', null],
      ['completed', 'no'],
      ['completed', 'done'],
    ]);
  });

  it('carries a long result, and cuts one that would make a frame too large', async () => {
    const long = await observe(here, await play([{ result: 'long '.repeat(20_000) }]));
    expect(long.frames.at(-1)!.step.output).toBe('long '.repeat(20_000));
    const huge = await observe(here, await play([{ result: '\u0001'.repeat(160_000) }]));
    expect(huge.frames.at(-1)!.step.output!.length).toBe(131_072);
  });

  it('stays open while the task waits for somebody, and goes on when anybody has answered', async () => {
    const question = { tool_call_id: 'q', kind: 'question', prompt: 'Which?' };
    const id = await play([{ pause: [question] }, { result: 'answered' }]);
    const observed = observe(here, id);
    await until(async () => (await stateOf(id)) === 'waiting_for_input');
    const answer = { results: [{ tool_call_id: 'q', output: 'this' }] };
    expect((await call(`${there.url}/v1/tasks/${id}/resume`, { body: answer })).status).toBe(202);
    const { frames } = await observed;
    expect(frames.map((frame) => [frame.step.name, frame.step.status])).toEqual([
      ['task', 'created'],
      ['task', 'running'],
      ['question', 'running'],
      ['question', 'completed'],
      ['task', 'completed'],
    ]);
  });

  it('is none for a task that is not there, and a list unless it is asked for in this word', async () => {
    const none = await observe(here, 'none');
    expect([none.status, none.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
    const id = await play(SCRIPT);
    for (const query of ['', '?stream=false', '?stream=1', '?stream=TRUE']) {
      const { headers, body } = await call(pathOf(here, `/${id}/steps${query}`));
      expect([headers.get('content-type'), Array.isArray(body['steps'])]).toEqual([
        'application/json; charset=utf-8',
        true,
      ]);
    }
  });
});

describe('a cancel', () => {
  const endless = (): Promise<string> => createByArguments(here, { go: 'on' }, 'endless');

  it('is taken from running, ended and cancelled tasks, and of none that is not there', async () => {
    const [running, ended] = [await endless(), await play(SCRIPT)];
    await observe(here, ended);
    expect(await Promise.all([cancel(here, running), cancel(there, running), cancel(here, ended)])).toEqual([
      204, 204, 204,
    ]);
    const { frames } = await observe(here, running);
    expect(frames.at(-1)!.step).toMatchObject({ status: 'cancelled', is_last: true });
    expect([await cancel(here, running), await cancel(here, ended), await cancel(here, 'none')]).toEqual([
      204, 204, 404,
    ]);
    expect(await stateOf(ended)).toBe('succeeded');
  });

  it('is a POST: another method is refused', async () => {
    const { status, body } = await call(pathOf(here, `/${await play(SCRIPT)}/cancel`));
    expect([status, typeof body['message']]).toEqual([405, 'string']);
  });

  it('that meets the end of the task leaves one last step, whichever came first', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => play(SCRIPT)));
    const seen = await Promise.all(
      ids.map(async (id) => (await Promise.all([observe(there, id), cancel(here, id)]))[0]),
    );
    const ends = seen.map(({ frames }) =>
      frames.filter((frame) => frame.step.is_last).map((frame) => frame.step.status),
    );
    for (const end of ends) expect([['completed'], ['cancelled']]).toContainEqual(end);
  });

  it('is not what it means that a reader leaves', async () => {
    const id = await endless();
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    const response = await fetch(pathOf(here, `/${id}/steps?stream=true`), { headers, signal: leaving.signal });
    await response.body!.getReader().read();
    leaving.abort();
    // Another reader still finds it at work.
    const observed = observe(there, id);
    await until(async () => (await stateOf(id)) === 'running');
    expect(await cancel(here, id)).toBe(204);
    expect((await observed).frames.at(-1)!.step.status).toBe('cancelled');
    const { body } = await call(`${here.url}/v1/tasks/${id}/events?types=task.cancel_requested`, {
      headers: { accept: 'application/json' },
    });
    expect(body['events']).toHaveLength(1);
  });
});
