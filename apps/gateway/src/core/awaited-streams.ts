import {
  type AuditTrail,
  DomainError,
  type EventBus,
  isDomainError,
  isTaskId,
  type LoggedEvent,
  type Logger,
  type SeenState,
  type TaskId,
  type TaskScope,
  type TaskStore,
  type Unsubscribe,
} from '#lib/domain';
import { auditOf, type Caller, taskScopeOf } from './caller.js';
import type { LoggedEventStream } from './logged-events.js';
import type { StreamsService } from './streams.service.js';

/** Streams that wait at once; those beyond are told to come back. */
const MAX_WAITING = 5_000;
/** Of them, those of one tenant. */
const MAX_PER_TENANT = 1_000;
/** Where gateways tell each other which ids were submitted, as a hint. */
const CHANNEL = 'awaited';

/** What happens when, in ms. */
export interface AwaitedTimes {
  /** How often the database is asked for all that is waited for. */
  readonly lookMs: number;
  /** How long a stream is held for a task that does not exist. */
  readonly graceMs: number;
}

const TIMES: AwaitedTimes = { lookMs: 1_000, graceMs: 30_000 };

export interface AwaitedPorts {
  readonly tasks: Pick<TaskStore, 'seen'>;
  readonly bus: Pick<EventBus, 'signal' | 'listen'>;
  readonly audit: Pick<AuditTrail, 'denied'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Events of a task; `return()` settles a `next()` that waits. */
export type EventBatches = AsyncIterableIterator<readonly LoggedEvent[], undefined>;

interface Waiting {
  readonly scope: TaskScope;
  readonly taskId: TaskId;
  readonly deadlineMs: number;
  readonly settle: (task: SeenState | undefined) => void;
}

/**
 * Streams opened before their tasks are submitted, perhaps to another gateway. One query a second looks for all tasks that
 * are waited for here, with the reach of whoever waits: that somebody else submits a task of this id changes nothing.
 */
export class AwaitedStreams {
  private readonly waiting = new Set<Waiting>();
  private readonly tenants = new Tally();
  private readonly ids = new Tally();
  private timer: NodeJS.Timeout | undefined;
  private listening: Promise<Unsubscribe> | undefined;
  private looking: Promise<void> | undefined;
  private isStale = false;

  constructor(
    private readonly ports: AwaitedPorts,
    private readonly streams: Pick<StreamsService, 'openEvents' | 'openSeenEvents'>,
    private readonly times: AwaitedTimes = TIMES,
  ) {}

  /**
   * The events of a task from the first one on. While there is no such task for this caller the stream is silent; it ends
   * when nobody submits one in time.
   * @throws DomainError as for a task that exists, `unavailable` where too many wait
   */
  async open(caller: Caller, taskId: string, requestId: string): Promise<EventBatches> {
    try {
      return await this.streams.openEvents(caller, taskId);
    } catch (error) {
      if (!isDomainError(error) || error.code !== 'not_found' || !isTaskId(taskId)) throw error;
      return this.hold(caller, taskId, requestId);
    }
  }

  /** A task was submitted here: a stream that waits for it anywhere need not wait for the next look. */
  announce(taskId: TaskId): void {
    this.ports.bus.signal(CHANNEL, taskId).catch(() => undefined);
  }

  private hold(caller: Caller, taskId: TaskId, requestId: string): EventBatches {
    if (this.waiting.size >= MAX_WAITING || this.tenants.of(caller.tenant) >= MAX_PER_TENANT) {
      throw new DomainError('unavailable', 'Too many streams wait for tasks that do not exist.', {
        retryAfterSeconds: 1,
      });
    }
    let settle!: Waiting['settle'];
    const found = new Promise<SeenState | undefined>((resolve) => (settle = resolve));
    const deadlineMs = performance.now() + this.times.graceMs;
    const waiting: Waiting = { scope: taskScopeOf(caller), taskId, deadlineMs, settle };
    this.add(waiting);
    void found.then(() => this.forget(waiting));
    const open = async (task: SeenState | undefined): Promise<LoggedEventStream | undefined> => {
      if (task) return this.streams.openSeenEvents(task);
      this.tellMiss(caller, taskId, requestId);
      return undefined;
    };
    return new HeldEvents(found, open, () => settle(undefined));
  }

  private add(waiting: Waiting): void {
    this.waiting.add(waiting);
    this.tenants.change(waiting.scope.tenant, 1);
    this.ids.change(waiting.taskId, 1);
    this.timer ??= setInterval(() => this.look(), this.times.lookMs).unref();
    this.listening ??= this.ports.bus.listen(CHANNEL, (taskId) => {
      if (this.ids.of(taskId) > 0) this.look();
    });
    // Without the bus the looks do alone.
    this.listening.catch(() => (this.listening = undefined));
    // It may have been submitted since it was looked for.
    this.look();
  }

  private forget(waiting: Waiting): void {
    this.waiting.delete(waiting);
    this.tenants.change(waiting.scope.tenant, -1);
    this.ids.change(waiting.taskId, -1);
    if (this.waiting.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** One look at a time; what was heard of meanwhile is looked for by the next. */
  private look(): void {
    this.isStale = true;
    this.looking ??= this.lookAgain().finally(() => (this.looking = undefined));
  }

  private async lookAgain(): Promise<void> {
    while (this.isStale) {
      this.isStale = false;
      const asked = [...this.waiting];
      if (asked.length === 0) return;
      try {
        const found = await this.ports.tasks.seen(asked);
        asked.forEach(({ settle }, index) => found[index] && settle(found[index]));
      } catch (error) {
        this.ports.logger.warn('awaited tasks could not be looked for', { error, tasks: asked.length });
      }
      const nowMs = performance.now();
      for (const { deadlineMs, settle } of asked) if (deadlineMs <= nowMs) settle(undefined);
    }
  }

  /** The same record as of any other request for what is not there, or not theirs. */
  private tellMiss(caller: Caller, taskId: TaskId, requestId: string): void {
    const details = { code: 'not_found' };
    const deed = auditOf(caller, { action: 'task.events', target: taskId, details, requestId });
    this.ports.audit.denied({ ...deed, outcome: 'denied' });
  }
}

/** The events of a task that is yet to be found. */
class HeldEvents implements EventBatches {
  private inner: Promise<LoggedEventStream | undefined> | undefined;
  private isLeft = false;

  constructor(
    private readonly found: Promise<SeenState | undefined>,
    private readonly open: (task: SeenState | undefined) => Promise<LoggedEventStream | undefined>,
    private readonly giveUp: () => void,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<readonly LoggedEvent[], undefined>> {
    const task = await this.found;
    if (this.isLeft) return { done: true, value: undefined };
    const inner = await (this.inner ??= this.open(task));
    // Left while it was being opened: nobody else closes it.
    if (this.isLeft) await inner?.return();
    return (await inner?.next()) ?? { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<readonly LoggedEvent[], undefined>> {
    this.isLeft = true;
    this.giveUp();
    await (await this.inner?.catch(() => undefined))?.return();
    return { done: true, value: undefined };
  }
}

/** How many there are of each; of most there are none. */
class Tally {
  private readonly counts = new Map<string, number>();

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  change(name: string, by: 1 | -1): void {
    const count = this.of(name) + by;
    if (count > 0) this.counts.set(name, count);
    else this.counts.delete(name);
  }
}
