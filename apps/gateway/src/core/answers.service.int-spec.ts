import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AnswerRequest, type Claim, type Submission, type TaskKey, SCOPES } from '#lib/domain';
import { draftEvent, EventWriter, type OpenConfirmation } from '#lib/execution';
import { Database, PgEventLog, PgRunStore, PgTaskStore } from '#lib/persistence';
import { newEventId } from '#lib/platform';
import { BUILTIN_TOOLS, rightsOf, type ToolDecision, ToolGateway } from '#lib/tools';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { catalogOf, fakeTool } from '../../../../test/support/fake-tools.js';
import { MemoryEventBus } from '../../../../test/support/memory-event-bus.js';
import { MemoryRunQueue } from '../../../../test/support/memory-run-queue.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { sweepDeadlines, sweepExpiries } from '../../../../test/support/sweeps.js';
import { type Pause, pauseRun, waitingTask } from '../../../../test/support/waiting-task.js';
import { AnswersService } from './answers.service.js';
import type { Authenticator } from './authenticator.js';
import type { Caller } from './caller.js';
import { CancellationsService } from './cancellations.service.js';
import { RunEnqueuer } from './run.enqueuer.js';
import type { Quotas } from './quotas.js';
import type { StreamHub } from './stream-hub.js';
import { TasksService } from './tasks.service.js';

/** What one gateway has of its own. */
interface Gateway {
  readonly database: Database;
  readonly store: PgTaskStore;
  readonly runs: PgRunStore;
  readonly log: PgEventLog;
  readonly writer: EventWriter;
  readonly answers: AnswersService;
  readonly cancellations: CancellationsService;
}

let test: TestDatabase;
let backendId: string;
let here: Gateway;
let there: Gateway;
const queue = new MemoryRunQueue();
const bus = new MemoryEventBus();

function createGateway(name: string): Gateway {
  const database = new Database({ databaseUrl: test.url, max: 4, name });
  const log = new PgEventLog(database, database);
  const store = new PgTaskStore(database);
  const logger = new SilentLogger();
  const writer = new EventWriter({ log, bus, logger });
  // Nobody waits for a stream here.
  const tasks = new TasksService(store, ...([] as unknown as [StreamHub, Quotas, Authenticator]));
  const enqueuer = new RunEnqueuer(queue, logger, { advance: () => undefined });
  const tools = catalogOf([PAY, ...BUILTIN_TOOLS.values()]);
  const answers = new AnswersService(tasks, store, writer, { enqueuer, tools });
  const cancellations = new CancellationsService(tasks, { writer, bus, queue });
  return { database, store, runs: new PgRunStore(database), log, writer, answers, cancellations };
}

beforeAll(async () => {
  test = await createDatabase();
  backendId = await createBackend(test.url);
  here = createGateway('here');
  there = createGateway('there');
});

afterAll(async () => {
  for (const { writer, database } of [here, there]) {
    await writer.close();
    await database.close();
  }
  await test.drop();
});

/** A tool that is not the product's own. */
const PAY = fakeTool('pay', async () => 'paid', {
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
});
const ASK_PAY: OpenConfirmation = {
  tool_call_id: 'p1',
  kind: 'tool_confirmation',
  tool_name: 'pay',
  arguments: { to: 'ann' },
};

const callerOf = (principal: string, change: Partial<Caller> = {}): Caller => ({
  tenant: 'acme',
  principal,
  keyId: `key-of-${principal}`,
  scopes: new Set(SCOPES.filter((scope) => scope !== 'tasks:all')),
  ...change,
});
const ALICE = callerOf('alice');

const ASK: OpenConfirmation = {
  tool_call_id: 'c1',
  kind: 'tool_confirmation',
  tool_name: 'summarise',
  arguments: { text: 'long' },
};
const APPROVE = { decisions: [{ tool_call_id: 'c1', approved: true }] };

async function waiting(pause: Partial<Pause> = {}, change: Partial<Submission> = {}): Promise<Submission> {
  const submission = createSubmission(backendId, change);
  await waitingTask({ tasks: here.store, ...here }, submission, { confirmations: [ASK], ...pause });
  return submission;
}

function resume(
  { taskId }: Pick<Submission, 'taskId'>,
  answer: Partial<AnswerRequest>,
  { at = here, caller = ALICE, waitId }: { at?: Gateway; caller?: Caller; waitId?: string } = {},
): Promise<unknown> {
  const request = { answer: { decisions: [], results: [], ...answer }, requestId: 'r-1', ...(waitId && { waitId }) };
  return at.answers.resume(caller, taskId, request);
}

/** The code of an error, and what it says beside the message. */
interface Refusal {
  readonly code: string;
  readonly faults: readonly { readonly path: string }[];
  readonly extensions: Readonly<Record<string, unknown>>;
}

const refusal = (answering: Promise<unknown>): Promise<Refusal> =>
  answering.then(
    (value) => Promise.reject(new Error(`was accepted: ${JSON.stringify(value)}`)),
    ({ code, faults, extensions }: Refusal) => ({ code, faults, extensions }),
  );

async function types(taskKey: TaskKey): Promise<string[]> {
  return (await here.log.page(taskKey, 0, { maxEvents: 500, maxBytes: 1 << 20 })).map(({ type }) => type);
}

async function rows(text: string, { taskKey }: Pick<Submission, 'taskKey'>): Promise<Record<string, unknown>[]> {
  return here.database.query({ name: '', text }, [taskKey]);
}

async function claim({ taskKey }: Pick<Submission, 'taskKey'>, runNo: number, leaseMs = 30_000): Promise<Claim> {
  const job = { taskKey, runNo, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 };
  const [won] = await here.runs.claim([{ job, eventId: newEventId() }], { id: 'rt', leaseMs });
  if (!won) throw new Error(`run ${runNo} is not to be had`);
  return won;
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('an answer', () => {
  it('is written whole in one statement: event, rows, answer, outbox and who gave it', async () => {
    const task = await waiting();
    const decisions = [
      { tool_call_id: 'c1', approved: true, reason: 'fine', edited_args: { text: 'short\0\ud800', max_sentences: 1 } },
    ];
    expect(await resume(task, { decisions })).toEqual({ taskId: task.taskId, state: 'running', runNo: 2 });
    const last = (await here.store.lastDecision(task.taskKey))!;
    expect(last).toMatchObject({ decidedBy: 'alice', decisions });
    const [event] = (await here.log.page(task.taskKey, 4, { maxEvents: 5, maxBytes: 1e6 })).map(
      ({ payload }) => payload,
    );
    expect(JSON.parse(event!)).toEqual({ wait_id: last.waitId, decided_by: 'alice', decisions });
    expect(await rows('select state, decided_by, decision from confirmations where task_key = $1', task)).toEqual([
      { state: 'decided', decided_by: 'alice', decision: JSON.stringify(decisions[0]) },
    ]);
    const [{ answer, data }] = (await rows('select answer, data from checkpoints where task_key = $1', task)) as [
      { answer: string; data: string },
    ];
    expect([JSON.parse(answer), data]).toEqual([{ decisions, results: [] }, '{}']);
    expect(await rows('select run_no, pool, reason, attempt from outbox where task_key = $1', task)).toEqual([
      { run_no: 2, pool: 'scripted', reason: 'resumed', attempt: 1 },
    ]);
    const audit = `select a.principal, key_id, action, outcome, details, request_id from audit_records a
      join tasks t on t.task_id = a.target where t.task_key = $1 and action = 'task.resume'`;
    expect(await rows(audit, task)).toEqual([
      {
        principal: 'alice',
        key_id: 'key-of-alice',
        action: 'task.resume',
        outcome: 'allowed',
        details: JSON.stringify({
          wait_id: last.waitId,
          decisions: [{ tool_call_id: 'c1', approved: true, edited: true }],
        }),
        request_id: 'r-1',
      },
    ]);
    expect(queue.jobs).toContainEqual({
      taskKey: task.taskKey,
      runNo: 2,
      tenant: 'acme',
      pool: 'scripted',
      priority: 5,
      delayMs: 0,
    });
  });

  it('of two given at once, over and over and at two gateways, is the one that all others are told of', async () => {
    const task = await waiting();
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, index) => {
        const caller = callerOf(`decider-${index}`, { scopes: new Set(SCOPES) });
        const decisions = [{ tool_call_id: 'c1', approved: index % 2 === 0, reason: `reason ${index}` }];
        return resume(task, { decisions }, { at: index % 3 === 0 ? here : there, caller }).then(
          () => ({ winner: caller.principal, refused: undefined }),
          (refused: Refusal) => ({ winner: undefined, refused }),
        );
      }),
    );
    const winners = answers.flatMap(({ winner }) => winner ?? []);
    expect(winners).toHaveLength(1);
    const last = (await here.store.lastDecision(task.taskKey))!;
    expect(last.decidedBy).toBe(winners[0]);
    const decision = {
      wait_id: last.waitId,
      decided_by: winners[0],
      decided_at: new Date(last.decidedAtMs).toISOString(),
      decisions: last.decisions,
    };
    const refused = answers.flatMap((answer) => answer.refused ?? []);
    expect(refused.map(({ code, extensions }) => [code, extensions])).toEqual(
      Array(31).fill(['not_waiting', { decision }]),
    );
    expect((await types(task.taskKey)).filter((type) => type === 'task.resumed')).toHaveLength(1);
    expect(await rows('select run_no from outbox where task_key = $1', task)).toEqual([{ run_no: 2 }]);
  });

  it.each([
    ['a cancel', (task: Submission) => there.cancellations.cancel(ALICE, task.taskId, { requestId: 'r' }), {}],
    [
      'the end of its time',
      () => sweepExpiries(there),
      // A moment away, so that in some rounds it is over before the answer comes and in others not.
      { seconds: 0.02 },
    ],
    ['the deadline', () => sweepDeadlines({ ...there, bus }), { deadlineMs: 20 }],
  ] as const)(
    'races %s: one wins, and nothing goes on twice',
    async (_, end, { seconds = 60, deadlineMs = 60_000 }: { seconds?: number; deadlineMs?: number }) => {
      const confirmationSeconds = { tool_confirmation: seconds, question: 1, client_tool: 1, authorization: 1 };
      const outcomes = new Set<string>();
      for (let round = 0; round < 30; round += 1) {
        const task = await waiting({ seconds: confirmationSeconds }, { deadlineAtMs: Date.now() + deadlineMs });
        if (round % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 25));
        const [answered] = await Promise.all([
          resume(task, APPROVE).then(
            () => 'resumed',
            ({ code }: Refusal) => code,
          ),
          end(task),
        ]);
        const story = await types(task.taskKey);
        const isResumed = story.includes('task.resumed');
        const ends = story.filter((type) => type === 'task.cancelled' || type === 'task.failed');
        expect(answered).toBe(isResumed ? 'resumed' : 'not_waiting');
        // A task that goes on may still be ended; its next run is not asked for then.
        const due = await rows('select run_no from outbox where task_key = $1', task);
        expect(due).toEqual(isResumed && ends.length === 0 ? [{ run_no: 2 }] : []);
        const [{ state }] = (await rows('select state from confirmations where task_key = $1', task)) as [
          { state: string },
        ];
        if (isResumed || ends.length > 0) outcomes.add(`${answered} ${state}`);
      }
      for (const outcome of outcomes) expect(['resumed decided', 'not_waiting closed']).toContain(outcome);
    },
    60_000,
  );

  it('after the time is over is too late, though no sweep has ended the task yet', async () => {
    const task = await waiting({ nowMs: Date.now() - 86_400_001 });
    expect(await refusal(resume(task, APPROVE))).toEqual({
      code: 'not_waiting',
      faults: [],
      extensions: { decision: null },
    });
    await sweepExpiries(there);
    expect((await types(task.taskKey)).at(-1)).toBe('task.failed');
    expect(await here.store.snapshot({ tenant: 'acme' }, task.taskId)).toMatchObject({
      state: 'failed',
      error: { code: 'confirmation_expired', message: 'Nobody answered in time.' },
      waitId: null,
      pendingConfirmations: [],
    });
    expect(await refusal(resume(task, APPROVE))).toMatchObject({ code: 'not_waiting', extensions: { decision: null } });
  });

  it('may be given by its own principal and, with tasks:all, by others of the tenant', async () => {
    const task = await waiting();
    expect(await refusal(resume(task, APPROVE, { caller: callerOf('bob') }))).toMatchObject({ code: 'not_found' });
    const stranger = callerOf('alice', { tenant: 'other', scopes: new Set(SCOPES) });
    expect(await refusal(resume(task, APPROVE, { caller: stranger }))).toMatchObject({ code: 'not_found' });
    const chief = callerOf('chief', { scopes: new Set(['tasks:decide', 'tasks:all']) });
    expect(await resume(task, APPROVE, { caller: chief })).toMatchObject({ runNo: 2 });
    expect((await here.store.lastDecision(task.taskKey))?.decidedBy).toBe('chief');
  });

  it('with arguments that its tool does not take leaves the task as it was', async () => {
    const task = await waiting();
    const before = await here.store.snapshot({ tenant: 'acme' }, task.taskId);
    for (const [edited_args, path] of [
      [{ text: 7 }, '/decisions/0/edited_args/text'],
      ['short', '/decisions/0/edited_args'],
    ] as const) {
      const refused = await refusal(resume(task, { decisions: [{ tool_call_id: 'c1', approved: true, edited_args }] }));
      expect([refused.code, refused.faults[0]!.path]).toEqual(['invalid_edited_args', path]);
    }
    expect(await here.store.snapshot({ tenant: 'acme' }, task.taskId)).toEqual(before);
    expect(await rows('select run_no from outbox where task_key = $1', task)).toEqual([]);
  });

  it('too long for an event is in the log by its digest, and given to the run whole', async () => {
    const task = await waiting();
    const text = 'é'.repeat(100_000);
    await resume(task, { decisions: [{ tool_call_id: 'c1', approved: true, edited_args: { text } }] });
    const [{ digests, ...decision }] = (await here.store.lastDecision(task.taskKey))!.decisions as [
      Record<string, unknown>,
    ];
    expect([decision, digests]).toEqual([
      { tool_call_id: 'c1', approved: true },
      { edited_args: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    const { answer } = await claim(task, 2);
    expect(JSON.parse(answer!)).toEqual({
      decisions: [{ tool_call_id: 'c1', approved: true, edited_args: { text } }],
      results: [],
    });
  });
});

describe('a task that pauses again and again', () => {
  const question = (tool_call_id: string): OpenConfirmation => ({ tool_call_id, kind: 'question', prompt: 'Which?' });

  it('takes an answer that names nothing only with the wait it is for', async () => {
    const task = await waiting({ confirmations: [question('q1')] });
    const first = (await here.store.snapshot({ tenant: 'acme' }, task.taskId))!.waitId!;
    await resume(task, { input: 'one' });
    await pauseRun(here, task, { runNo: 2, confirmations: [question('q1')] });
    const second = (await here.store.snapshot({ tenant: 'acme' }, task.taskId))!.waitId!;
    const bare = await refusal(resume(task, { input: 'one' }));
    expect([bare.code, bare.faults[0]!.path]).toEqual(['wait_id_required', '/wait_id']);
    expect((await refusal(resume(task, {}))).code).toBe('wait_id_required');
    expect(await refusal(resume(task, { input: 'one' }, { waitId: first }))).toEqual({
      code: 'wait_changed',
      faults: [],
      extensions: {
        wait_id: second,
        decision: {
          wait_id: first,
          decided_by: 'alice',
          decided_at: TIME,
          decisions: [{ tool_call_id: 'q1', input: 'one' }],
        },
      },
    });
    await resume(task, { input: 'two' }, { waitId: second });
    expect(await here.store.lastDecision(task.taskKey)).toMatchObject({
      waitId: second,
      decisions: [{ input: 'two' }],
    });
  });

  it('is answered by the ids of what it asks without naming the wait', async () => {
    const task = await waiting({ confirmations: [question('q1')] });
    await resume(task, { input: 'one' });
    await pauseRun(here, task, { runNo: 2, confirmations: [question('q2'), question('q3')] });
    expect((await refusal(resume(task, { results: [{ tool_call_id: 'q1', output: 1 }] }))).code).toBe(
      'invalid_request',
    );
    const results = ['q3', 'q2'].map((tool_call_id) => ({ tool_call_id, output: tool_call_id }));
    expect(await resume(task, { results })).toMatchObject({ runNo: 3 });
    expect((await here.store.lastDecision(task.taskKey))?.decisions).toEqual([
      { tool_call_id: 'q2', output: 'q2' },
      { tool_call_id: 'q3', output: 'q3' },
    ]);
  });

  it('shows what it waits for in the order it was asked', async () => {
    const ids = ['z', 'b', 'y', 'a'];
    const task = await waiting({ confirmations: ids.map(question) });
    const listed = await here.store.list({ tenant: 'acme' }, { states: ['waiting_for_input'] }, { limit: 50 });
    const shown = listed.items.find(({ taskId }) => taskId === task.taskId)!;
    expect(shown.pendingConfirmations.map(({ tool_call_id }) => tool_call_id)).toEqual(ids);
  });
});

describe('the answer a run is given', () => {
  const approved = { decisions: [{ tool_call_id: 'c1', approved: true }], results: [] };

  async function answered(): Promise<Submission> {
    const task = await waiting({ data: { at: 'pause' } });
    await resume(task, APPROVE);
    return task;
  }

  /** Ends the run as the sweep over lost runs does. */
  async function lose({ taskKey }: Submission, runNo: number): Promise<void> {
    const appended = await here.log.append([
      {
        taskKey,
        guard: { kind: 'control', from: ['running'], runOpen: true, runNo, leaseExpired: true },
        events: [],
        dispatch: { runNo: runNo + 1, reason: 'lost', delayMs: 0 },
      },
    ]);
    expect(appended).toHaveLength(1);
  }

  it('is given to the next one too when that run is lost before it has stored anything', async () => {
    const task = await answered();
    const first = await claim(task, 2, 0);
    expect([first.event.type, first.checkpoint, JSON.parse(first.answer!)]).toEqual([
      'task.started',
      '{"at":"pause"}',
      approved,
    ]);
    await lose(task, 2);
    const second = await claim(task, 3);
    expect([second.event.type, second.checkpoint, JSON.parse(second.answer!)]).toEqual([
      'task.retrying',
      '{"at":"pause"}',
      approved,
    ]);
  });

  it('is not given again once a checkpoint was stored after it', async () => {
    const task = await answered();
    await claim(task, 2, 0);
    await here.log.append([
      { taskKey: task.taskKey, guard: { kind: 'run', runNo: 2, runPos: 0 }, events: [], checkpoint: '{"at":"later"}' },
    ]);
    await lose(task, 2);
    const next = await claim(task, 3);
    expect([next.checkpoint, next.answer]).toEqual(['{"at":"later"}', null]);
  });

  it('is the newest one', async () => {
    const task = await answered();
    await pauseRun(here, task, { runNo: 2, confirmations: [{ tool_call_id: 'q', kind: 'question' }], data: { at: 2 } });
    const waitId = (await here.store.snapshot({ tenant: 'acme' }, task.taskId))!.waitId!;
    await resume(task, { input: 'blue' }, { waitId });
    const next = await claim(task, 3);
    expect([next.checkpoint, JSON.parse(next.answer!)]).toEqual([
      '{"at":2}',
      { decisions: [], input: 'blue', results: [] },
    ]);
  });
});

describe('an approval', () => {
  /** What the tool gateway says of the call in the run that this is the claim of. */
  function decide(won: Claim, to: string, toolCallId = 'p1'): ToolDecision {
    const rights = rightsOf({
      ...won,
      allowedTools: ['pay'],
      policy: { ...won.policy, toolPolicy: { pay: 'confirm' } },
    });
    const run = { input: '', signal: new AbortController().signal, tenant: won.tenant, taskId: won.taskId };
    const gateway = new ToolGateway(rights, { catalog: catalogOf([PAY]), taskKey: won.taskKey, run });
    return gateway.decide({ toolName: 'pay', args: { to }, toolCallId });
  }

  it('of two that change the arguments differently, at once and at two gateways, is for those of the one that won', async () => {
    for (let round = 0; round < 8; round += 1) {
      const task = await waiting({ confirmations: [ASK_PAY] });
      const edits = ['bob', 'eve'];
      const answers = await Promise.allSettled(
        edits.map((to, index) =>
          resume(
            task,
            { decisions: [{ tool_call_id: 'p1', approved: true, edited_args: { to } }] },
            { at: index === round % 2 ? here : there },
          ),
        ),
      );
      const won = edits.filter((_, index) => answers[index]!.status === 'fulfilled');
      expect(won).toHaveLength(1);
      const run = await claim(task, 2);
      const codes = ['ann', ...edits].map((to) => {
        const decision = decide(run, to);
        return decision.outcome === 'allowed' ? to : decision.code;
      });
      expect(codes).toEqual(['changed', ...edits.map((to) => (to === won[0] ? to : 'changed'))]);
    }
  });

  it('is used up once, whichever process announces a call with it, and stays used in the runs that follow', async () => {
    const task = await waiting({ confirmations: [ASK_PAY] });
    await resume(task, { decisions: [{ tool_call_id: 'p1', approved: true }] });
    const run = await claim(task, 2);
    const decision = decide(run, 'ann');
    if (decision.outcome === 'denied' || !decision.approval) throw new Error('it was not approved');
    const { place } = decision.approval;
    const outcomes = await Promise.all(
      [here, there, here, there].map(({ writer }, index) => {
        const payload = { tool_call_id: `p${index}`, tool_name: 'pay', approval: place, approved_by: 'alice' };
        return writer.append({
          taskKey: task.taskKey,
          taskId: task.taskId,
          guard: { kind: 'control', from: ['running'], runOpen: true, runNo: 2 },
          events: [draftEvent({ type: 'tool.invoked', payload })],
        });
      }),
    );
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['refused', 'refused', 'refused', 'stored']);
    expect((await types(task.taskKey)).filter((type) => type === 'tool.invoked')).toHaveLength(1);
    await here.writer.append({
      taskKey: task.taskKey,
      taskId: task.taskId,
      guard: { kind: 'control', from: ['running'], runOpen: true, runNo: 2 },
      events: [],
      dispatch: { runNo: 3, reason: 'handover', delayMs: 0 },
    });
    const next = await claim(task, 3);
    expect(next.asked).toMatchObject([
      { toolCallId: 'p1', decidedBy: 'alice', usedBy: expect.stringMatching(/^p[0-3]$/) },
    ]);
    expect(decide(next, 'ann')).toMatchObject({ outcome: 'denied', code: 'approval_used' });
  });

  it('with arguments that a tool of any kind does not take is refused by path, and the task waits on', async () => {
    const task = await waiting({ confirmations: [ASK_PAY] });
    const wrong = { decisions: [{ tool_call_id: 'p1', approved: true, edited_args: { to: 7 } }] };
    const { code, faults } = await refusal(resume(task, wrong));
    expect([code, faults.map(({ path }) => path)]).toEqual(['invalid_edited_args', ['/decisions/0/edited_args/to']]);
    expect(await rows('select state from task_heads where task_key = $1', task)).toEqual([
      { state: 'waiting_for_input' },
    ]);
  });

  it('that is not given is a denied call in the log, told with the answer and by whom', async () => {
    const task = await waiting({ confirmations: [ASK_PAY, ASK] });
    await resume(task, {
      decisions: [
        { tool_call_id: 'c1', approved: true },
        { tool_call_id: 'p1', approved: false },
      ],
    });
    expect((await types(task.taskKey)).slice(-2)).toEqual(['task.resumed', 'tool.denied']);
    const events = await here.log.page(task.taskKey, 0, { maxEvents: 500, maxBytes: 1 << 20 });
    expect(JSON.parse(events.at(-1)!.payload)).toEqual({
      tool_call_id: 'p1',
      tool_name: 'pay',
      reason: 'Permission denied by user',
      code: 'denied_by_user',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      denied_by: 'alice',
    });
  });
});
