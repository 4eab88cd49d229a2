import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  encodeFrame,
  encodeHeartbeat,
  EventBus,
  type EventBody,
  type Frame,
  type PageLimits,
  type StoredEvent,
  type Tail,
  type TaskId,
  type TaskKey,
  type TaskNews,
  UnavailableError,
  type Unsubscribe,
} from '#lib/domain';
import { draftEvent } from '#lib/execution';
import { newTaskKey } from '#lib/platform';
import { MemoryEventLog } from '../../../../test/support/memory-event-log.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { until } from '../../../../test/support/until.js';
import { StreamHub } from './stream-hub.js';
import type { FeedReader, Frames } from './task-feed.js';

type Listener = (news: TaskNews | { readonly live: Frame }) => void;

/** A bus whose every message can be held back, lost or repeated. */
class LossyBus extends EventBus {
  readonly listeners = new Map<TaskKey, Set<Listener>>();
  private readonly reconnects = new Set<() => void>();
  gate: Promise<void> = Promise.resolve();

  override async subscribe(taskKey: TaskKey, listener: Listener): Promise<Unsubscribe> {
    await this.gate;
    const all = this.listeners.get(taskKey) ?? new Set();
    this.listeners.set(taskKey, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0) this.listeners.delete(taskKey);
    };
  }

  deliver(taskKey: TaskKey, news: TaskNews | { readonly live: Frame }): void {
    for (const listener of this.listeners.get(taskKey) ?? []) listener(news);
  }

  reconnect(): void {
    for (const listener of this.reconnects) listener();
  }

  override onReconnect(listener: () => void): Unsubscribe {
    this.reconnects.add(listener);
    return () => void this.reconnects.delete(listener);
  }

  override async publish(): Promise<void> {}
  override async publishLive(): Promise<void> {}
  override async signal(): Promise<void> {}
  override async listen(): Promise<Unsubscribe> {
    return () => undefined;
  }
  override async ping(): Promise<void> {}
  override async close(): Promise<void> {}
}

class CountingLog extends MemoryEventLog {
  readonly reads: number[] = [];
  reading = 0;
  most = 0;
  readonly asked: number[] = [];
  slow = Promise.resolve();
  isDown = false;

  override async page(taskKey: TaskKey, afterSeq: number, limits: PageLimits): Promise<readonly StoredEvent[]> {
    this.reads.push(afterSeq);
    if (this.isDown) throw new UnavailableError('down');
    this.reading += 1;
    this.most = Math.max(this.most, this.reading);
    const page = await super.page(taskKey, afterSeq, limits);
    await this.slow;
    this.reading -= 1;
    return page;
  }

  override async tails(taskKeys: readonly TaskKey[]): Promise<ReadonlyMap<TaskKey, Tail>> {
    this.asked.push(taskKeys.length);
    return super.tails(taskKeys);
  }
}

/** The real ones, twenty times faster. */
const TIMES = { tickMs: 50, quietMs: 50, lingerMs: 100, subscribeMs: 50 };

const SUCCEEDED: EventBody = { type: 'task.succeeded', payload: { result: { text: 'done', metadata: {} } } };
const step = (n: number): EventBody => ({ type: 'step.started', payload: { step_id: `s${n}`, step_name: `S${n}` } });

let log: CountingLog;
let bus: LossyBus;
let hub: StreamHub;
let key: TaskKey;

beforeEach(() => {
  log = new CountingLog();
  bus = new LossyBus();
  hub = new StreamHub({ log, bus, logger: new SilentLogger() }, TIMES);
  key = newTaskKey();
  log.claimed(key);
});

afterEach(() => {
  hub.close();
  if (bus.listeners.size > 0) throw new Error('a subscription was left');
});

const seen = (lastSeq: number, isEnded = false) => ({ taskKey: key, taskId: 't' as TaskId, lastSeq, isEnded });

/** Stores events and gives the news of them. */
async function store(...bodies: EventBody[]): Promise<TaskNews> {
  const task = log.tasks.get(key)!;
  const before = task.events.length;
  const guard = { kind: 'run', runNo: 1, runPos: task.runPos } as const;
  await log.append([{ taskKey: key, guard, events: bodies.map(draftEvent) }]);
  const events = task.events.slice(before);
  return {
    taskKey: key,
    fromSeq: before + 1,
    toSeq: task.events.length,
    frames: events.map((event) => encodeFrame('t' as TaskId, event)),
  };
}

async function storeAndTell(...bodies: EventBody[]): Promise<void> {
  bus.deliver(key, await store(...bodies));
}

/** Reads to the end of the stream, and gives the seqs. */
async function drain(reader: FeedReader): Promise<number[]> {
  const seqs: number[] = [];
  for await (const frames of reader) seqs.push(...frames.map(({ seq }) => seq));
  return seqs;
}

async function take(reader: FeedReader): Promise<Frames> {
  const { value } = await reader.next();
  return value ?? [];
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('a live stream', () => {
  it('replays, goes on live, and ends right after the terminal event, without hole or repeat', async () => {
    await store(step(1), step(2));
    const reader = await hub.open(seen(2), 0);
    const seqs = drain(reader);
    for (let n = 3; n <= 20; n++) await storeAndTell(step(n));
    await storeAndTell(SUCCEEDED);
    expect(await seqs).toEqual(range(1, 21));
  });

  it('loses nothing that happens while the subscription is being made', async () => {
    await store(step(1));
    let acknowledge = (): void => undefined;
    bus.gate = new Promise((resolve) => (acknowledge = resolve));
    const opening = hub.open(seen(1), 0);
    await storeAndTell(step(2));
    acknowledge();
    const seqs = drain(await opening);
    await storeAndTell(step(3), SUCCEEDED);
    expect(await seqs).toEqual([1, 2, 3, 4]);
  });

  it('gives the first event together with the second, if that comes in time', async () => {
    hub.expect(seen(0));
    await until(() => bus.listeners.size > 0);
    const { frames } = await store(step(1));
    hub.begin(key, frames![0]!);
    const reader = await hub.open(seen(1), 0);
    const inCompany = reader.company(60_000).then(() => take(reader));
    await storeAndTell(step(2));
    expect((await inCompany).map(({ seq }) => seq)).toEqual([1, 2]);
    const other = await hub.open(seen(1), 0);
    await other.company(60_000);
    await other.return();
    await storeAndTell(SUCCEEDED);
    expect(await drain(reader)).toEqual([3]);
  });

  it('gives the first event alone where no other comes, and ends nobody by waiting', async () => {
    await store(step(1));
    const reader = await hub.open(seen(1), 0);
    await reader.company(1);
    expect((await take(reader)).map(({ seq }) => seq)).toEqual([1]);
    const leaving = await hub.open(seen(1), 0);
    const left = leaving.company(60_000);
    await leaving.return();
    await left;
    await storeAndTell(SUCCEEDED);
    expect(await drain(reader)).toEqual([2]);
  });

  it('fills in what the bus lost, repeated or brought out of order', async () => {
    const reader = await hub.open(seen(0), 0);
    const seqs = drain(reader);
    const [one, two, three, four] = [
      await store(step(1)),
      await store(step(2)),
      await store(step(3)),
      await store(step(4)),
    ];
    bus.deliver(key, one);
    await until(() => log.reads.length > 0);
    bus.deliver(key, four);
    bus.deliver(key, two);
    bus.deliver(key, four);
    bus.deliver(key, three);
    await storeAndTell(SUCCEEDED);
    expect(await seqs).toEqual([1, 2, 3, 4, 5]);
  });

  it('works from wake-ups without frames', async () => {
    const seqs = drain(await hub.open(seen(0), 0));
    for (const bodies of [[step(1), step(2)], [step(3)], [SUCCEEDED]]) {
      bus.deliver(key, { ...(await store(...bodies)), frames: undefined });
    }
    expect(await seqs).toEqual([1, 2, 3, 4]);
  });

  it('finds a terminal event whose message was lost by the second look at the log', async () => {
    const seqs = drain(await hub.open(seen(0), 0));
    await storeAndTell(step(1));
    await store(SUCCEEDED);
    const startedMs = performance.now();
    expect(await seqs).toEqual([1, 2]);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });

  it('finds what was lost the moment the bus is back', async () => {
    const reader = await hub.open(seen(0), 0);
    const seqs = drain(reader);
    await until(() => log.reads.length > 0);
    await store(step(1), SUCCEEDED);
    const before = log.asked.length;
    bus.reconnect();
    expect(await seqs).toEqual([1, 2]);
    expect(log.asked.length).toBeGreaterThan(before);
  });

  it('opens and goes on without a bus, by asking the log', async () => {
    bus.gate = new Promise(() => undefined);
    await store(step(1));
    const seqs = drain(await hub.open(seen(1), 0));
    await store(step(2), SUCCEEDED);
    expect(await seqs).toEqual([1, 2, 3]);
  });

  it('that is opened past the end waits for the end and shows nothing it was told to skip', async () => {
    await store(step(1));
    const seqs = drain(await hub.open(seen(1), 1_000));
    await storeAndTell(step(2));
    await storeAndTell(SUCCEEDED);
    expect(await seqs).toEqual([]);
  });

  it('of a finished task replays what is asked for and ends, without a subscription', async () => {
    await store(step(1), SUCCEEDED);
    expect(await drain(await hub.open(seen(2, true), 0))).toEqual([1, 2]);
    expect(await drain(await hub.open(seen(2, true), 1))).toEqual([2]);
    expect(await drain(await hub.open(seen(2, true), 2))).toEqual([]);
    expect(hub.size).toBe(0);
  });

  it('of a long log reads each page once, and the next one while this one is being written', async () => {
    await store(...range(1, 1_199).map(step), SUCCEEDED);
    const reader = await hub.open(seen(1_200, true), 0);
    expect((await take(reader)).length).toBe(500);
    expect(log.reads).toEqual([0, 500]);
    expect(await drain(reader)).toEqual(range(501, 1_200));
    expect(log.reads).toEqual([0, 500, 1_000]);
  });

  it('shows a heartbeat once, to who reads live', async () => {
    const reader = await hub.open(seen(0), 0);
    const frames = take(reader);
    await until(() => log.reads.length > 0);
    bus.deliver(key, { live: encodeHeartbeat('t' as TaskId, 0, '{}') });
    expect((await frames).map(({ seq, type }) => [seq, type])).toEqual([[0, 'heartbeat']]);
    await storeAndTell(SUCCEEDED);
    expect(await drain(reader)).toEqual([1]);
  });

  it('ends a next() that waits when its reader leaves, and the rest when the hub closes', async () => {
    const [leaver, other] = [await hub.open(seen(0), 0), await hub.open(seen(0), 0)];
    const nexts = Promise.all([leaver.next(), other.next()]);
    await leaver.return();
    hub.close();
    expect(await nexts).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });

  it('waits for a database that does not answer, and goes on where it was', async () => {
    await store(step(1), step(2));
    log.isDown = true;
    const seqs = drain(await hub.open(seen(2), 0));
    await until(() => log.reads.length > 0);
    log.isDown = false;
    await storeAndTell(SUCCEEDED);
    expect(await seqs).toEqual([1, 2, 3]);
  });

  it('of a task that is about to exist needs no read at all', async () => {
    hub.expect(seen(0));
    await until(() => bus.listeners.size === 1);
    const { frames } = await store(step(1));
    hub.begin(key, frames![0]!);
    const seqs = drain(await hub.open(seen(1), 0));
    await storeAndTell(step(2));
    await storeAndTell(SUCCEEDED);
    expect([await seqs, log.reads]).toEqual([[1, 2, 3], []]);
  });

  it('of a task that began before its subscription was in force reads the log', async () => {
    let acknowledge = (): void => undefined;
    bus.gate = new Promise((resolve) => (acknowledge = resolve));
    hub.expect(seen(0));
    const { frames } = await store(step(1));
    hub.begin(key, frames![0]!);
    await store(step(2));
    acknowledge();
    const seqs = drain(await hub.open(seen(1), 0));
    await until(() => log.reads.length > 0);
    await storeAndTell(SUCCEEDED);
    expect(await seqs).toEqual([1, 2, 3]);
  });

  it('is cut rather than shown with a hole when the log has lost events', async () => {
    const reader = await hub.open(seen(0), 0);
    bus.deliver(key, { taskKey: key, fromSeq: 1, toSeq: 3 });
    await expect(drain(reader)).rejects.toThrow('The log lacks events it had.');
  });
});

describe('many readers of one task', () => {
  it('share one subscription, one read per page, and the frames of the bus', async () => {
    await store(...range(1, 10).map(step));
    const readers = await Promise.all(range(1, 50).map(() => hub.open(seen(10), 0)));
    expect(bus.listeners.get(key)?.size).toBe(1);
    const first = await Promise.all(readers.map(take));
    expect(log.reads).toEqual([0]);
    expect(new Set(first).size).toBe(1);
    const next = readers.map(take);
    await storeAndTell(step(11));
    expect(new Set(await Promise.all(next)).size).toBe(1);
    expect(log.reads).toEqual([0]);
  });

  it('are joined later without a read when they know all there is', async () => {
    await store(step(1));
    const early = await hub.open(seen(1), 0);
    await take(early);
    const late = await hub.open(seen(1), 1);
    const frames = take(late);
    await storeAndTell(step(2));
    expect((await frames).map(({ seq }) => seq)).toEqual([2]);
    expect(log.reads).toEqual([0]);
  });

  it('go on reading pages at their own pace while the newest frames are thrown away', async () => {
    const wide = (n: number): EventBody => ({
      type: 'step.started',
      payload: { step_id: `s${n}`, step_name: 'x'.repeat(8_000) },
    });
    const slow = await hub.open(seen(0), 0);
    const quick = await hub.open(seen(0), 0);
    const quickly = drain(quick);
    await until(() => log.reads.length > 0);
    for (let n = 1; n <= 200; n++) {
      await storeAndTell(wide(n));
      await new Promise(setImmediate);
    }
    const readsSoFar = log.reads.length;
    await storeAndTell(SUCCEEDED);
    expect(await quickly).toEqual(range(1, 201));
    expect(await drain(slow)).toEqual(range(1, 201));
    expect(log.reads.length).toBeGreaterThan(readsSoFar);
  });

  it('read at most four pages at once', async () => {
    let release = (): void => undefined;
    log.slow = new Promise((resolve) => (release = resolve));
    await store(...range(1, 20).map(step));
    const readers = await Promise.all(range(0, 9).map((after) => hub.open(seen(20), after)));
    const frames = readers.map(take);
    await until(() => log.reading === 4);
    release();
    expect((await Promise.all(frames)).map((page) => page.length)).toEqual(range(11, 20).reverse());
    expect(log.most).toBe(4);
  });
});

describe('the tail check', () => {
  it('asks for all that are quiet in one query, again and again', async () => {
    await hub.open(seen(0), 0);
    const other = newTaskKey();
    log.claimed(other);
    await hub.open({ ...seen(0), taskKey: other }, 0);
    // A check may fall between the two readers; from the first that finds both, each finds both.
    await until(() => log.asked.filter((tasks) => tasks === 2).length > 1);
    const both = log.asked.slice(log.asked.indexOf(2));
    expect(both).toEqual(both.map(() => 2));
    expect(hub.size).toBe(2);
  });

  it('stops following a task some time after its last reader left', async () => {
    const reader = await hub.open(seen(0), 0);
    await reader.return();
    expect(hub.size).toBe(1);
    await until(() => hub.size === 0, { timeoutMs: 5_000 });
    expect(bus.listeners.size).toBe(0);
  });
});
