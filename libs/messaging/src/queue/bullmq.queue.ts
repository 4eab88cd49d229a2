import { type ConsumeOptions, type RunConsumer, type RunJob, RunQueue } from '#lib/domain';
import type { JobJson } from 'bullmq';
import { decodeRunJob, encodeRunJob, queueName, runJobId } from '../jobs.js';
import { PoolTurns } from './pool.turns.js';
import type { QueueAccess } from './queue.access.js';

/** The queue in front of the runtimes, over BullMQ with either back end. */
export class BullMqQueue extends RunQueue {
  private readonly turns = new Map<string, PoolTurns>();

  constructor(private readonly access: QueueAccess) {
    super();
  }

  /** @throws DomainError `unavailable` within about a second when the jobs may not have been added. */
  override add(jobs: readonly RunJob[]): Promise<void> {
    return this.addInTurn(jobs, (turns, job) => turns.roundOf(job));
  }

  /** @throws DomainError `unavailable` as above. */
  override restore(jobs: readonly RunJob[]): Promise<void> {
    return this.addInTurn(jobs, (turns, job) => turns.roundAgain(job));
  }

  override remove(jobs: readonly RunJob[]): Promise<void> {
    return this.access.remove(jobs.map(placeOf));
  }

  override consume({ pool, slots }: ConsumeOptions, handle: (job: RunJob) => Promise<void>): Promise<RunConsumer> {
    return this.access.consume({ queue: queueName(pool), slots }, (job) => handle(decodeRunJob(pool, job)));
  }

  override depth(pool: string): Promise<number> {
    return this.access.depth(queueName(pool));
  }

  override close(): Promise<void> {
    return this.access.close();
  }

  private async addInTurn(jobs: readonly RunJob[], roundOf: (turns: PoolTurns, job: RunJob) => number): Promise<void> {
    const nowMs = Date.now();
    const encode = (job: RunJob): JobJson => encodeRunJob(job, roundOf(this.turnsOf(job.pool), job), nowMs);
    await this.access.add(jobs.map((job) => ({ ...placeOf(job), json: encode(job) })));
    for (const { pool } of jobs) this.turnsOf(pool).keepUp();
  }

  private turnsOf(pool: string): PoolTurns {
    let turns = this.turns.get(pool);
    if (turns === undefined) this.turns.set(pool, (turns = new PoolTurns(this.access, queueName(pool))));
    return turns;
  }
}

function placeOf(job: RunJob): { readonly queue: string; readonly id: string } {
  return { queue: queueName(job.pool), id: runJobId(job) };
}
