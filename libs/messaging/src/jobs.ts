import type { LaneJob, RunJob, TaskKey } from '#lib/domain';
import type { JobJson } from 'bullmq';
import { z } from 'zod';

/** Every job there is, with the schema of its payload. Payloads carry ids, nothing a row does not know better. */
export const JOBS = {
  // Jobs that were added by earlier versions name no tenant.
  run: z.object({ taskKey: z.uuid(), runNo: z.int().min(1), tenant: z.string().default('') }),
  deliver: z.object({
    lane: z.string().regex(/^(?:wh|cb|pc)_[0-9a-f]{32}$/),
    slot: z.int().min(0),
    tenant: z.string(),
  }),
} as const;

/** The queue of deliveries. Those of pools are called `swy-<pool>`. */
export const DELIVERIES = 'swy.deliveries';

/** BullMQ runs low numbers first and takes 0 for "no priority", which would overtake them all. */
const LOWEST_PRIORITY = 10;
/** Each round has a number for every priority, from 1 to 10. */
const NUMBERS_OF_ROUND = 10;

export function queueName(pool: string): string {
  return `swy-${pool}`;
}

/** One per run: adding a run twice is adding it once. */
export function runJobId(job: Pick<RunJob, 'taskKey' | 'runNo'>): string {
  return `${job.taskKey}-${job.runNo}`;
}

/** A run as BullMQ stores it, to be started in this round. */
export function encodeRunJob(job: RunJob, round: number, nowMs: number): JobJson {
  const delay = job.delayMs > 0 ? { delay: Math.ceil(job.delayMs) } : undefined;
  const { taskKey, runNo, tenant } = job;
  const options = { priority: round * NUMBERS_OF_ROUND + LOWEST_PRIORITY - job.priority, ...delay };
  return encodeJob({ id: runJobId(job), name: 'run', payload: { taskKey, runNo, tenant } }, options, nowMs);
}

/** The round that a number BullMQ orders jobs by belongs to. */
export function roundOf(number: number): number {
  return Math.floor((number - 1) / NUMBERS_OF_ROUND);
}

/** One per lane and slot: a lane that is being worked off takes no more of them. */
export function laneJobId({ lane, slot }: Pick<LaneJob, 'lane' | 'slot'>): string {
  return `${lane}-${slot}`;
}

/** A wish to work off a lane as BullMQ stores it. */
export function encodeLaneJob(job: LaneJob, nowMs: number): JobJson {
  const { lane, slot, tenant } = job;
  return encodeJob({ id: laneJobId(job), name: 'deliver', payload: { lane, slot, tenant } }, {}, nowMs);
}

/** @throws ZodError when the payload is not one of ours. */
export function decodeLaneJob({ data }: Pick<FetchedJob, 'data'>): LaneJob {
  return JOBS.deliver.parse(data);
}

interface NamedJob {
  readonly id: string;
  readonly name: keyof typeof JOBS;
  readonly payload: unknown;
}

/** A finished job leaves at once: one that is kept would swallow a later add of the same id without a word. */
function encodeJob({ id, name, payload }: NamedJob, options: JobJson['opts'], nowMs: number): JobJson {
  const opts = { ...options, attempts: 1, removeOnComplete: true, removeOnFail: true };
  return { id, name, data: JSON.stringify(payload), opts, timestamp: nowMs, ...UNSTARTED };
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
  const { taskKey, runNo, tenant } = JOBS.run.parse(data);
  const number = opts.priority ?? LOWEST_PRIORITY;
  return {
    taskKey: taskKey as TaskKey,
    runNo,
    tenant,
    pool,
    priority: LOWEST_PRIORITY - (number - roundOf(number) * NUMBERS_OF_ROUND),
    delayMs: opts.delay ?? 0,
  };
}
