import type { RunJob, TaskKey } from '#lib/domain';
import type { JobJson } from 'bullmq';
import { z } from 'zod';

/** Every job there is, with the schema of its payload. Payloads carry ids, nothing a row does not know better. */
export const JOBS = {
  run: z.object({ taskKey: z.uuid(), runNo: z.int().min(1) }),
} as const;

/** BullMQ runs low numbers first and takes 0 for "no priority", which would overtake them all. */
const LOWEST_PRIORITY = 10;

export function queueName(pool: string): string {
  return `swy-${pool}`;
}

/** One per run: adding a run twice is adding it once. */
export function runJobId(job: Pick<RunJob, 'taskKey' | 'runNo'>): string {
  return `${job.taskKey}-${job.runNo}`;
}

/**
 * A run as BullMQ stores it. A finished job leaves at once: one that is kept would swallow a later add of the same id
 * without a word.
 */
export function encodeRunJob(job: RunJob, nowMs: number): JobJson {
  const delay = job.delayMs > 0 ? { delay: Math.ceil(job.delayMs) } : undefined;
  return {
    id: runJobId(job),
    name: 'run',
    data: JSON.stringify({ taskKey: job.taskKey, runNo: job.runNo }),
    opts: {
      priority: LOWEST_PRIORITY - job.priority,
      attempts: 1,
      removeOnComplete: true,
      removeOnFail: true,
      ...delay,
    },
    timestamp: nowMs,
    ...UNSTARTED,
  };
}

const UNSTARTED = {
  progress: 0,
  attemptsMade: 0,
  attemptsStarted: 0,
  failedReason: '',
  returnvalue: '',
  stalledCounter: 0,
} as const;

interface FetchedJob {
  readonly name: string;
  readonly data: unknown;
  readonly opts: { readonly priority?: number; readonly delay?: number };
}

/** @throws ZodError when the payload is not one of ours. */
export function decodeRunJob(pool: string, { data, opts }: FetchedJob): RunJob {
  const { taskKey, runNo } = JOBS.run.parse(data);
  return {
    taskKey: taskKey as TaskKey,
    runNo,
    pool,
    priority: LOWEST_PRIORITY - (opts.priority ?? LOWEST_PRIORITY),
    delayMs: opts.delay ?? 0,
  };
}
