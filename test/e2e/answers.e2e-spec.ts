import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { SCOPES } from '#lib/domain';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(90_000);

type Answer = Awaited<ReturnType<typeof call>>;
interface Event {
  readonly seq: number;
  readonly event_type: string;
  readonly payload: Record<string, unknown>;
}

const CALL = { name: 'send', args: { to: 'bob', body: { constructor: [1.5, null], toString: 'é' } }, id: 'c1' };
const ASK = {
  pause: [{ tool_call_id: 'c1', kind: 'tool_confirmation', tool_name: CALL.name, arguments: CALL.args }],
};
const QUESTION = { pause: [{ tool_call_id: 'q1', kind: 'question', prompt: 'Which colour?' }] };
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const DIGEST = expect.stringMatching(/^[0-9a-f]{64}$/);

describeEachBackingSet(({ redisUrl }) => {
  let database: TestDatabase;
  let sql: pg.Client;
  let installation: Installation;
  let keys: Record<'ann' | 'bob' | 'chief' | 'reader', string>;
  let count = 0;

  beforeAll(async () => {
    database = await createDatabase();
    sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
    await sql.query('set search_path to switchyard');
    const own = SCOPES.filter((scope) => scope !== 'tasks:all');
    keys = await createKeys(database.url, {
      ann: { principal: 'ann', scopes: own },
      bob: { principal: 'bob', scopes: own },
      chief: { principal: 'chief', scopes: ['tasks:decide', 'tasks:all'] },
      reader: { principal: 'ann', scopes: ['tasks:read'] },
    });
    const env = { LEASE_SECONDS: '10' };
    installation = await Installation.start({ databaseUrl: database.url, redisUrl, gateways: 2, runtimes: 2, env });
  });

  afterAll(async () => {
    await installation?.stop();
    await sql?.end();
    await database?.drop();
  });

  const gateway = (index = 0): string => installation.gateways[index]!.url;
  const read = async (path: string): Promise<Record<string, unknown>> =>
    (await call(`${gateway(1)}/v1/tasks/${path}`, { key: keys.ann })).body;
  const resume = (id: string, body: unknown, { at = 1, key = keys.ann } = {}): Promise<Answer> =>
    call(`${gateway(at)}/v1/tasks/${id}/resume`, { key, body });
  const cancel = (id: string): Promise<Answer> =>
    call(`${gateway()}/v1/tasks/${id}/cancel`, { key: keys.ann, body: {} });

  async function submit(script: readonly unknown[], body: object = {}): Promise<string> {
    const id = `task-${(count += 1)}`;
    const answer = await call(`${gateway()}/v1/tasks`, {
      key: keys.ann,
      body: { task_id: id, agent_id: 'scripted', input: { script }, ...body },
    });
    expect(answer.status).toBe(202);
    return id;
  }

  /** Submits, and resolves with what the task waits for. */
  async function waiting(script: readonly unknown[], body: object = {}): Promise<[string, Record<string, unknown>]> {
    const id = await submit(script, body);
    return [id, await settled(id)];
  }

  const settled = (id: string): Promise<Record<string, unknown>> => read(`${id}/wait?timeout_seconds=60`);

  async function ended(id: string): Promise<Record<string, unknown>> {
    const states = ['succeeded', 'failed', 'cancelled'];
    const isOver = async (): Promise<object | false> => {
      const task = await read(id);
      return states.includes(String(task['state'])) && task;
    };
    return (await until(isOver, { timeoutMs: 60_000, what: `the end of ${id}` })) as Record<string, unknown>;
  }

  async function events(id: string): Promise<readonly Event[]> {
    const answer = await call(`${gateway()}/v1/tasks/${id}/events`, {
      key: keys.ann,
      headers: { accept: 'application/json' },
    });
    return answer.body['events'] as Event[];
  }

  const types = async (id: string): Promise<string[]> => (await events(id)).map(({ event_type }) => event_type);

  it('survives a pause with everything stopped: answered at another gateway, it goes on once with the same arguments', async () => {
    const [id, task] = await waiting([ASK, { decided: CALL }, { result: 'sent' }]);
    const item = { ...ASK.pause[0], digest: DIGEST, expires_at: TIME };
    expect(task).toMatchObject({
      state: 'waiting_for_input',
      status: 'awaiting_confirm',
      run_no: 1,
      wait_id: expect.any(String),
      pending_confirms: [item],
      timed_out: false,
    });

    await Promise.all([...installation.runtimes, ...installation.gateways].map((member) => member.end('SIGKILL')));
    installation.runtimes.length = installation.gateways.length = 0;
    for (let index = 0; index < 2; index += 1) await installation.addGateway();
    await Promise.all([installation.addRuntime(), installation.addRuntime()]);

    expect(await read(id)).toMatchObject({ wait_id: task['wait_id'], pending_confirms: [item] });
    const answer = await resume(id, { decisions: [{ tool_call_id: 'c1', approved: true }] });
    expect([answer.status, answer.body]).toEqual([
      202,
      {
        task_id: id,
        status: 'running',
        state: 'running',
        run_no: 2,
        links: {
          self: `/v1/tasks/${id}`,
          events: `/v1/tasks/${id}/events`,
          wait: `/v1/tasks/${id}/wait`,
          cancel: `/v1/tasks/${id}/cancel`,
          artifacts: `/v1/tasks/${id}/artifacts`,
        },
      },
    ]);
    expect(await ended(id)).toMatchObject({ state: 'succeeded', run_no: 2, wait_id: null, pending_confirms: [] });

    const log = await events(id);
    expect(log.map(({ event_type }) => event_type)).toEqual([
      'task.created',
      'task.started',
      'agent.request_confirmation',
      'task.waiting_for_input',
      'task.resumed',
      'task.started',
      'tool.invoked',
      'tool.completed',
      'message.completed',
      'task.succeeded',
    ]);
    const asked = { wait_id: task['wait_id'], confirmations: [item] };
    expect(log[2]!.payload).toEqual(asked);
    expect(log[3]!.payload).toEqual({ ...asked, expires_at: TIME });
    expect(log[4]!.payload).toEqual({
      wait_id: task['wait_id'],
      decided_by: 'ann',
      decisions: [{ tool_call_id: 'c1', approved: true }],
    });
    expect(log[6]!.payload).toMatchObject({ arguments: CALL.args });

    const again = await resume(id, { decisions: [{ tool_call_id: 'c1', approved: false }] }, { at: 0 });
    expect([again.status, again.body]).toEqual([
      409,
      expect.objectContaining({
        code: 'not_waiting',
        decision: { ...log[4]!.payload, decided_at: TIME },
      }),
    ]);
  });

  it('takes no answer after a cancel, which closes what was asked and ends the task at once', async () => {
    const [id, { wait_id }] = await waiting([QUESTION, { result: 'late' }]);
    const stopped = await cancel(id);
    expect([stopped.status, stopped.body['state'], stopped.body['pending_confirms']]).toEqual([202, 'cancelled', []]);
    const late = await resume(id, { wait_id, input: 'blue' });
    expect([late.status, late.body['code'], late.body['decision']]).toEqual([409, 'not_waiting', null]);
    expect((await types(id)).slice(-2)).toEqual(['task.cancel_requested', 'task.cancelled']);
    const { rows } = await sql.query(
      'select c.state, decision from confirmations c join tasks using (task_key) where task_id = $1',
      [id],
    );
    expect(rows).toEqual([{ state: 'closed', decision: null }]);
  });
});
