import { type CancelledRun, type HeldRun, LeaseKeeper, type Logger, type Metrics } from '#lib/domain';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { LeaseBoard } from './lease.board.js';
import type { LeaseNews, LeaseThreadData } from './lease.thread.js';

export interface LeaseOptions {
  readonly databaseUrl: string;
  readonly runtimeId: string;
  readonly leaseMs: number;
  /** Runs held at once, at most. */
  readonly capacity: number;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** How long the main loop may be blocked before the process is ended; default 5 min. */
  readonly maxBlockedMs?: number;
  /** The compiled thread; by default beside this file. */
  readonly threadFile?: URL;
}

/** What four bytes hold. */
const MAX_HEARTBEAT_MS = 2 ** 31 - 1;
/** Ticks per renewal: enough that a loop which turns is never taken for one that does not. */
const TICKS = 8;

/** Keeps leases from a worker thread with a connection of its own. */
export class ThreadLeaseKeeper extends LeaseKeeper {
  private readonly board: LeaseBoard;
  private readonly slots = new Map<string, number>();
  private readonly freeSlots: number[];
  private readonly worker: Worker;
  private readonly ticker: NodeJS.Timeout;
  /** What to add to `process.hrtime` to get this thread's `performance.now()`, in ms. */
  private readonly clockOffsetMs = performance.now() - Number(process.hrtime.bigint()) / 1e6;
  private lost: (run: HeldRun) => void = () => undefined;
  private cancelled: (run: CancelledRun) => void = () => undefined;
  private failed: (error: Error) => void = () => undefined;
  private isClosing = false;

  constructor(private readonly options: LeaseOptions) {
    super();
    this.board = LeaseBoard.create(options.capacity);
    this.freeSlots = Array.from({ length: options.capacity }, (_, slot) => slot);
    const { databaseUrl, runtimeId, leaseMs, maxBlockedMs = 300_000 } = options;
    const workerData: LeaseThreadData = {
      databaseUrl,
      runtimeId,
      leaseMs,
      maxBlockedMs,
      memory: this.board.memory,
    };
    this.worker = new Worker(options.threadFile ?? new URL('./lease.thread.js', import.meta.url), { workerData });
    this.worker.on('message', (news: LeaseNews) => this.told(news));
    this.worker.once('error', (error) => this.failed(error));
    this.worker.once('exit', (code) => {
      if (!this.isClosing) this.failed(new Error(`the lease thread ended with ${code}`));
    });
    this.ticker = setInterval(() => this.board.tick(), leaseMs / 3 / TICKS);
  }

  override hold(run: HeldRun, heartbeatMs: number): void {
    const slot = this.freeSlots.pop();
    if (slot === undefined) throw new Error('more runs than leases can be kept for');
    this.slots.set(nameOf(run), slot);
    this.board.put(slot, { ...run, heartbeatMs: Math.min(heartbeatMs, MAX_HEARTBEAT_MS) });
  }

  override release(run: HeldRun): void {
    const slot = this.slots.get(nameOf(run));
    if (slot === undefined) return;
    this.slots.delete(nameOf(run));
    this.board.free(slot);
    this.freeSlots.push(slot);
  }

  override renewedAtMs(): number {
    const { renewedAtNs } = this.board;
    return renewedAtNs === 0n ? -Infinity : Number(renewedAtNs) / 1e6 + this.clockOffsetMs;
  }

  override onLost(listener: (run: HeldRun) => void): void {
    this.lost = listener;
  }

  override onCancel(listener: (run: CancelledRun) => void): void {
    this.cancelled = listener;
  }

  override onFailure(listener: (error: Error) => void): void {
    this.failed = listener;
  }

  override async close(): Promise<void> {
    this.isClosing = true;
    clearInterval(this.ticker);
    const exited = once(this.worker, 'exit');
    this.worker.postMessage('close');
    await exited;
  }

  private told({ lost, cancelled, problem, blocked }: LeaseNews): void {
    if (blocked) this.count(blocked);
    if (problem !== undefined) this.options.logger.warn('leases were not renewed', { problem });
    for (const run of lost) if (this.slots.has(nameOf(run))) this.lost(run);
    for (const run of cancelled) this.cancelled(run);
  }

  private count({ stalled, recovered }: NonNullable<LeaseNews['blocked']>): void {
    this.options.metrics?.count('switchyard_tasks_stalled_total', { reason: 'blocked' }, stalled);
    this.options.metrics?.count('switchyard_tasks_recovered_total', {}, recovered);
  }
}

function nameOf({ taskKey, runNo }: HeldRun): string {
  return `${taskKey}/${runNo}`;
}
