import { afterEach, describe, expect, it } from '@jest/globals';
import {
  encodeFrame,
  encodeHeartbeat,
  type EventBus,
  type EventId,
  type Frame,
  type TaskId,
  type TaskKey,
  type TaskNews,
} from '#lib/domain';
import { newTaskKey } from '#lib/platform';
import { until } from './until.js';

type Message = TaskNews | { readonly live: Frame };

const TASK_ID = 'task' as TaskId;

export function createNews(taskKey: TaskKey, fromSeq: number, toSeq = fromSeq): TaskNews {
  const seqs = Array.from({ length: toSeq - fromSeq + 1 }, (_, index) => fromSeq + index);
  const frames = seqs.map((seq) =>
    encodeFrame(TASK_ID, {
      seq,
      eventId: `evt_${seq}` as EventId,
      type: 'message.delta',
      atMs: 1_700_000_000_000,
      payload: `{"text":"é\\n\\n${seq}"}`,
    }),
  );
  return { taskKey, fromSeq, toSeq, frames };
}

export interface OpenBus {
  readonly bus: EventBus;
  close(): Promise<void>;
}

/** What every bus does; `open` gives another one over the same service each time. */
export function describeEventBus(open: () => Promise<OpenBus>, options: { readonly frames: boolean }): void {
  describe('as an event bus', () => {
    const opened: OpenBus[] = [];
    const create = async (): Promise<EventBus> => {
      const one = await open();
      opened.push(one);
      return one.bus;
    };
    const collect = async (bus: EventBus, taskKey: TaskKey): Promise<Message[]> => {
      const messages: Message[] = [];
      await bus.subscribe(taskKey, (message) => void messages.push(message));
      return messages;
    };
    const arrived = (news: TaskNews): TaskNews => {
      const { frames, ...rest } = news;
      return options.frames ? { ...rest, frames } : rest;
    };
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((one) => one.close()));
    });

    it('brings what is published after the subscription, in order, to every subscriber and no other', async () => {
      const [publisher, one, two] = [await create(), await create(), await create()];
      const [task, other] = [newTaskKey(), newTaskKey()];
      const all = [await collect(one, task), await collect(one, task), await collect(two, task)];
      const others = await collect(two, other);
      const news = Array.from({ length: 50 }, (_, index) => createNews(task, index * 3 + 1, index * 3 + 3));
      for (const item of news) await publisher.publish([item]);
      await until(() => all.every((messages) => messages.length === news.length));
      for (const messages of all) expect(messages).toEqual(news.map(arrived));
      expect(others).toEqual([]);
    });

    it('brings news published at once for many tasks', async () => {
      const bus = await create();
      const news = Array.from({ length: 400 }, () => createNews(newTaskKey(), 1_000_000, 1_000_001));
      const all = await Promise.all(news.map(({ taskKey }) => collect(bus, taskKey)));
      await bus.publish(news);
      await until(() => all.every((messages) => messages.length === 1));
      expect(all.flat()).toEqual(news.map(arrived));
    });

    it('brings news without frames when they are large', async () => {
      const bus = await create();
      const task = newTaskKey();
      const messages = await collect(bus, task);
      const news = createNews(task, 1, 40);
      const frames = news.frames?.map((frame) => ({ ...frame, text: `${'x'.repeat(15_000)}\n\n` }));
      await bus.publish([{ ...news, frames: frames ?? [] }]);
      await until(() => messages.length === 1);
      expect(messages).toEqual([{ taskKey: task, fromSeq: 1, toSeq: 40 }]);
    });

    it('brings a heartbeat as it is', async () => {
      const [publisher, bus] = [await create(), await create()];
      const task = newTaskKey();
      const messages = await collect(bus, task);
      const frame = encodeHeartbeat(TASK_ID, 1_700_000_000_000, '{"waiting_on":"tool é"}');
      await publisher.publishLive(task, frame);
      await until(() => messages.length === 1);
      expect(messages).toEqual([{ live: frame }]);
    });

    it('brings signals to those who listen on the channel', async () => {
      const [publisher, bus] = [await create(), await create()];
      const [heard, missed]: [string[], string[]] = [[], []];
      await bus.listen('runtime:a', (message) => void heard.push(message));
      await bus.listen('runtime:b', (message) => void missed.push(message));
      await publisher.signal('runtime:a', 'cancel 1\n2');
      await publisher.signal('runtime:a', 'é'.repeat(500));
      await until(() => heard.length === 2);
      expect([heard, missed]).toEqual([['cancel 1\n2', 'é'.repeat(500)], []]);
    });

    it('says nothing more after an unsubscribe, and again at once after another subscribe', async () => {
      const bus = await create();
      const task = newTaskKey();
      const [first, second]: [Message[], Message[]] = [[], []];
      const unsubscribe = await bus.subscribe(task, (message) => void first.push(message));
      unsubscribe();
      unsubscribe();
      await bus.subscribe(task, (message) => void second.push(message));
      await bus.publish([createNews(task, 1)]);
      await until(() => second.length === 1);
      expect(first).toEqual([]);
    });

    it('keeps one subscriber when another of the same task leaves or throws', async () => {
      const bus = await create();
      const task = newTaskKey();
      await bus.subscribe(task, () => {
        throw new Error('on purpose');
      });
      const leave = await bus.subscribe(task, () => undefined);
      const messages = await collect(bus, task);
      leave();
      await bus.publish([createNews(task, 1)]);
      await until(() => messages.length === 1);
      expect(messages).toHaveLength(1);
    });

    it('carries a thousand subscriptions', async () => {
      const [publisher, bus] = [await create(), await create()];
      const tasks = Array.from({ length: 1_000 }, () => newTaskKey());
      let count = 0;
      const leave = await Promise.all(tasks.map((task) => bus.subscribe(task, () => (count += 1))));
      await publisher.publish(tasks.map((task) => createNews(task, 1)));
      await until(() => count === 1_000);
      for (const unsubscribe of leave) unsubscribe();
      expect(count).toBe(1_000);
    });

    it('answers a ping until it is closed, and then refuses to publish', async () => {
      const bus = await create();
      await expect(bus.ping()).resolves.toBeUndefined();
      await bus.close();
      await expect(bus.publish([createNews(newTaskKey(), 1)])).rejects.toThrow('The bus is closed.');
    });
  });
}
