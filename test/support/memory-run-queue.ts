import { type ConsumeOptions, type RunConsumer, type RunJob, RunQueue } from '#lib/domain';

/** A queue that only keeps what was added. */
export class MemoryRunQueue extends RunQueue {
  readonly jobs: RunJob[] = [];

  override async add(jobs: readonly RunJob[]): Promise<void> {
    this.jobs.push(...jobs);
  }

  override restore(jobs: readonly RunJob[]): Promise<void> {
    return this.add(jobs);
  }

  override async remove(jobs: readonly RunJob[]): Promise<void> {
    for (const job of jobs) {
      const place = this.jobs.findIndex((known) => known.taskKey === job.taskKey && known.runNo === job.runNo);
      if (place >= 0) this.jobs.splice(place, 1);
    }
  }

  override consume(_options: ConsumeOptions, _handle: (job: RunJob) => Promise<void>): Promise<RunConsumer> {
    return Promise.reject(new Error('nothing consumes this queue'));
  }

  override async depth(pool: string): Promise<number> {
    return this.jobs.filter((job) => job.pool === pool).length;
  }

  override async close(): Promise<void> {}
}
