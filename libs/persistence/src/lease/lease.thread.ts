import type { CancelledRun, EventBody, HeldRun, TaskKey } from '#lib/domain';
import { newEventId } from '#lib/platform';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Database } from '../database.js';
import { PgEventLog } from '../stores/pg-event-log.js';
import { type BoardedRun, LeaseBoard } from './lease.board.js';
import { BEAT, RENEW } from './lease.statements.js';

/** What the main loop starts this thread with. */
export interface LeaseThreadData {
  readonly databaseUrl: string;
  readonly runtimeId: string;
  readonly leaseMs: number;
  readonly maxBlockedMs: number;
  readonly memory: SharedArrayBuffer;
}

/** What this thread tells the main loop. */
export interface LeaseNews {
  readonly lost: readonly HeldRun[];
  readonly cancelled: readonly CancelledRun[];
  /** Why a renewal did not work; the next one follows soon. */
  readonly problem?: string;
  /** Runs that were just shown as stalled, or as recovered, because the main loop is blocked or turns again. */
  readonly blocked?: { readonly stalled: number; readonly recovered: number };
}

interface RenewedRow {
  readonly task_key: TaskKey;
  readonly run_no: number;
  readonly cancelled_ms: number | null;
}

const port = parentPort!;
const data = workerData as LeaseThreadData;
const board = new LeaseBoard(data.memory);
const intervalMs = data.leaseMs / 3;
const database = new Database({
  databaseUrl: data.databaseUrl,
  max: 1,
  name: `lease ${data.runtimeId}`,
  // A renewal that takes longer is late; another connection may still be in time.
  statementMs: intervalMs,
});
const log = new PgEventLog(database, database);
const closing = new AbortController();
/** When each held run was last shown to live, or first seen, by its task. */
let beatenAtMs = new Map<TaskKey, number>();
let seen = { ticks: board.ticks(), atMs: performance.now() };
let isStallSaid = false;
let stalledRuns: readonly HeldRun[] = [];

port.once('message', () => closing.abort());
// Beside the renewals: a database that does not answer must not hold it up.
const hangWatch = setInterval(endIfHung, intervalMs / 2);
await renewals();
clearInterval(hangWatch);
await database.close();
port.close();

async function renewals(): Promise<void> {
  while (!closing.signal.aborted) {
    let problem: string | undefined;
    try {
      await watch();
      await renew();
    } catch (error) {
      problem = String(error);
      port.postMessage({ lost: [], cancelled: [], problem } satisfies LeaseNews);
    }
    await delay(problem === undefined ? intervalMs : intervalMs / 5, undefined, { signal: closing.signal }).catch(
      () => undefined,
    );
  }
}

async function renew(): Promise<void> {
  // Taken first: a run that is put on the board after this is not counted as renewed.
  const askedAtNs = process.hrtime.bigint();
  const runs = board.runs();
  if (runs.length > 0) {
    const rows = await database.query<RenewedRow>(RENEW, [
      runs.map(({ taskKey }) => taskKey),
      runs.map(({ runNo }) => runNo),
      data.runtimeId,
      Math.round(data.leaseMs),
    ]);
    tell(runs, rows);
    await beat(runs, rows);
  }
  board.renewedAtNs = askedAtNs;
}

function tell(runs: readonly HeldRun[], rows: readonly RenewedRow[]): void {
  const renewed = new Set(rows.map((row) => row.task_key));
  const lost = runs.flatMap(({ taskKey, runNo }) => (renewed.has(taskKey) ? [] : [{ taskKey, runNo }]));
  const cancelled = rows.flatMap((row) =>
    row.cancelled_ms === null ? [] : [{ taskKey: row.task_key, runNo: row.run_no, elapsedMs: row.cancelled_ms }],
  );
  if (lost.length > 0 || cancelled.length > 0) port.postMessage({ lost, cancelled } satisfies LeaseNews);
}

/** A sign of life is late by a renewal at most. */
async function beat(runs: readonly BoardedRun[], rows: readonly RenewedRow[]): Promise<void> {
  const nowMs = performance.now();
  const before = beatenAtMs;
  beatenAtMs = new Map(runs.map(({ taskKey }) => [taskKey, before.get(taskKey) ?? nowMs]));
  const renewed = new Set(rows.map((row) => row.task_key));
  const due = runs.filter(({ taskKey, heartbeatMs }) => {
    return renewed.has(taskKey) && nowMs - beatenAtMs.get(taskKey)! >= heartbeatMs;
  });
  if (due.length === 0) return;
  const taskKeys = due.map(({ taskKey }) => taskKey);
  await database.query(BEAT, [taskKeys]);
  for (const taskKey of taskKeys) beatenAtMs.set(taskKey, nowMs);
}

/**
 * A main loop that has not turned for two renewals is blocked, and one that turns again has recovered: each is said once
 * in the log of every run. Whoever else has said it first is right as well.
 */
async function watch(): Promise<void> {
  const isBlocked = performance.now() - turned().atMs >= 2 * intervalMs;
  if (isBlocked === isStallSaid) return;
  const body: EventBody = isBlocked
    ? { type: 'task.stalled', payload: { reason: 'blocked' } }
    : { type: 'task.recovered', payload: {} };
  const json = JSON.stringify(body.payload);
  const runs = isBlocked ? board.runs() : stalledRuns;
  const appended = await log.append(
    runs.map(({ taskKey, runNo }) => ({
      taskKey,
      guard: { kind: 'control', from: ['running'], runOpen: true, runNo, stalled: !isBlocked },
      events: [{ eventId: newEventId(), body, json }],
    })),
  );
  const [stalled, recovered] = isBlocked ? [appended.length, 0] : [0, appended.length];
  port.postMessage({ lost: [], cancelled: [], blocked: { stalled, recovered } } satisfies LeaseNews);
  stalledRuns = runs;
  isStallSaid = isBlocked;
}

/** When the main loop was last seen to have moved. */
function turned(): { readonly ticks: number; readonly atMs: number } {
  const ticks = board.ticks();
  if (ticks !== seen.ticks) seen = { ticks, atMs: performance.now() };
  return seen;
}

/** A hung process would keep its runs for ever. Nothing in it can be asked to end any more. */
function endIfHung(): void {
  if (performance.now() - turned().atMs >= data.maxBlockedMs) process.kill(process.pid, 'SIGKILL');
}
