import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { unzipSync } from 'fflate';
import type { TaskKey } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import type { AdapterEnvironment, RunContext, RunnerAdapter, RunnerAnswer, RunnerItem } from '../contract/index.js';
import {
  type AskedQuestion,
  createCheckpointPool,
  runWorkflow,
  type Stage,
  type WorkflowChunk,
} from './workflow.client.js';
import { createWorkflowAdapter, setUpCheckpoints } from './index.js';

let database: TestDatabase;
const adapters: RunnerAdapter[] = [];
const directories: string[] = [];

beforeAll(async () => {
  database = await createDatabase();
  await setUpCheckpoints(database.url);
});
afterEach(async () => {
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close()));
  await Promise.all(directories.splice(0).map((directory) => rm(directory, { recursive: true })));
});
afterAll(() => database.drop());

function adapterWith(environment: Partial<AdapterEnvironment> = {}): RunnerAdapter {
  const adapter = createWorkflowAdapter({ databaseUrl: database.url, executeModelCode: false, ...environment });
  adapters.push(adapter);
  return adapter;
}

let tasks = 0;

async function contextOf(given: Partial<RunContext> = {}): Promise<RunContext> {
  const workspace = await mkdtemp(join(tmpdir(), 'workflow-'));
  directories.push(workspace);
  tasks += 1;
  return {
    taskKey: `task-${String(tasks)}` as TaskKey,
    taskId: 'task',
    runNo: 1,
    tenant: 'default',
    agentId: 'site-builder',
    input: 'a guest book with name, email and message, visitors can delete their entries; pay with credit card',
    context: {},
    attributes: {},
    options: {},
    detail: 'verbose',
    tools: { list: [], call: () => Promise.reject(new Error('no tools')) },
    taskToken: () => Promise.reject(new Error('no tokens')),
    files: [],
    clientTools: [],
    workspace,
    budgets: {},
    ...given,
  };
}

async function play(
  adapter: RunnerAdapter,
  context: RunContext,
  signal = new AbortController().signal,
): Promise<RunnerItem[]> {
  const items: RunnerItem[] = [];
  for await (const item of adapter.start(context, signal)) items.push(item);
  return items;
}

function eventsOf(items: readonly RunnerItem[], types: RegExp): string[] {
  return items.flatMap((item) =>
    item.kind === 'event' && types.test(item.type)
      ? [`${item.type} ${'step_id' in item.payload ? String(item.payload.step_id) : ''}`]
      : [],
  );
}

type Pause = Extract<RunnerItem, { kind: 'pause' }>;

function pauseOf(items: readonly RunnerItem[]): Pause {
  const last = items.at(-1);
  if (last?.kind !== 'pause') throw new Error(`the run ended with ${JSON.stringify(last)}`);
  return last;
}

function resultOf(items: readonly RunnerItem[]): Extract<RunnerItem, { kind: 'result' }> {
  const last = items.at(-1);
  if (last?.kind !== 'result') throw new Error('the run did not end with a result');
  return last;
}

describe('the workflow runner without a model', () => {
  it('plans, writes, tests and packages a site, one step each, and ends with its result', async () => {
    const context = await contextOf();
    const items = await play(adapterWith(), context);
    expect(eventsOf(items, /^step/)).toEqual(
      ['plan', 'write', 'test', 'package'].flatMap((stage) => [`step.started ${stage}`, `step.completed ${stage}`]),
    );
    const { result } = resultOf(items);
    expect(result.metadata).toEqual({ model: 'local' });
    expect(result.data).toMatchObject({ title: 'Guest book', entry: 'index.html', tests: { failed: 0 } });
    expect(result.text).toContain('pay with credit card');
    expect(items.filter(({ kind }) => kind === 'result')).toHaveLength(1);
  });

  it('keeps every file and the archive of them as artifacts of the packaging step', async () => {
    const context = await contextOf();
    const items = await play(adapterWith(), context);
    const artifacts = items.filter((item) => item.kind === 'artifact');
    const files = (resultOf(items).result.data as { files: string[] }).files;
    expect(artifacts.map(({ name }) => name)).toEqual([...files, 'guest-book.zip']);
    expect(new Set(artifacts.map(({ stepId }) => stepId))).toEqual(new Set(['package']));
    const archive = unzipSync(await readFile(join(context.workspace, 'guest-book.zip')));
    expect(Object.keys(archive)).toHaveLength(files.length);
    for (const { path } of artifacts) expect(existsSync(join(context.workspace, path))).toBe(true);
  });

  it('answers in the language of the request', async () => {
    const items = await play(
      adapterWith(),
      await contextOf({ input: { request: '做一个报名表，包含姓名、手机号，用微信登录' } }),
    );
    const { text } = resultOf(items).result;
    expect(text).toContain('姓名、手机号');
    expect(text).toContain('用微信登录');
  });

  it('refuses an input without a request', async () => {
    await expect(play(adapterWith(), await contextOf({ input: { other: 1 } }))).rejects.toMatchObject({
      name: 'AdapterError',
      kind: 'rejected',
    });
  });

  it('keeps two tasks apart', async () => {
    const adapter = adapterWith();
    const one = play(adapter, await contextOf({ input: 'a todo list with title and done checkbox' }));
    const two = play(adapter, await contextOf({ input: 'an address book with name, phone' }));
    const titles = (await Promise.all([one, two])).map(
      (items) => (resultOf(items).result.data as { title: string }).title,
    );
    expect(titles).toEqual(['Todo list', 'Address book']);
  });
});

describe('going on after a lost run', () => {
  /** Plays a run until its checkpoint of that number, then leaves, as a lost runtime would. */
  async function lose(context: RunContext, checkpoints: number): Promise<unknown> {
    let left = checkpoints;
    for await (const item of adapterWith().start(context, new AbortController().signal)) {
      if (item.kind !== 'checkpoint') continue;
      left -= 1;
      if (left === 0) return item.data;
    }
    throw new Error('the run has fewer checkpoints');
  }

  it('does not repeat finished stages, and rebuilds its files in an empty workspace', async () => {
    const first = await contextOf();
    const checkpoint = await lose(first, 3);
    const second = await contextOf({ taskKey: first.taskKey, runNo: 2, checkpoint });
    const items = await play(adapterWith(), second);
    expect(eventsOf(items, /^step/)).toEqual(
      ['test.2', 'package.2'].flatMap((step) => [`step.started ${step}`, `step.completed ${step}`]),
    );
    expect(resultOf(items).result.data).toMatchObject({ title: 'Guest book', tests: { failed: 0 } });
    expect(existsSync(join(second.workspace, 'site', 'server.mjs'))).toBe(true);
  });

  it('answers from the last checkpoint alone when everything was done', async () => {
    const first = await contextOf();
    const checkpoint = (await play(adapterWith(), first)).filter((item) => item.kind === 'checkpoint').at(-1)?.data;
    const items = await play(adapterWith(), await contextOf({ taskKey: first.taskKey, runNo: 2, checkpoint }));
    expect(eventsOf(items, /^step/)).toEqual([]);
    expect(resultOf(items).result.data).toMatchObject({ title: 'Guest book' });
  });

  it('starts afresh without a checkpoint, whatever an earlier run left in the database', async () => {
    const first = await contextOf();
    await lose(first, 3);
    const items = await play(
      adapterWith(),
      await contextOf({ taskKey: first.taskKey, runNo: 2, input: 'a todo list with title' }),
    );
    expect(eventsOf(items, /^step\.started/)).toHaveLength(4);
    expect(resultOf(items).result.data).toMatchObject({ title: 'Todo list' });
  });
});

describe('asking before building', () => {
  const options = { review: true };

  /** Plays the first run, which asks, and gives what the next run is given besides an answer. */
  async function asked(input: unknown): Promise<{ pause: Pause; next: (runNo: number) => Promise<RunContext> }> {
    const first = await contextOf({ input, options });
    const items = await play(adapterWith(), first);
    return { pause: pauseOf(items), next: (runNo) => after(items, first, runNo) };
  }

  function after(items: readonly RunnerItem[], { taskKey, input }: RunContext, runNo: number): Promise<RunContext> {
    const saved = items.at(-2);
    if (saved?.kind !== 'checkpoint') throw new Error('no checkpoint comes before the pause');
    const checkpoint = JSON.parse(JSON.stringify(saved.data)) as unknown;
    return contextOf({ taskKey, input, options, runNo, checkpoint });
  }

  const approves = (id: string): RunnerAnswer => ({ decisions: [{ tool_call_id: id, approved: true }], results: [] });
  const says = (input: string): RunnerAnswer => ({ decisions: [], input, results: [] });

  it('shows the plan in a question, with no step left open', async () => {
    const first = await contextOf({ options });
    const items = await play(adapterWith(), first);
    expect(pauseOf(items).confirmations).toEqual([
      {
        tool_call_id: 'ask_1_1',
        kind: 'question',
        prompt: expect.stringMatching(/^Shall this be built.*\nGuest book\nFields: .*Email/),
        arguments: expect.objectContaining({
          title: 'Guest book',
          fields: expect.any(Array),
          actions: expect.any(Array),
        }),
      },
    ]);
    expect(eventsOf(items, /^step/)).toEqual(
      ['plan', 'review'].flatMap((stage) => [`step.started ${stage}`, `step.completed ${stage}`]),
    );
    expect(existsSync(join(first.workspace, 'site'))).toBe(false);
  });

  it('builds what was approved, in another adapter and workspace', async () => {
    const { next } = await asked('a todo list with title and done checkbox');
    const items = await play(adapterWith(), { ...(await next(2)), answer: approves('ask_1_1') });
    expect(eventsOf(items, /^step\.started/)).toEqual(
      ['review', 'write', 'test', 'package'].map((stage) => `step.started ${stage}.2`),
    );
    expect(resultOf(items).result.data).toMatchObject({ title: 'Todo list', tests: { failed: 0 } });
  });

  it('plans anew what was asked for instead, asks again, and builds that', async () => {
    const { next } = await asked('a todo list with title and done checkbox');
    const second = { ...(await next(2)), answer: says('an address book with name, phone') };
    const items = await play(adapterWith(), second);
    expect(eventsOf(items, /^step\.started/)).toEqual(
      ['review.2', 'plan.2', 'review.2.2'].map((step) => `step.started ${step}`),
    );
    expect(pauseOf(items).confirmations).toMatchObject([
      { tool_call_id: 'ask_2_1', arguments: { title: 'Address book' } },
    ]);
    const third = { ...(await after(items, second, 3)), answer: approves('ask_2_1') };
    expect(resultOf(await play(adapterWith(), third)).result.data).toMatchObject({ title: 'Address book' });
  });

  it('goes on from the same answer when the resumed run was lost before it had stored anything', async () => {
    const { next } = await asked('a todo list with title and done checkbox');
    const answer = says('an address book with name, phone');
    for await (const item of adapterWith().start({ ...(await next(2)), answer }, new AbortController().signal)) {
      // Until the answer is in a checkpoint, there must be none: the platform would drop it.
      expect(item.kind).toBe('event');
      if (item.kind === 'event' && item.type === 'step.completed') break;
    }
    const items = await play(adapterWith(), { ...(await next(3)), answer });
    expect(pauseOf(items).confirmations).toMatchObject([
      { tool_call_id: 'ask_3_1', arguments: { title: 'Address book' } },
    ]);
  });

  it('asks again when there is no answer', async () => {
    const { pause, next } = await asked('a todo list with title');
    const items = await play(adapterWith(), await next(2));
    expect(pauseOf(items).confirmations[0]).toMatchObject({
      tool_call_id: 'ask_2_1',
      arguments: pause.confirmations[0]?.arguments,
    });
  });

  it('takes a refusal that says nothing for no answer, and does not build', async () => {
    const { next } = await asked('a todo list with title');
    const answer = { decisions: [{ tool_call_id: 'ask_1_1', approved: false }], results: [] };
    await expect(play(adapterWith(), { ...(await next(2)), answer })).rejects.toMatchObject({ kind: 'rejected' });
  });
});

describe('stopping', () => {
  it('ends as cancelled, soon, and leaves no child behind', async () => {
    const abort = new AbortController();
    const started = Date.now();
    const run = async (): Promise<void> => {
      for await (const item of adapterWith().start(await contextOf(), abort.signal)) {
        if (item.kind === 'event' && item.type === 'step.started' && item.payload.step_name === 'test') abort.abort();
      }
    };
    await expect(run()).rejects.toMatchObject({
      name: 'AdapterError',
      kind: 'cancelled',
      details: { effects: 'none' },
    });
    expect(Date.now() - started).toBeLessThan(5000);
    const children = execFileSync('ps', ['--ppid', String(process.pid), '-o', 'args='], { encoding: 'utf8' });
    expect(children).not.toContain('server.mjs');
  });

  it('is refused before anything happens when the signal has fired already', async () => {
    const items: RunnerItem[] = [];
    const run = async (): Promise<void> => {
      for await (const item of adapterWith().start(await contextOf(), AbortSignal.abort())) items.push(item);
    };
    await expect(run()).rejects.toMatchObject({ kind: 'cancelled' });
    expect(items).toEqual([]);
  });

  it('ends as a spent budget when the time of the run is up', async () => {
    const context = await contextOf({ budgets: { wallSeconds: 0.001 } });
    await expect(play(adapterWith(), context)).rejects.toMatchObject({ name: 'BudgetError' });
  });
});

describe('the database', () => {
  it('is healthy with its tables, and unavailable without', async () => {
    await expect(adapterWith().health()).resolves.toBeUndefined();
    const empty = await createDatabase({ empty: true });
    const adapter = adapterWith({ databaseUrl: empty.url });
    await expect(adapter.health()).rejects.toMatchObject({ kind: 'unavailable' });
    await adapter.close();
    adapters.pop();
    await empty.drop();
  });

  it('is unavailable, without effects, when it cannot be reached', async () => {
    const adapter = adapterWith({ databaseUrl: 'postgresql://nobody@127.0.0.1:1/none' });
    await expect(play(adapter, await contextOf())).rejects.toMatchObject({
      kind: 'unavailable',
      details: { effects: 'none' },
    });
  });

  it('can be set up again without harm', async () => {
    await expect(setUpCheckpoints(database.url)).resolves.toBeUndefined();
  });
});

describe('a workflow of stages', () => {
  type Notes = { readonly by?: string; readonly sum?: number };
  let pool: ReturnType<typeof createCheckpointPool>;

  beforeEach(() => {
    pool = createCheckpointPool(database.url);
  });
  afterEach(() => pool.end());

  async function collect(
    threadId: string,
    stages: Stage<Notes>[],
    checkpointId?: string,
    { saw = () => undefined, answers }: { saw?: (checkpoint: string) => void; answers?: Record<string, unknown> } = {},
  ): Promise<WorkflowChunk<Notes>[]> {
    const chunks: WorkflowChunk<Notes>[] = [];
    const run = runWorkflow<Notes>({
      stages,
      pool,
      threadId,
      input: { sum: 1 },
      attempts: 3,
      mayRetry: (error) => (error as Error).message === 'again',
      signal: new AbortController().signal,
      ...(checkpointId === undefined ? {} : { checkpointId }),
      ...(answers === undefined ? {} : { answers }),
    });
    for await (const chunk of run) {
      chunks.push(chunk);
      if (chunk.kind === 'checkpoint') saw(chunk.id);
    }
    return chunks;
  }

  function stagesBy(by: string): Stage<Notes>[] {
    return [
      { name: 'one', run: ({ sum = 0 }) => Promise.resolve({ sum: sum + 1 }) },
      { name: 'two', run: ({ sum = 0 }) => Promise.resolve({ sum: sum * 10, by }) },
      { name: 'three', run: ({ sum = 0 }) => Promise.resolve({ sum: sum + 3 }) },
    ];
  }

  function checkpointsOf(chunks: readonly WorkflowChunk<Notes>[]): { id: string; state: Notes }[] {
    return chunks.filter((chunk) => chunk.kind === 'checkpoint');
  }

  it('tries a stage again and tells each try', async () => {
    const stage: Stage<Notes> = {
      name: 'one',
      run: (_, { attempt }) => (attempt < 3 ? Promise.reject(new Error('again')) : Promise.resolve({ sum: attempt })),
    };
    const chunks = await collect('retry', [stage]);
    expect(chunks.filter(({ kind }) => kind === 'started')).toMatchObject([
      { attempt: 1 },
      { attempt: 2 },
      { attempt: 3 },
    ]);
  });

  it('does not try again what it may not', async () => {
    const stage: Stage<Notes> = { name: 'one', run: () => Promise.reject(new Error('never')) };
    await expect(collect('no-retry', [stage])).rejects.toThrow('never');
  });

  it('keeps its own values though a stalled worker writes the same stage of the same checkpoint meanwhile', async () => {
    const [one, two, three] = stagesBy('the new one') as [Stage<Notes>, Stage<Notes>, Stage<Notes>];
    let named: string | undefined;
    const broken: Stage<Notes> = { name: 'two', run: () => Promise.reject(new Error('lost')) };
    const lost = collect('late', [one, broken, three], undefined, { saw: (id) => (named = id) });
    await expect(lost).rejects.toThrow('lost');
    const bell = new EventEmitter();
    const entered = once(bell, 'entered');
    const slow: Stage<Notes> = {
      name: 'two',
      run: async (state, tools) => {
        bell.emit('entered');
        await once(bell, 'overtaken');
        return two.run(state, tools);
      },
    };
    const running = collect('late', [one, slow, three], named);
    await entered;
    await collect('late', stagesBy('the late one'), named);
    bell.emit('overtaken');
    const checkpoints = checkpointsOf(await running);
    expect(checkpoints.at(-1)?.state).toEqual({ sum: 23, by: 'the new one' });
    const resumed = checkpointsOf(await collect('late', stagesBy('a third'), checkpoints.at(-1)?.id));
    expect(resumed).toMatchObject([{ state: { sum: 23, by: 'the new one' } }]);
  });

  const asking: Stage<Notes> = {
    name: 'ask',
    run: ({ by }, { ask }) => Promise.resolve(ask({ prompt: `by ${by}?` }) as Partial<Notes>),
  };

  function questionsOf(chunks: readonly WorkflowChunk<Notes>[]): readonly AskedQuestion[] {
    return chunks.flatMap((chunk) => (chunk.kind === 'asked' ? chunk.questions : []));
  }

  it('goes on from the question that was shown, whatever a stalled worker writes after it', async () => {
    const [one, two, three] = stagesBy('the new one') as [Stage<Notes>, Stage<Notes>, Stage<Notes>];
    let named: string | undefined;
    const broken: Stage<Notes> = { name: 'two', run: () => Promise.reject(new Error('lost')) };
    const lost = collect('woken', [one, broken, asking, three], undefined, { saw: (id) => (named = id) });
    await expect(lost).rejects.toThrow('lost');
    const bell = new EventEmitter();
    const entered = once(bell, 'entered');
    const stalled: Stage<Notes> = {
      name: 'two',
      run: async () => {
        bell.emit('entered');
        await once(bell, 'woken');
        return { sum: 666, by: 'the late one' };
      },
    };
    const late = collect('woken', [one, stalled, asking, three], named);
    await entered;
    const paused = await collect('woken', [one, two, asking, three], named);
    const checkpointId = checkpointsOf(paused).at(-1)!.id;
    const [question] = questionsOf(paused);
    expect(question).toMatchObject({ question: { prompt: 'by the new one?' } });
    bell.emit('woken');
    const newest = checkpointsOf(await late).at(-1)!.id;
    expect(newest > checkpointId).toBe(true);

    const resumed = await collect('woken', [one, two, asking, three], checkpointId, {
      answers: { [question!.id]: { by: 'the answer' } },
    });
    expect(checkpointsOf(resumed).at(-1)?.state).toEqual({ sum: 23, by: 'the answer' });
    expect(resumed.filter(({ kind }) => kind === 'started')).toMatchObject([{ stage: 'ask' }, { stage: 'three' }]);
  });
});
