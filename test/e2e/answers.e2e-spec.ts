import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import path from 'node:path';
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
    const env = { LEASE_SECONDS: '10', AGENTS_FILE: path.join(import.meta.dirname, 'answers.agents.yaml') };
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

  it('takes the first of many answers given to two gateways at once, and tells all others what it was', async () => {
    const [id, { wait_id }] = await waiting([ASK, { decided: CALL }, { result: 'done' }]);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        resume(
          id,
          { wait_id, decisions: [{ tool_call_id: 'c1', approved: true, edited_args: { by: index } }] },
          { at: index % 2, key: index % 3 === 0 ? keys.ann : keys.chief },
        ),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array<number>(15).fill(409)]);
    expect(await ended(id)).toMatchObject({ state: 'succeeded', run_no: 2 });
    const log = await events(id);
    const resumed = log.filter(({ event_type }) => event_type === 'task.resumed');
    expect(resumed).toHaveLength(1);
    const [{ payload }] = resumed as [Event];
    const late = answers.filter(({ status }) => status === 409).map(({ body }) => [body['code'], body['decision']]);
    expect(late).toEqual(Array(15).fill(['not_waiting', { ...payload, decided_at: TIME }]));
    const [{ edited_args }] = payload['decisions'] as [Record<string, unknown>];
    const calls = log.filter(({ event_type }) => event_type === 'tool.invoked');
    expect(calls.map((event) => event.payload['arguments'])).toEqual([edited_args]);
  });

  it('gives the answer again to the run that follows a killed one, unless that had stored a checkpoint', async () => {
    const script = (progress: readonly unknown[]): readonly unknown[] => [
      QUESTION,
      ...progress,
      { run: 2, wait_ms: 600_000 },
      { tell: ['answer', 'runNo'] },
    ];
    const [[again], [stored]] = await Promise.all([waiting(script([])), waiting(script([{ checkpoint: 1 }]))]);
    for (const id of [again, stored]) expect((await resume(id, { input: 'blue' })).status).toBe(202);
    const underWay = `select from task_heads h join tasks t using (task_key) join checkpoints c using (task_key)
      where h.run_no = 2 and h.run_open and (t.task_id = $1 or t.task_id = $2 and c.run_no = 2)`;
    await until(async () => (await sql.query(underWay, [again, stored])).rows.length === 2);
    await Promise.all(installation.runtimes.splice(0).map((member) => member.end('SIGKILL')));
    await Promise.all([installation.addRuntime(), installation.addRuntime()]);
    for (const [id, told] of [
      [again, { answer: { decisions: [], input: 'blue', results: [] }, runNo: 3 }],
      [stored, { runNo: 3 }],
    ] as const) {
      const { state, result } = await ended(id);
      expect([state, (result as { data: unknown }).data]).toEqual(['succeeded', told]);
      expect((await types(id)).filter((type) => type.startsWith('task.'))).toEqual([
        'task.created',
        'task.started',
        'task.waiting_for_input',
        'task.resumed',
        'task.started',
        'task.retrying',
        'task.succeeded',
      ]);
    }
  });

  it('asks for several things of every kind at once, again and again, and answers each as it was answered', async () => {
    const items = [
      { tool_call_id: 't1', kind: 'client_tool', tool_name: 'camera', arguments: { flash: true } },
      { tool_call_id: 'q1', kind: 'question', prompt: 'Which colour?', arguments: { proposal: 'red' } },
      ...ASK.pause,
      { tool_call_id: 'a1', kind: 'authorization', prompt: 'May I see your calendar?' },
    ];
    const [id, task] = await waiting([{ pause: items }, QUESTION, { tell: ['answer'] }]);
    const shown = items.map((item) => ({ ...item, digest: DIGEST, expires_at: TIME }));
    expect(task['pending_confirms']).toEqual(shown);
    const { body } = await call(`${gateway()}/v1/tasks?state=waiting_for_input`, { key: keys.ann });
    const listed = (body['tasks'] as Record<string, unknown>[]).find(({ task_id }) => task_id === id);
    expect(listed).toMatchObject({ wait_id: task['wait_id'], pending_confirms: shown });

    const edited_args = { constructor: { toString: [] }, to: null };
    const output = { hasOwnProperty: [1e3, -0.5], text: '\u0000' };
    const first = await resume(id, {
      decisions: [
        { tool_call_id: 'c1', approved: true, edited_args },
        { tool_call_id: 'a1', approved: 'true' },
      ],
      results: [{ tool_call_id: 't1', output }],
      input: 'blue',
    });
    expect([first.status, first.body['run_no']]).toEqual([202, 2]);
    await until(async () => (await read(id))['run_no'] === 2 && (await read(id))['state'] === 'waiting_for_input');
    const second = await read(id);
    expect(second).toMatchObject({ state: 'waiting_for_input', run_no: 2, pending_confirms: [{ tool_call_id: 'q1' }] });

    const bare = await resume(id, { input: 'green' });
    expect([bare.status, bare.body['code']]).toEqual([400, 'wait_id_required']);
    const stale = await resume(id, { wait_id: task['wait_id'], input: 'green' });
    const denied = { tool_call_id: 'a1', approved: false, reason: 'Permission denied by user' };
    const decisions = [
      { tool_call_id: 't1', output },
      { tool_call_id: 'q1', input: 'blue' },
      { tool_call_id: 'c1', approved: true, edited_args },
      denied,
    ];
    expect([stale.status, stale.body]).toEqual([
      409,
      expect.objectContaining({
        code: 'wait_changed',
        wait_id: second['wait_id'],
        decision: { wait_id: task['wait_id'], decided_by: 'ann', decided_at: TIME, decisions },
      }),
    ]);
    expect((await resume(id, { wait_id: second['wait_id'], input: 'green' })).status).toBe(202);
    expect(await ended(id)).toMatchObject({
      run_no: 3,
      result: { data: { answer: { decisions: [], input: 'green', results: [] } } },
    });
    const resumed = (await events(id)).filter(({ event_type }) => event_type === 'task.resumed');
    expect(resumed.map(({ payload }) => payload['decisions'])).toEqual([
      decisions,
      [{ tool_call_id: 'q1', input: 'green' }],
    ]);
  });

  it('tells the run every decision there is to make, the reason of a denial too', async () => {
    const both = { pause: [...ASK.pause, { ...ASK.pause[0], tool_call_id: 'c2' }] };
    const [id] = await waiting([both, { decided: CALL }, { tell: ['answer'] }]);
    expect((await resume(id, { input: 'not today' })).status).toBe(202);
    const denial = (tool_call_id: string): object => ({ tool_call_id, approved: false, reason: 'not today' });
    expect(await ended(id)).toMatchObject({
      result: { data: { answer: { decisions: [denial('c1'), denial('c2')], results: [] } } },
    });
    const story = await events(id);
    expect(story.some(({ event_type }) => event_type === 'tool.invoked')).toBe(false);
    const denied = story.filter(({ event_type }) => event_type === 'tool.denied') as [Event];
    expect(denied.map(({ payload }) => payload)).toMatchObject(
      ['c1', 'c2'].map((tool_call_id) => ({
        tool_call_id,
        code: 'denied_by_user',
        reason: 'not today',
        denied_by: 'ann',
      })),
    );
  });

  it('refuses an answer that does not fit, keeps nothing of it, and waits on', async () => {
    const [id, before] = await waiting([{ pause: [...ASK.pause, ...QUESTION.pause] }, { result: 'done' }]);
    const refused: readonly (readonly [object, number, string])[] = [
      [{ decisions: [{ tool_call_id: 'c1', approved: true }] }, 400, 'answer_required'],
      [{ decisions: [{ tool_call_id: 'c9', approved: true }], input: 'x' }, 400, 'invalid_request'],
      [
        { decisions: [{ tool_call_id: 'c1', approved: true, edited_args: [] }], input: 'x' },
        400,
        'invalid_edited_args',
      ],
      [{ wait_id: 'wait_of_another', input: 'x' }, 409, 'wait_changed'],
    ];
    for (const [body, status, code] of refused) {
      const answer = await resume(id, body);
      expect([answer.status, answer.body['code']]).toEqual([status, code]);
    }
    const unseen = await resume(id, { input: 'x' }, { key: keys.bob });
    const unfit = await resume(id, { input: 'x' }, { key: keys.reader });
    expect([unseen.status, unfit.status]).toEqual([404, 403]);
    expect(await read(`${id}/wait?timeout_seconds=1`)).toEqual(before);
    expect((await resume(id, { input: 'x' }, { key: keys.chief })).status).toBe(202);
    expect(await ended(id)).toMatchObject({ state: 'succeeded' });
  });

  it('counts the deadline on while it waits, and closes what was asked when it is over', async () => {
    const [id] = await waiting([QUESTION, { result: 'late' }], { deadline_seconds: 8 });
    expect(await ended(id)).toMatchObject({
      state: 'failed',
      error: { code: 'deadline_exceeded' },
      pending_confirms: [],
      wait_id: null,
    });
    expect((await events(id)).at(-1)!.payload).toMatchObject({ phase: 'waiting' });
    expect((await resume(id, { input: 'blue' })).body).toMatchObject({ code: 'not_waiting', decision: null });
  });

  it('fails when nobody has answered in the time its agent gives, also with no runtime left', async () => {
    const [[id], [patient]] = await Promise.all([
      waiting([{ pause: [...QUESTION.pause, ...ASK.pause] }, { result: 'late' }], { agent_id: 'hasty' }),
      waiting([QUESTION, { result: 'done' }], { agent_id: 'hasty' }),
    ]);
    await Promise.all(installation.runtimes.splice(0).map((member) => member.end('SIGKILL')));
    expect(await ended(id)).toMatchObject({
      state: 'failed',
      error: { code: 'confirmation_expired', message: 'Nobody answered in time.' },
      pending_confirms: [],
    });
    expect((await resume(id, { input: 'blue' })).body).toMatchObject({ code: 'not_waiting', decision: null });
    // The time of another kind goes on, and an answer is taken with nobody there to go on with it.
    expect((await resume(patient, { input: 'blue' })).status).toBe(202);
    expect(await read(patient)).toMatchObject({ state: 'running', run_no: 1 });
    const stopped = await cancel(patient);
    expect([stopped.status, stopped.body['state']]).toEqual([202, 'cancelled']);
    await installation.addRuntime();
    expect((await types(patient)).slice(-3)).toEqual(['task.resumed', 'task.cancel_requested', 'task.cancelled']);
  });
});
