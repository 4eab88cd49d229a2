import type { EventBus, EventLog, Frame, Logger, TaskKey, Unsubscribe } from '#lib/domain';
import { within } from '#lib/platform';
import { type LogOwner, LogPages } from './log-pages.js';
import { type FeedReader, TaskFeed } from './task-feed.js';

/** Tasks in one query for their logs' ends. */
const MAX_TAILS = 5_000;

/** What the hub does when, in ms. */
export interface HubTimes {
  /** How often it looks after its feeds. */
  readonly tickMs: number;
  /** A task the bus was silent about for this long is asked for: its last message may have been lost. */
  readonly quietMs: number;
  /** How long a task nobody reads is still followed: a client that reconnects finds it in force. */
  readonly lingerMs: number;
  /** How long a stream waits for its subscription; without the bus it lives on what the tail check finds. */
  readonly subscribeMs: number;
}

const TIMES: HubTimes = { tickMs: 1_000, quietMs: 1_000, lingerMs: 2_000, subscribeMs: 1_000 };

export interface HubPorts {
  readonly log: EventLog;
  readonly bus: EventBus;
  readonly logger: Logger;
}

/** A task as its reader found it before it began to read. */
export interface SeenTask extends LogOwner {
  readonly lastSeq: number;
  readonly isEnded: boolean;
}

/** A feed the hub follows on the bus. */
interface Followed {
  readonly feed: TaskFeed;
  /** Resolves when the subscription is in force, or when waiting for it makes no sense any more. */
  readonly ready: Promise<void>;
  readonly unfollow: () => void;
}

/**
 * The live streams of one gateway: one subscription per watched task, however many read it. The bus only wakes; what it
 * loses is found by one query a second over the tasks it is silent about.
 */
export class StreamHub {
  readonly pages: LogPages;
  private readonly followed = new Map<TaskKey, Followed>();
  private readonly stopListening: Unsubscribe;
  private timer: NodeJS.Timeout | undefined;
  private isChecking = false;
  private isClosed = false;

  constructor(
    private readonly ports: HubPorts,
    private readonly times: HubTimes = TIMES,
  ) {
    this.pages = new LogPages(ports.log);
    this.stopListening = ports.bus.onReconnect(() => void this.checkTails([...this.followed.values()]));
  }

  /** Tasks that are followed. */
  get size(): number {
    return this.followed.size;
  }

  /** A reader of everything after `afterSeq`; when it resolves nothing can be missed. */
  async open(task: SeenTask, afterSeq: number): Promise<FeedReader> {
    if (task.isEnded || this.isClosed) return new TaskFeed(task, this.pages, task).read(afterSeq);
    const { feed, ready } = this.followed.get(task.taskKey) ?? this.follow(task);
    feed.learn({ lastSeq: task.lastSeq, state: 'running' });
    const reader = feed.read(afterSeq);
    await ready;
    return reader;
  }

  /** Subscribes ahead of the first reader, for a task that is about to exist. */
  expect(owner: LogOwner): void {
    if (!this.isClosed && !this.followed.has(owner.taskKey)) this.follow({ ...owner, lastSeq: 0, isEnded: false });
  }

  /** The first event of an expected task: its reader need not look for it. Told before anyone can add to the task. */
  begin(taskKey: TaskKey, first: Frame): void {
    this.followed.get(taskKey)?.feed.begin(first);
  }

  /** Ends every reader. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    this.stopListening();
    for (const { feed, unfollow } of this.followed.values()) {
      feed.close();
      unfollow();
    }
    this.followed.clear();
  }

  private follow(task: SeenTask): Followed {
    const feed = new TaskFeed(task, this.pages, task);
    let isDone = false;
    let unsubscribe: Unsubscribe | undefined;
    const subscription = this.ports.bus
      .subscribe(task.taskKey, (news) => feed.hear(news))
      .then((stop) => {
        if (isDone) return stop();
        unsubscribe = stop;
        feed.subscribed();
      })
      .catch((error: unknown) => this.ports.logger.warn('a stream has no subscription', { error }));
    const unfollow = (): void => {
      isDone = true;
      unsubscribe?.();
    };
    const followed = { feed, ready: within(subscription, this.times.subscribeMs), unfollow };
    this.followed.set(task.taskKey, followed);
    this.timer ??= setInterval(() => this.tick(), this.times.tickMs).unref();
    return followed;
  }

  private tick(): void {
    const nowMs = performance.now();
    const quiet: Followed[] = [];
    for (const [taskKey, followed] of this.followed) {
      const { feed } = followed;
      const isUnwanted =
        feed.isEmpty && (feed.endSeq !== undefined || nowMs - feed.emptySinceMs >= this.times.lingerMs);
      if (isUnwanted) {
        followed.unfollow();
        this.followed.delete(taskKey);
      } else if (nowMs - feed.heardAtMs >= this.times.quietMs) {
        feed.forget();
        quiet.push(followed);
      }
    }
    if (this.followed.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    } else if (!this.isChecking) void this.checkTails(quiet);
  }

  private async checkTails(followed: readonly Followed[]): Promise<void> {
    this.isChecking = true;
    try {
      for (let start = 0; start < followed.length; start += MAX_TAILS) {
        const part = followed.slice(start, start + MAX_TAILS);
        const tails = await this.ports.log.tails(part.map(({ feed }) => feed.owner.taskKey));
        for (const { feed } of part) {
          const tail = tails.get(feed.owner.taskKey);
          if (tail) feed.learn(tail);
        }
      }
    } catch (error) {
      this.ports.logger.warn('the ends of quiet logs could not be read', { error, tasks: followed.length });
    } finally {
      this.isChecking = false;
    }
  }
}
