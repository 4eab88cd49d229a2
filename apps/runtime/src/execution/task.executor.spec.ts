import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunnerAdapter, RunnerItem } from '#lib/adapters/contract';
import { type Claim, encodeRunSignal, runtimeChannel, UnavailableError } from '#lib/domain';
import { EventWriter } from '#lib/execution';
import { GuardedOutbound } from '#lib/security';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClaim, TEST_POLICY } from '../../../../test/support/claims.js';
import { everyRunHas } from '../../../../test/support/fake-tools.js';
import { MemoryBlobStore } from '../../../../test/support/memory-blob-store.js';
import { MemoryEventBus } from '../../../../test/support/memory-event-bus.js';
import { MemoryEventLog } from '../../../../test/support/memory-event-log.js';
import { MemoryLeaseKeeper } from '../../../../test/support/memory-lease-keeper.js';
import { ScriptedAdapter, scriptedDescriptor, type ScriptStep } from '../../../../test/support/scripted/index.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { until } from '../../../../test/support/until.js';
import { AdapterHost } from './adapter.host.js';
import type { ContextCustomiser } from './context-customisers.js';
import { LiveRuns } from './live-runs.js';
import { StallWatch } from './stall.watch.js';
import { type Ended, TaskExecutor } from './task.executor.js';
import type { ToolSource } from './tools.source.js';
import { Workspaces } from './workspaces.js';

const WORK = path.join(tmpdir(), `switchyard-executor-${process.pid}`);
const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

interface Options {
  readonly adapter?: RunnerAdapter;
  readonly tools?: ToolSource;
  readonly customisers?: readonly ContextCustomiser[];
  readonly leaseMs?: number;
}

async function createStage(options: Options = {}) {
  const { adapter = new ScriptedAdapter(), tools = everyRunHas({}), customisers = [], leaseMs = 30_000 } = options;
  const log = new MemoryEventLog();
  const bus = new MemoryEventBus();
  const blobs = new MemoryBlobStore();
  const outbound = new GuardedOutbound({ rules: [], allowPublic: false });
  const leases = new MemoryLeaseKeeper();
  const logger = new SilentLogger();
  const writer = new EventWriter({ log, bus, logger });
  const stalls = new StallWatch(writer);
  const live = new LiveRuns({ leases, bus, stalls, logger }, { runtimeId: 'rt', leaseMs });
  await live.start();
  cleanUps.push(() => live.stop());
  const registered = [{ descriptor: scriptedDescriptor, create: () => adapter }];
  const adapters = new AdapterHost(registered, { databaseUrl: '', executeModelCode: false });
  const executor = new TaskExecutor({
    adapters,
    writer,
    blobs,
    outbound,
    live,
    stalls,
    workspaces: new Workspaces({ root: WORK, maxBytes: 100_000 }, blobs),
    tools,
    tokens: () => () => Promise.reject(new Error('no tokens')),
    customisers,
    logger,
  });
  const begin = (script: readonly ScriptStep[], change: Partial<Claim> = {}) => {
    const claim = createClaim({ input: JSON.stringify(script), ...change });
    log.claimed(claim.taskKey, claim.runNo);
    const run = live.open({ claim, claimedAtMs: performance.now() });
    const ended: Promise<Ended | undefined> = executor.execute(run).finally(() => live.close(run));
    const payloads = () => log.events(claim.taskKey).map(({ type, payload }) => [type, JSON.parse(payload)]);
    return { claim, run, ended, types: () => log.types(claim.taskKey), payloads };
  };
  return { log, bus, blobs, leases, live, begin, logger };
}

const policy = (change: Partial<Claim['policy']>): Partial<Claim> => ({ policy: { ...TEST_POLICY, ...change } });
const step = (step_id: string): ScriptStep => ({
  event: { type: 'step.started', payload: { step_id, step_name: step_id } },
});
const done = (step_id: string): ScriptStep => ({ event: { type: 'step.completed', payload: { step_id } } });

describe('a run', () => {
  it('is not begun when what it is to be told cannot be made: the task fails', async () => {
    const customisers = [
      (): never => {
        throw new Error('the directory of tenants is closed');
      },
    ];
    const { begin, logger } = await createStage({ customisers });
    const { ended, payloads } = begin([step('a'), { result: 'done' }]);
    await ended;
    expect(payloads()).toEqual([['task.failed', { error: { code: 'internal', message: expect.any(String) } }]]);
    expect(logger.lines.map(({ level }) => level)).toContain('error');
  });

  it('that does nothing but answer is one append', async () => {
    const { begin, log, leases } = await createStage();
    const { ended, types } = begin([{ result: 'done' }]);
    await expect(ended).resolves.toMatchObject({ outcome: { kind: 'stored' } });
    expect(types()).toEqual(['message.completed', 'task.succeeded']);
    expect(log.batches).toHaveLength(1);
    expect(leases.held.size).toBe(0);
  });

  it('stores events, artifacts and checkpoints in the order of the stream', async () => {
    const { begin, log, blobs } = await createStage();
    const { ended, types, claim } = begin([
      step('a'),
      { artifact: { name: 'page.html', text: '<p>hi</p>' } },
      { checkpoint: { half: true } },
      done('a'),
      { result: 'done' },
    ]);
    await ended;
    expect(types()).toEqual([
      'step.started',
      'artifact.created',
      'step.completed',
      'message.completed',
      'task.succeeded',
    ]);
    expect(String([...blobs.blobs.values()][0])).toBe('<p>hi</p>');
    expect(log.tasks.get(claim.taskKey)?.checkpoint).toBe('{"next":3,"data":{"half":true}}');
  });

  it('goes on from its checkpoint', async () => {
    const { begin } = await createStage();
    const { ended, types } = begin([step('a'), { result: 'done' }], { runNo: 2, checkpoint: '{"next":1}' });
    await ended;
    expect(types()).toEqual(['message.completed', 'task.succeeded']);
  });

  it('may pause', async () => {
    const { begin } = await createStage();
    const { ended, types } = begin([{ pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Which?' }] }]);
    await ended;
    expect(types()).toEqual(['agent.request_confirmation', 'task.waiting_for_input']);
  });
});

describe('a runner that fails', () => {
  it.each([1, 2])('in attempt %i without effects is tried again, later each time', async (attempt) => {
    const { begin, log } = await createStage();
    const { ended, types, claim } = begin([{ throw: { kind: 'unavailable' } }], { attempt });
    const error = { code: 'backend_unavailable', message: 'The script failed: unavailable.' };
    const next = { runNo: 2, reason: 'error', delayMs: attempt * 1_000, attempt: attempt + 1, error };
    await expect(ended).resolves.toMatchObject({ outcome: { kind: 'stored' }, next });
    expect(types()).toEqual([]);
    expect(log.tasks.get(claim.taskKey)).toMatchObject({ state: 'running', runOpen: false });
  });

  it.each([
    ['unavailable', 'backend_unavailable'],
    ['rejected', 'rejected'],
    ['timeout', 'timeout'],
    ['protocol', 'protocol'],
  ] as const)('with %s in the last attempt ends the task as %s', async (kind, code) => {
    const { begin } = await createStage();
    const { ended, payloads } = begin([{ throw: { kind } }], { attempt: 3 });
    await ended;
    expect(payloads()).toEqual([['task.failed', { error: { code, message: `The script failed: ${kind}.` } }]]);
  });

  it('because storage is away goes on later, however seldom its agent is tried again', async () => {
    const { begin, blobs } = await createStage();
    const message = 'The storage of artifacts cannot be reached at the moment.';
    blobs.put = () => Promise.reject(new UnavailableError(message));
    const script = [step('a'), { artifact: { name: 'a', text: 'a' } }, { result: 'done' }];
    const { ended, types } = begin(script, { attempt: 4 });
    const next = { runNo: 2, reason: 'error', delayMs: 40_000, attempt: 5, error: { code: 'internal', message } };
    await expect(ended).resolves.toMatchObject({ outcome: { kind: 'stored' }, next });
    expect(types()).toEqual(['step.started']);
    for (const change of [{ attempt: 8 }, policy({ onLost: 'fail' })]) {
      const last = begin(script, change);
      await last.ended;
      expect(last.payloads().at(-1)).toEqual(['task.failed', { error: { code: 'internal', message } }]);
    }
  });

  it('and may have had effects is not tried again', async () => {
    const { begin } = await createStage();
    const { ended, payloads } = begin([{ throw: { kind: 'timeout', effects: 'possible' } }]);
    await ended;
    const message = 'The script failed: timeout. (remote reference: remote-1)';
    const details = { phase: 'observe', remote_reference: 'remote-1' };
    expect(payloads()).toEqual([['task.failed', { error: { code: 'outcome_unknown', message }, ...details }]]);
  });

  it.each([
    ['budget_exceeded', { throw: { kind: 'budget' } }],
    ['internal', { throw: { kind: 'bug' } }],
    ['protocol', { end: true }],
    ['protocol', { garbage: { kind: 'nonsense' } }],
    ['protocol', { event: { type: 'task.succeeded', payload: {} } }],
    ['protocol', { artifact: { name: 'x', text: 'x', path: '../../etc/passwd' } }],
    ['protocol', { pause: [] }],
    ['protocol', { result: { text: 7, metadata: {} } as never }],
  ] as const)('ends the task as %s', async (code, fault) => {
    const { begin } = await createStage();
    const { ended, payloads } = begin([fault]);
    await ended;
    expect(payloads().at(-1)).toEqual(['task.failed', { error: { code, message: expect.any(String) } }]);
  });

  it('is not known here fails, said in the log', async () => {
    const { begin, logger } = await createStage();
    const { ended, payloads } = begin([], { runner: 'elsewhere' });
    await ended;
    expect(payloads()).toEqual([['task.failed', { error: { code: 'internal', message: expect.any(String) } }]]);
    expect(logger.lines.map(({ level }) => level)).toContain('error');
  });
});

describe('a cancel', () => {
  it('by signal stops the runner, and the log says it stopped by itself', async () => {
    const { begin, bus } = await createStage();
    const { ended, payloads, claim } = begin([step('a'), { wait_ms: 60_000 }]);
    await until(() => payloads().length === 1);
    await bus.signal(runtimeChannel('rt'), encodeRunSignal({ kind: 'cancel', taskKey: claim.taskKey, runNo: 1 }));
    await ended;
    expect(payloads().at(-1)).toEqual(['task.cancelled', { forced: false }]);
  });

  it('learnt from an append counts the grace from when it was asked', async () => {
    const { begin, log } = await createStage();
    const { ended, payloads, claim } = begin([step('a'), { wait_ms: 60_000, stubborn: true }]);
    log.tasks.get(claim.taskKey)!.cancelAtMs = log.nowMs - 9_900;
    await ended;
    expect(payloads().at(-1)).toEqual(['task.cancelled', { forced: true }]);
  });

  it('loses against a result that comes before it is confirmed', async () => {
    const { begin, leases } = await createStage();
    const { ended, types, claim } = begin([{ wait_ms: 50, stubborn: true }]);
    leases.cancel({ ...claim, elapsedMs: 0 });
    await ended;
    expect(types()).toEqual(['task.cancelled']);

    const winner: RunnerAdapter = {
      async *start(_context, signal): AsyncIterable<RunnerItem> {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        yield { kind: 'result', result: { text: 'just done', metadata: {} } };
      },
      health: async () => undefined,
      close: async () => undefined,
    };
    const other = await createStage({ adapter: winner });
    const won = other.begin([]);
    other.leases.cancel({ ...won.claim, elapsedMs: 0 });
    await won.ended;
    expect(won.types()).toEqual(['message.completed', 'task.succeeded']);
  });
});

describe('a run that is not ours any more', () => {
  it('stops its runner and writes nothing', async () => {
    const { begin, leases } = await createStage();
    const { ended, types, claim } = begin([{ wait_ms: 60_000, stubborn: true }]);
    leases.lose(claim);
    await expect(ended).resolves.toBeUndefined();
    expect(types()).toEqual([]);
  });

  it('is noticed when an append is fenced off', async () => {
    const { begin, log } = await createStage();
    const { ended, types, claim } = begin([step('a'), { wait_ms: 60_000 }]);
    log.tasks.get(claim.taskKey)!.runNo = 2;
    await expect(ended).resolves.toBeUndefined();
    expect(types()).toEqual([]);
  });

  it('is given up before its lease is over when renewals stay away', async () => {
    const { begin } = await createStage({ leaseMs: 400 });
    const { ended, run } = begin([{ wait_ms: 60_000 }]);
    await expect(ended).resolves.toBeUndefined();
    expect(run.reason).toBe('lost');
  });
});

describe('a run whose time is up', () => {
  it('fails at its deadline', async () => {
    const { begin } = await createStage();
    const { ended, payloads } = begin([{ wait_ms: 60_000, stubborn: true }], { deadlineAtMs: Date.now() + 50 });
    await ended;
    expect(payloads()).toEqual([
      ['task.failed', { error: { code: 'deadline_exceeded', message: expect.any(String) }, phase: 'running' }],
    ]);
  });

  it('fails when it has used up its time', async () => {
    const { begin } = await createStage();
    const { ended, payloads } = begin([{ wait_ms: 60_000 }], policy({ budgets: { wallSeconds: 0.05 } }));
    await ended;
    expect(payloads()).toEqual([['task.failed', { error: { code: 'budget_exceeded', message: expect.any(String) } }]]);
  });

  const invoked = (id: string): ScriptStep => ({
    event: { type: 'tool.invoked', payload: { tool_call_id: id, tool_name: 't' } },
  });
  const used = (input_tokens: number, output_tokens: number): ScriptStep => ({
    event: { type: 'model.usage', payload: { model: 'm', usage: { input_tokens, output_tokens } } },
  });

  it.each([
    ['2 tool calls', { toolCalls: 2 }, [invoked('1'), invoked('2')], [invoked('3')]],
    ['2 model calls', { modelCalls: 2 }, [used(1, 1), used(1, 1)], [used(0, 0)]],
    ['10 tokens', { tokens: 10 }, [used(4, 3), used(2, 1)], [used(0, 1)]],
  ] as const)(
    'or that passes its budget of %s ends, whatever its adapter makes of that',
    async (most, budgets, within, over) => {
      const { begin } = await createStage();
      const frugal = begin([...within, { result: 'x' }], policy({ budgets }));
      await frugal.ended;
      expect(frugal.types().at(-1)).toBe('task.succeeded');
      const { ended, payloads, run } = begin([...within, ...over, { wait_ms: 60_000 }], policy({ budgets }));
      await ended;
      const message = expect.stringContaining(most);
      expect(payloads().at(-1)).toEqual(['task.failed', { error: { code: 'budget_exceeded', message } }]);
      expect(run.signal.aborted).toBe(true);
    },
  );

  it('makes no tool call over its budget', async () => {
    const seen: string[] = [];
    const tools = everyRunHas({ t: async (_args, { toolCallId }) => seen.push(toolCallId) });
    const { begin } = await createStage({ tools });
    const call = (id: string): ScriptStep => ({ tool: { name: 't', args: {}, id } });
    await begin([call('1'), call('2'), { result: 'x' }], policy({ budgets: { toolCalls: 1 } })).ended;
    expect(seen).toEqual(['1']);
  });

  it('is handed over when the process stops', async () => {
    const { begin, live } = await createStage();
    const { ended } = begin([step('a'), { wait_ms: 60_000 }]);
    live.stopAll('handover', 1_000);
    await expect(ended).resolves.toMatchObject({ next: { runNo: 2, reason: 'handover', attempt: 1 } });
    expect(live.size).toBe(0);
    const late = begin([{ wait_ms: 60_000 }]);
    await expect(late.ended).resolves.toMatchObject({ next: { reason: 'handover' } });
  });

  it('ends as lost instead when the agent does not want it to run again', async () => {
    const { begin, live } = await createStage();
    const { ended, payloads } = begin([{ wait_ms: 60_000 }], policy({ onLost: 'fail' }));
    live.stopAll('handover', 1_000);
    await ended;
    expect(payloads()).toEqual([['task.failed', { error: { code: 'runtime_lost', message: expect.any(String) } }]]);
  });
});

describe('a run that is silent', () => {
  it('is shown as stalled with what it waits for, and as recovered when it goes on', async () => {
    const tools = everyRunHas({ slow: () => new Promise((resolve) => setTimeout(resolve, 700, 'late')) });
    const { begin } = await createStage({ tools });
    const { ended, payloads } = begin([{ tool: { name: 'slow', args: {}, id: 'c1' } }, { wait_ms: 10 }, { result: 'x' }], policy({ stallSeconds: 0.2 })); // prettier-ignore
    await ended;
    expect(payloads().map(([type]) => type)).toEqual([
      'tool.invoked',
      'task.stalled',
      'tool.completed',
      'task.recovered',
      'message.completed',
      'task.succeeded',
    ]);
    expect(payloads()[1]).toEqual(['task.stalled', { reason: 'no_progress', waiting_on: 'slow' }]);
  });
});

describe('a run of several tool calls', () => {
  it('is shown to wait for the newest that is open, and for nothing once all are over', async () => {
    const { begin } = await createStage();
    const call = (type: string, id: string): ScriptStep => ({
      event: {
        type: `tool.${type}`,
        payload: {
          tool_call_id: id,
          tool_name: `tool-${id}`,
          ...(type === 'failed' ? { error: { code: 'failed', message: 'no' } } : {}),
        },
      },
    });
    const { ended, payloads } = begin([
      ...['a', 'b', 'c'].map((id) => call('invoked', id)),
      call('failed', 'c'),
      call('completed', 'a'),
      call('completed', 'b'),
      { result: 'x' },
    ]);
    await ended;
    expect(
      payloads()
        .slice(3, 6)
        .map(([, { waiting_on }]) => waiting_on),
    ).toEqual(['tool-b', 'tool-b', undefined]);
  });
});

describe('a tool call', () => {
  it('goes out after its invocation is stored, and not when the run is over', async () => {
    const seen: string[] = [];
    const tools = everyRunHas({ t: async () => seen.push('t') });
    const { begin, log } = await createStage({ tools });
    const { ended, payloads } = begin([{ tool: { name: 't', args: {}, id: 'c1' } }, { result: 'x' }]);
    await ended;
    expect(seen).toEqual(['t']);
    expect(
      payloads()
        .map(([type]) => type)
        .slice(0, 2),
    ).toEqual(['tool.invoked', 'tool.completed']);

    const lost = begin([{ tool: { name: 't', args: {}, id: 'c2' } }, { result: 'x' }]);
    log.tasks.get(lost.claim.taskKey)!.runOpen = false;
    await lost.ended;
    expect(seen).toHaveLength(1);
  });
});

it('never mixes two runs', async () => {
  const { begin } = await createStage();
  const runs = ['a', 'b', 'c'].map((name) =>
    begin([step(name), { wait_ms: 5 }, done(name), { wait_ms: 5 }, { result: name }]),
  );
  await Promise.all(runs.map(({ ended }) => ended));
  expect(runs.map(({ payloads }) => payloads()[0]![1].step_id)).toEqual(['a', 'b', 'c']);
  expect(runs.map(({ payloads }) => payloads().at(-1)![1].result.text)).toEqual(['a', 'b', 'c']);
});

describe('the workspace of a run', () => {
  const write = (name: string, text: string): ScriptStep => ({ write: { name, text } });
  const created = (payloads: () => unknown[]): unknown[] =>
    (payloads() as [string, { artifact: { kind: string; name: string } }][])
      .filter(([type]) => type === 'artifact.created')
      .map(([, { artifact }]) => [artifact.kind, artifact.name]);

  it('is saved with a checkpoint, in its append, and put back for the next run', async () => {
    const { begin, log } = await createStage();
    const first = begin([write('a.txt', 'one'), { checkpoint: {} }, write('b.txt', 'lost'), { wait_ms: 60_000 }]);
    await until(() => log.tasks.get(first.claim.taskKey)?.checkpoint !== undefined, {});
    const workspace = log.tasks.get(first.claim.taskKey)!.workspace!;
    expect(log.batches.at(-1)![0]).toMatchObject({ checkpoint: expect.any(String), workspace });
    first.run.stop('lost', 0);
    await first.ended;
    expect(log.tasks.get(first.claim.taskKey)!.workspace).toEqual(workspace);

    const second = begin([{ read: 'a.txt' }, { read: 'b.txt' }], { runNo: 2, workspace });
    await second.ended;
    expect(second.payloads().at(-1)).toEqual([
      'task.succeeded',
      { result: { text: 'one', metadata: { model: 'scripted' } } },
    ]);
    expect(log.batches.at(-1)![0]).toMatchObject({ workspace: null });
  });

  it('is saved at a pause and at a hand-over', async () => {
    const { begin, log, live } = await createStage();
    const paused = begin([write('a.txt', 'one'), { pause: [{ tool_call_id: 'q', kind: 'question' }] }]);
    await paused.ended;
    expect(log.tasks.get(paused.claim.taskKey)).toMatchObject({
      state: 'waiting_for_input',
      workspace: { size: 2_048 },
    });
    const handed = begin([write('a.txt', 'two'), { wait_ms: 60_000 }]);
    await until(() => existsSync(path.join(WORK, `${handed.claim.taskKey}-1`, 'a.txt')), {});
    live.stopAll('handover', 5_000);
    await handed.ended;
    expect(log.tasks.get(handed.claim.taskKey)).toMatchObject({ state: 'running', workspace: { size: 2_048 } });
    expect(created(handed.payloads)).toEqual([]);
  });

  it.each([
    ['success', [{ result: 'done' }], 'task.succeeded'],
    ['failure', [{ throw: { kind: 'rejected', effects: 'possible' } }], 'task.failed'],
    ['cancel', [{ wait_ms: 60_000 }], 'task.cancelled'],
    ['cancel it does not heed', [{ wait_ms: 60_000, stubborn: true }], 'task.cancelled'],
  ] as [string, ScriptStep[], string][])(
    'is kept at its end by %s, but for what is kept already',
    async (_, end, type) => {
      const { begin, live } = await createStage();
      const { ended, payloads, types, run, claim } = begin(
        [
          { artifact: { name: 'page.html', text: '<p>' } },
          write('copy.html', '<p>'),
          write('logs/run.txt', 'line'),
          write('out/data.json', '{}'),
          write('empty', ''),
          write('.cache/x', 'x'),
          ...end,
        ],
        policy({ graceSeconds: 0.2 }),
      );
      if (type === 'task.cancelled') {
        await until(() => existsSync(path.join(WORK, `${claim.taskKey}-1`, '.cache/x')), {});
        live.cancel(run, 0);
      }
      await ended;
      expect(created(payloads)).toEqual([
        ['produced', 'page.html'],
        ['log', 'logs/run.txt'],
        ['produced', 'out/data.json'],
      ]);
      expect(types().at(-1)).toBe(type);
      expect(existsSync(path.join(WORK, `${claim.taskKey}-1`))).toBe(false);
    },
  );

  it('may take longer to keep than the grace, without the cancel being called forced', async () => {
    const { begin, live, blobs } = await createStage();
    const put = blobs.put.bind(blobs);
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    blobs.put = async (tenant, content) => held.then(() => put(tenant, content));
    const { ended, payloads, run, claim } = begin(
      [write('a.txt', 'kept'), { wait_ms: 60_000 }],
      policy({ graceSeconds: 0.2 }),
    );
    await until(() => existsSync(path.join(WORK, `${claim.taskKey}-1`, 'a.txt')), {});
    live.cancel(run, 0);
    await run.abandoned;
    goOn();
    await ended;
    expect(created(payloads)).toEqual([['produced', 'a.txt']]);
    expect(payloads().at(-1)).toEqual(['task.cancelled', { forced: false }]);
  });

  it('that holds more than it may ends the run, whether it goes on or has just ended', async () => {
    const { begin } = await createStage();
    const endings = [[{ wait_ms: 60_000 }], [{ result: 'done' }], [{ checkpoint: {} }, { wait_ms: 60_000 }]];
    for (const end of endings as ScriptStep[][]) {
      const { ended, payloads } = begin([write('large', 'x'.repeat(200_000)), ...end]);
      await ended;
      expect(payloads().at(-1)).toEqual([
        'task.failed',
        { error: { code: 'budget_exceeded', message: expect.stringContaining('workspace') } },
      ]);
    }
  });

  it('with very many files is kept in part, and the rest is named', async () => {
    const { begin, blobs } = await createStage();
    const many = Array.from({ length: 120 }, (_, i) => write(`f${String(i).padStart(3, '0')}`, `file ${i}`));
    const { ended, payloads } = begin([...many, { result: 'done' }]);
    await ended;
    expect(created(payloads)).toHaveLength(101);
    expect(created(payloads).at(-1)).toEqual(['log', 'left-out.txt']);
    const list = [...blobs.blobs.values()].map(String).find((text) => text.includes('\tf119'));
    expect(list!.trim().split('\n')).toHaveLength(20);
  });
});
