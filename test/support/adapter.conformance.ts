import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type AdapterErrorKind,
  isAdapterError,
  type RunContext,
  type RunnerAnswer,
  type RunnerAdapter,
  type RunnerDescriptor,
  type RunnerItem,
} from '#lib/adapters/contract';
import { checkRunnerEvent } from '#lib/execution';
import { newTaskKey } from '#lib/platform';
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RunSteps } from '../../libs/execution/src/run-steps.js';
import { until } from './until.js';

type Given = Partial<RunContext>;
type Asked = Extract<RunnerItem, { kind: 'pause' }>['confirmations'];

/** A runner with what it needs to show that it keeps the contract. */
export interface Subject {
  readonly adapter: RunnerAdapter;
  /** A task that ends with a result which depends on `word`. */
  readonly works: (word: string) => Given;
  /** A task that goes on until it is aborted, and emits at least one item before. */
  readonly lasts: Given;
  /** A task that stores a checkpoint and then ends with a result; for runners that can resume. */
  readonly checkpoints?: Given;
  /** A task that waits for an answer, and one to what it asks; for runners that can pause. */
  readonly pauses?: { readonly given: Given; readonly answer: (asked: Asked) => RunnerAnswer };
  /** Tasks that between them emit every event its capabilities name; each is a fresh one, and may fail. */
  readonly tells?: readonly Given[];
  /** Tasks whose upstream drops, talks garbage or refuses; each is a fresh one. */
  readonly faults?: Readonly<Record<string, { readonly given: Given; readonly kind: AdapterErrorKind }>>;
  /** A task that would emit far more than a slow reader takes. */
  readonly chatty?: Given;
  /** Connections to the upstream that are still held. */
  readonly openConnections?: () => number;
  readonly close: () => Promise<void>;
}

/** How long an aborted run may take to end. */
const ABORT_MS = 2_000;
const SLOW_READER_MIB = 24;

interface Played {
  readonly items: RunnerItem[];
  readonly failure?: unknown;
}

/** What every adapter is held to, whatever framework is behind it. `setUp` makes a fresh one for each test. */
export function describeConformance(descriptor: RunnerDescriptor, setUp: () => Promise<Subject>): void {
  describe(`${descriptor.kind} keeps the contract of runners`, () => {
    let subject: Subject;
    let root: string;
    const contextOf = (given: Given): RunContext => createContext(root, given);
    const play = (given: Given, signal?: AbortSignal): Promise<Played> => collect(subject, contextOf(given), signal);

    beforeEach(async () => {
      root = await mkdtemp(path.join(tmpdir(), 'conformance-'));
      subject = await setUp();
    });

    afterEach(async () => {
      await subject.adapter.close();
      await subject.close();
      await rm(root, { recursive: true, force: true });
    });

    it('is healthy, and ends a run with exactly one end and silence after it', async () => {
      await subject.adapter.health();
      const { items, failure } = await play(subject.works('alpha'));
      expect(failure).toBeUndefined();
      expect(items.filter(isEnd)).toHaveLength(1);
      expect(isEnd(items.at(-1)!)).toBe(true);
    });

    it('emits only events of the protocol that its capabilities name, in an order that steps allow', async () => {
      const { items } = await play({ ...subject.works('alpha'), detail: 'verbose' });
      const steps = new RunSteps([]);
      for (const item of items) {
        if (item.kind !== 'event') continue;
        steps.apply(checkRunnerEvent(item));
        expect(descriptor.capabilities.events).toContain(item.type);
      }
      expect(steps.open()).toBeUndefined();
      expect(items.some((item) => item.kind === 'pause') && !descriptor.capabilities.pause).toBe(false);
    });

    it('emits each event its capabilities name when there is reason to', async () => {
      const told = new Set<string>();
      for (const given of subject.tells ?? []) {
        const { items } = await play({ ...given, detail: 'verbose' });
        for (const item of items) if (item.kind === 'event') told.add(item.type);
      }
      const promised = subject.tells ? descriptor.capabilities.events : [];
      expect([...told].sort()).toEqual([...promised].sort());
    });

    it('never mixes two runs', async () => {
      const alone = await play(subject.works('alpha'));
      const [first, second] = await Promise.all([play(subject.works('alpha')), play(subject.works('omega'))]);
      expect(answerOf(first)).toEqual(answerOf(alone));
      expect(answerOf(second)).not.toEqual(answerOf(alone));
    });

    it('ends an aborted run in bounded time, as cancelled, and holds no connection after it', async () => {
      const abort = new AbortController();
      const stream = subject.adapter.start(contextOf(subject.lasts), abort.signal)[Symbol.asyncIterator]();
      await stream.next();
      const ended = drain(stream);
      const startedMs = performance.now();
      abort.abort();
      const failure = await ended;
      expect(performance.now() - startedMs).toBeLessThan(ABORT_MS);
      expect(isAdapterError(failure) ? failure.kind : failure).toBe('cancelled');
      await until(() => (subject.openConnections?.() ?? 0) === 0);
    });

    it('ends a run at once that was aborted before it started', async () => {
      const { items, failure } = await play(subject.lasts, AbortSignal.abort());
      expect(items.filter(isEnd)).toEqual([]);
      expect(failure).toMatchObject({ name: 'AdapterError', kind: 'cancelled' });
    });

    it('maps what its upstream does wrong to the right error', async () => {
      for (const { given, kind } of Object.values(subject.faults ?? {})) {
        const { items, failure } = await play(given);
        expect(failure).toMatchObject({ name: 'AdapterError', kind });
        expect(items.filter(isEnd)).toEqual([]);
      }
    });

    it('costs no memory when its reader is slow', async () => {
      const stream = subject.adapter.start(contextOf(subject.chatty ?? subject.works('alpha')), new AbortController().signal)[Symbol.asyncIterator](); // prettier-ignore
      await stream.next();
      const before = process.memoryUsage().heapUsed;
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(SLOW_READER_MIB);
      await stream.return?.();
    });

    it(`${descriptor.capabilities.resume ? 'goes on from its checkpoint in another run' : 'says that it cannot resume'}`, async () => {
      expect(subject.checkpoints !== undefined).toBe(descriptor.capabilities.resume);
      if (!subject.checkpoints) return;
      const context = contextOf(subject.checkpoints);
      const whole = await collect(subject, context);
      const checkpoint = stored(whole.items.find((item) => item.kind === 'checkpoint'));
      const again = await collect(subject, { ...context, runNo: 2, checkpoint });
      expect(again.failure).toBeUndefined();
      expect(isEnd(again.items.at(-1)!)).toBe(true);
    });

    it(`${descriptor.capabilities.pause ? 'stops after a checkpoint, and goes on from the answer elsewhere without doing anything twice' : 'says that it never pauses'}`, async () => {
      expect(subject.pauses !== undefined).toBe(descriptor.capabilities.pause);
      if (!subject.pauses) return;
      const { given, answer } = subject.pauses;
      const calls: string[] = [];
      const context = contextOf({ ...given, ...(given.tools ? { tools: counted(given.tools, calls) } : {}) });
      const before = await collect(subject, context);
      expect(before.failure).toBeUndefined();
      expect(before.items.filter(isEnd)).toHaveLength(1);
      const pause = before.items.at(-1)!;
      if (pause.kind !== 'pause') throw new Error(`the run ended with ${JSON.stringify(pause)}`);
      const checkpoint = stored(before.items.findLast((item) => item.kind === 'checkpoint'));
      const elsewhere = await setUp();
      try {
        const resumed = { ...context, runNo: 2, checkpoint, answer: answer(pause.confirmations) };
        const after = await collect(elsewhere, resumed);
        expect(after.failure).toBeUndefined();
        expect(after.items.at(-1)?.kind).toBe('result');
        expect(openSteps([...before.items, ...after.items])).toBeUndefined();
        expect(new Set(calls).size).toBe(calls.length);
        // The platform keeps an answer only until the next checkpoint.
        const first = stored(after.items.find((item) => item.kind === 'checkpoint'));
        const last = await collect(elsewhere, { ...resumed, runNo: 3, checkpoint: first, answer: undefined });
        expect(last.failure).toBeUndefined();
        expect(last.items.at(-1)?.kind).toBe('result');
      } finally {
        await elsewhere.adapter.close();
        await elsewhere.close();
      }
    });
  });
}

/** What a later run is given of a checkpoint. */
function stored(item: RunnerItem | undefined): unknown {
  if (item?.kind !== 'checkpoint') throw new Error('there is no checkpoint');
  return JSON.parse(JSON.stringify(item.data)) as unknown;
}

/** Tools that note each call by name and arguments. */
function counted(tools: RunContext['tools'], calls: string[]): RunContext['tools'] {
  return {
    ...tools,
    call: (name, args, id) => {
      calls.push(JSON.stringify([name, args]));
      return tools.call(name, args, id);
    },
  };
}

/** Steps of all these items in one log; throws when one may not follow another. */
function openSteps(items: readonly RunnerItem[]): string | undefined {
  const steps = new RunSteps([]);
  for (const item of items) if (item.kind === 'event') steps.apply(checkRunnerEvent(item));
  return steps.open();
}

function createContext(root: string, given: Given): RunContext {
  const taskKey = newTaskKey();
  const workspace = path.join(root, taskKey);
  mkdirSync(workspace);
  return {
    taskKey,
    taskId: `task-${taskKey}`,
    runNo: 1,
    tenant: 'acme',
    agentId: 'agent',
    input: 'hello',
    context: {},
    attributes: {},
    options: {},
    detail: 'status',
    tools: { list: [], call: (name) => Promise.reject(new Error(`there is no tool ${name}`)) },
    taskToken: () => Promise.reject(new Error('there are no tokens')),
    files: [],
    clientTools: [],
    workspace,
    budgets: {},
    ...given,
  };
}

async function collect(subject: Subject, context: RunContext, signal = new AbortController().signal): Promise<Played> {
  const items: RunnerItem[] = [];
  try {
    for await (const item of subject.adapter.start(context, signal)) items.push(item);
    return { items };
  } catch (failure) {
    return { items, failure };
  }
}

/** Resolves with what the stream threw. */
async function drain(stream: AsyncIterator<RunnerItem>): Promise<unknown> {
  try {
    while (!(await stream.next()).done);
    return 'ended without an error';
  } catch (failure) {
    return failure;
  }
}

function isEnd({ kind }: RunnerItem): boolean {
  return kind === 'result' || kind === 'pause';
}

function answerOf({ items, failure }: Played): unknown {
  if (failure) throw failure as Error;
  const end = items.at(-1);
  return end?.kind === 'result' ? end.result.text : undefined;
}
