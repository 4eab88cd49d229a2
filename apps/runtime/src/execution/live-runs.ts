import {
  decodeRunSignal,
  DEFAULT_POLICY,
  encodeHeartbeat,
  type EventBus,
  type HeldRun,
  type LeaseKeeper,
  type Logger,
  runtimeChannel,
  type Unsubscribe,
} from '#lib/domain';
import type { ClaimedRun } from '#lib/execution';
import { LiveRun, type StopReason } from './live-run.js';
import type { StallWatch } from './stall.watch.js';

/** How often deadlines, leases and graces are looked at: one timer for all runs. */
const TICK_MS = 250;

export interface LiveRunsPorts {
  readonly leases: LeaseKeeper;
  readonly bus: EventBus;
  readonly stalls: StallWatch;
  readonly logger: Logger;
}

export interface LiveRunsOptions {
  readonly runtimeId: string;
  readonly leaseMs: number;
}

/** The runs of this process, and everything that may end them from outside. */
export class LiveRuns {
  private readonly runs = new Map<string, LiveRun>();
  private stopping: { readonly reason: StopReason; readonly graceMs: number } | undefined;
  private timer: NodeJS.Timeout | undefined;
  private unsubscribe: Unsubscribe = () => undefined;

  constructor(
    private readonly ports: LiveRunsPorts,
    private readonly options: LiveRunsOptions,
  ) {}

  get size(): number {
    return this.runs.size;
  }

  async start(): Promise<void> {
    const { bus, leases } = this.ports;
    leases.onLost((held) => this.find(held)?.stop('lost', 0));
    leases.onCancel((held) => {
      const run = this.find(held);
      if (run) this.cancel(run, held.elapsedMs);
    });
    this.timer = setInterval(() => this.tick(performance.now()), TICK_MS);
    this.unsubscribe = await bus.listen(runtimeChannel(this.options.runtimeId), (message) => this.signalled(message));
  }

  stop(): void {
    clearInterval(this.timer);
    this.unsubscribe();
  }

  open(claimed: ClaimedRun): LiveRun {
    const { taskKey } = claimed.claim;
    // A later run of the task means that the earlier one is lost, whether it knows or not.
    this.runs.get(taskKey)?.stop('lost', 0);
    this.ports.leases.hold(claimed.claim, heartbeatMsOf(claimed));
    // After the hold: only a renewal asked for later is sure to have been for this run too.
    const run = new LiveRun(claimed, performance.now());
    this.runs.set(taskKey, run);
    if (this.stopping) run.stop(this.stopping.reason, this.stopping.graceMs);
    return run;
  }

  close(run: LiveRun): void {
    const { claim } = run.claimed;
    this.ports.leases.release(claim);
    if (this.runs.get(claim.taskKey) === run) this.runs.delete(claim.taskKey);
  }

  /** Stops every run, and each that is opened from now on. */
  stopAll(reason: StopReason, graceMs: number): void {
    this.stopping = { reason, graceMs };
    for (const run of this.runs.values()) run.stop(reason, graceMs);
  }

  /** The grace runs in the database's time, from when the cancel was asked. */
  cancel(run: LiveRun, elapsedMs: number): void {
    run.stop('cancel', Math.max(0, run.claimed.claim.policy.graceSeconds * 1_000 - elapsedMs));
  }

  /** False when the lease may have run out, or will before a side effect has gone out: nothing may be done any more. */
  isSafe(run: LiveRun, nowMs = performance.now()): boolean {
    const { leaseMs } = this.options;
    const renewedAtMs = this.ports.leases.renewedAtMs();
    const sinceMs = renewedAtMs >= run.heldFromMs ? renewedAtMs : run.claimed.claimedAtMs;
    return run.reason === undefined && nowMs < sinceMs + leaseMs * 0.9;
  }

  private find({ taskKey, runNo }: HeldRun): LiveRun | undefined {
    const run = this.runs.get(taskKey);
    return run?.claimed.claim.runNo === runNo ? run : undefined;
  }

  private signalled(message: string): void {
    const signal = decodeRunSignal(message);
    const run = signal && this.find(signal);
    if (!run) return;
    if (signal.kind === 'cancel') this.cancel(run, 0);
    else run.stop('lost', 0);
  }

  private tick(nowMs: number): void {
    const wallMs = Date.now();
    for (const run of this.runs.values()) {
      const { claim } = run.claimed;
      run.giveUpIfDue(nowMs);
      if (run.reason !== undefined) continue;
      if (!this.isSafe(run, nowMs)) this.lose(run);
      else if (wallMs >= claim.deadlineAtMs) run.stop('deadline', 0);
      else if (nowMs - run.heldFromMs >= (claim.policy.budgets.wallSeconds ?? Infinity) * 1_000) this.exhaust(run);
      else if (nowMs - run.progressAtMs >= claim.policy.stallSeconds * 1_000) this.ports.stalls.silent(run);
      if (nowMs - run.heartbeatAtMs >= heartbeatMsOf(run.claimed)) this.beat(run, nowMs);
    }
  }

  private exhaust(run: LiveRun): void {
    run.stop('budget', run.claimed.claim.policy.graceSeconds * 1_000);
  }

  private lose(run: LiveRun): void {
    const { taskKey, taskId, runNo } = run.claimed.claim;
    this.ports.logger.warn('a lease could not be renewed in time: its run is given up', { taskKey, taskId, runNo });
    run.stop('lost', 0);
  }

  private beat(run: LiveRun, nowMs: number): void {
    run.heartbeatAtMs = nowMs;
    const { taskKey, taskId, runNo } = run.claimed.claim;
    const payload = JSON.stringify({ run_no: runNo, waiting_on: run.calls.latest });
    this.ports.bus
      .publishLive(taskKey, encodeHeartbeat(taskId, Date.now(), payload))
      .catch((error: unknown) => this.ports.logger.debug('a heartbeat was not sent', { taskId, error }));
  }
}

function heartbeatMsOf({ claim: { policy } }: ClaimedRun): number {
  return (policy.heartbeatSeconds ?? DEFAULT_POLICY.heartbeatSeconds) * 1_000;
}
