import {
  type Claim,
  encodeFrame,
  type EventBus,
  type Logger,
  type Metrics,
  type RunJob,
  type RunStore,
} from '#lib/domain';
import { Batcher, newEventId } from '#lib/platform';

/** Jobs in one claim statement, at most: more saves little, and moves all runs in step. */
const MAX_JOBS = 32;

export interface ClaimerPorts {
  readonly runs: RunStore;
  readonly bus: EventBus;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

export interface RuntimeIdentity {
  readonly id: string;
  readonly leaseMs: number;
}

/** A run that was won, and when, by `performance.now()`, its lease had been asked for. */
export interface ClaimedRun {
  readonly claim: Claim;
  readonly claimedAtMs: number;
}

/** Claims runs: jobs that arrive together share one statement. */
export class RunClaimer {
  private readonly batcher = new Batcher((jobs: readonly RunJob[]) => this.claimAll(jobs), MAX_JOBS);

  constructor(
    private readonly ports: ClaimerPorts,
    private readonly runtime: RuntimeIdentity,
  ) {}

  /** Undefined when the run is not to be had: another has it, it is over, or the task ended. */
  claim(job: RunJob): Promise<ClaimedRun | undefined> {
    return this.batcher.add(job);
  }

  private async claimAll(jobs: readonly RunJob[]): Promise<readonly (ClaimedRun | undefined)[]> {
    const claimedAtMs = performance.now();
    // The same job twice in one statement would lock and move its head twice.
    const distinct = [...new Map(jobs.map((job) => [job.taskKey, job])).values()];
    const claims = await this.ports.runs.claim(
      distinct.map((job) => ({ job, eventId: newEventId() })),
      this.runtime,
    );
    this.publish(claims);
    for (const { runner, reason } of claims) {
      this.ports.metrics?.count('switchyard_runs_claimed_total', { runner, reason });
    }
    const left = new Map(claims.map((claim) => [claim.taskKey, { claim, claimedAtMs }]));
    return jobs.map(({ taskKey, runNo }) => {
      const claimed = left.get(taskKey);
      if (claimed?.claim.runNo !== runNo) return undefined;
      left.delete(taskKey);
      return claimed;
    });
  }

  private publish(claims: readonly Claim[]): void {
    if (claims.length === 0) return;
    const news = claims.map(({ taskKey, taskId, event }) => ({
      taskKey,
      fromSeq: event.seq,
      toSeq: event.seq,
      frames: [encodeFrame(taskId, event)],
    }));
    this.ports.bus
      .publish(news)
      .catch((error: unknown) => this.ports.logger.warn('a claim was not published', { error }));
  }
}
