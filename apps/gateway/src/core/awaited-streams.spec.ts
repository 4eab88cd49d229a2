import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  type AskedTask,
  type AuditEntry,
  DomainError,
  type LoggedEvent,
  type SeenState,
  type TaskId,
  type TaskKey,
} from '#lib/domain';
import { MemoryEventBus } from '../../../../test/support/memory-event-bus.js';
import { until } from '../../../../test/support/until.js';
import { AwaitedStreams, type AwaitedTimes } from './awaited-streams.js';
import type { Caller } from './caller.js';
import type { LoggedEventStream } from './logged-events.js';

const NEVER: AwaitedTimes = { lookMs: 60_000, graceMs: 60_000 };
const callerOf = (principal: string, tenant = 'acme'): Caller => ({ tenant, principal, keyId: 'k', scopes: new Set() });
const ANN = callerOf('ann');

let bus: MemoryEventBus;
let asked: (readonly AskedTask[])[];
let denied: AuditEntry[];
/** Tasks there are, by whose they are. */
let tasks: Map<string, string>;
let opened: FakeStream[];
let seen: (asked: readonly AskedTask[]) => Promise<readonly (SeenState | undefined)[]>;

class FakeStream {
  isClosed = false;
  private count = 0;

  constructor(readonly task: SeenState) {}

  async next(): Promise<IteratorResult<readonly LoggedEvent[], undefined>> {
    this.count += 1;
    if (this.count > 1) return { done: true, value: undefined };
    return { done: false, value: [{ seq: 1 } as LoggedEvent] };
  }

  async return(): Promise<IteratorResult<readonly LoggedEvent[], undefined>> {
    this.isClosed = true;
    return { done: true, value: undefined };
  }
}

beforeEach(() => {
  bus = new MemoryEventBus();
  [asked, denied, opened] = [[], [], []];
  tasks = new Map();
  seen = async (all) =>
    all.map(({ scope, taskId }) =>
      tasks.get(taskId) === scope.principal
        ? { taskKey: taskId as string as TaskKey, taskId, state: 'running', lastSeq: 1 }
        : undefined,
    );
});

function streamsWith(times: AwaitedTimes): AwaitedStreams {
  return new AwaitedStreams(
    {
      bus,
      tasks: { seen: (all) => (asked.push(all), seen(all)) },
      audit: { denied: (entry) => void denied.push(entry) },
      logger: { warn: () => undefined },
    },
    {
      openEvents: async () => Promise.reject(new DomainError('not_found', 'There is no such task.')),
      openSeenEvents: async (task) => {
        const stream = new FakeStream(task);
        opened.push(stream);
        return stream as unknown as LoggedEventStream;
      },
    },
    times,
  );
}

const id = (name: string): TaskId => name as TaskId;

describe('a stream that was opened before its task', () => {
  it('begins as soon as the bus tells that the task is there', async () => {
    const streams = streamsWith(NEVER);
    const stream = await streams.open(ANN, 't', 'r');
    const first = stream.next();
    await until(() => asked.length === 1);
    tasks.set('t', 'ann');
    streams.announce(id('other'));
    streams.announce(id('t'));
    expect(await first).toEqual({ done: false, value: [{ seq: 1 }] });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(asked.map((all) => all.length)).toEqual([1, 1]);
    expect(denied).toEqual([]);
  });

  it('begins by the next look when the bus tells nothing, and one look is for all streams', async () => {
    const streams = streamsWith({ lookMs: 20, graceMs: 60_000 });
    const all = await Promise.all(['a', 'b', 'c'].map((name) => streams.open(ANN, name, 'r')));
    tasks = new Map(['a', 'b', 'c'].map((name) => [name, 'ann']));
    await Promise.all(all.map((stream) => stream.next()));
    expect(opened.map(({ task }) => task.taskId).sort()).toEqual(['a', 'b', 'c']);
    const most = Math.max(...asked.map((one) => one.length));
    expect(most).toBe(3);
    // Nobody waits any more: nothing is asked.
    const before = asked.length;
    streams.announce(id('a'));
    expect(asked).toHaveLength(before);
  });

  it('stays silent when the task is of somebody else, ends when its time is over, and leaves the record of a miss', async () => {
    const streams = streamsWith({ lookMs: 10, graceMs: 50 });
    tasks.set('t', 'bob');
    const stream = await streams.open(ANN, 't', 'r-1');
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(opened).toEqual([]);
    expect(denied).toMatchObject([
      {
        ...{
          tenant: 'acme',
          principal: 'ann',
          outcome: 'denied',
          action: 'task.events',
          target: 't',
          requestId: 'r-1',
        },
      },
    ]);
  });

  it('outlasts a database that does not answer', async () => {
    const streams = streamsWith({ lookMs: 10, graceMs: 60_000 });
    const answer = seen;
    seen = async () => Promise.reject(new Error('gone'));
    const stream = await streams.open(ANN, 't', 'r');
    await until(() => asked.length > 2);
    tasks.set('t', 'ann');
    seen = answer;
    expect((await stream.next()).done).toBe(false);
  });

  it('is over at once for a reader that leaves, and what was opened for it is closed', async () => {
    const streams = streamsWith(NEVER);
    const stream = await streams.open(ANN, 't', 'r');
    const waiting = stream.next();
    await stream.return!();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(denied).toEqual([]);

    tasks.set('u', 'ann');
    const found = await streams.open(ANN, 'u', 'r');
    await found.next();
    await found.return!();
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  it('is refused when too many of its tenant wait, and no other tenant is', async () => {
    const streams = streamsWith(NEVER);
    const held = await Promise.all(Array.from({ length: 1_000 }, (_, n) => streams.open(ANN, `t${n}`, 'r')));
    await expect(streams.open(callerOf('bob'), 't', 'r')).rejects.toMatchObject({ code: 'unavailable' });
    await streams.open(callerOf('ann', 'other'), 't', 'r');
    await held[0]!.return!();
    await expect(streams.open(callerOf('bob'), 't', 'r')).resolves.toBeDefined();
  });

  it('is not held for what can be no id of a task', async () => {
    await expect(streamsWith(NEVER).open(ANN, 'a b', 'r')).rejects.toMatchObject({ code: 'not_found' });
  });
});
