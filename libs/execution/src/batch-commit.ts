import { type Appended, type EventLog, isUnavailableError } from '#lib/domain';
import { setTimeout as delay } from 'node:timers/promises';
import type { Work, WriteOutcome } from './write-queue.js';

export interface CommitOptions {
  /** How long an unavailable database is tried again before the writes are given up. */
  readonly retryForMs: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export type Outcomes = Map<Work, WriteOutcome>;

/**
 * Stores a batch whole. When the outcome of a statement is unknown it asks for the events by id before it sends again,
 * so that nothing is stored twice; when the database refuses the batch, each task is tried alone and only the offender fails.
 */
export async function commitBatch(log: EventLog, batch: readonly Work[], options: CommitOptions): Promise<Outcomes> {
  try {
    return await commitAll(log, batch, options);
  } catch (cause) {
    const [only] = batch;
    if (batch.length === 1 && only) return new Map([[only, { kind: 'refused', cause }]]);
  }
  const outcomes: Outcomes = new Map();
  for (const work of batch) for (const entry of await commitBatch(log, [work], options)) outcomes.set(...entry);
  return outcomes;
}

/** Rejects when the database refuses the batch. */
async function commitAll(log: EventLog, batch: readonly Work[], options: CommitOptions): Promise<Outcomes> {
  const outcomes: Outcomes = new Map();
  const giveUpAtMs = performance.now() + options.retryForMs;
  let waiting = batch;
  let isDoubtful = false;
  for (let delayMs = options.firstDelayMs; ; delayMs = Math.min(2 * delayMs, options.maxDelayMs)) {
    try {
      if (isDoubtful) waiting = await withoutStored(log, waiting, outcomes);
      if (waiting.length === 0) return outcomes;
      const appended = await log.append(waiting.map((work) => work.append));
      const missing = settle(waiting, appended, outcomes);
      // A statement believed dead may have been committed while this one waited for its locks.
      const fenced = isDoubtful ? await withoutStored(log, missing, outcomes) : missing;
      for (const work of fenced) outcomes.set(work, { kind: 'fenced' });
      return outcomes;
    } catch (cause) {
      if (!isUnavailableError(cause)) throw cause;
      isDoubtful = true;
      waiting = waiting.filter((work) => !outcomes.has(work));
      if (performance.now() + delayMs > giveUpAtMs) {
        for (const work of waiting) outcomes.set(work, { kind: 'unavailable', cause });
        return outcomes;
      }
      await delay(delayMs);
    }
  }
}

function settle(works: readonly Work[], appended: readonly Appended[], outcomes: Outcomes): readonly Work[] {
  const byKey = new Map(appended.map((row) => [row.taskKey, row]));
  return works.filter((work) => {
    const row = byKey.get(work.append.taskKey);
    if (row) outcomes.set(work, { kind: 'stored', appended: row });
    return row === undefined;
  });
}

/** Settles the works whose events are in the log already, and returns the others. */
async function withoutStored(log: EventLog, works: readonly Work[], outcomes: Outcomes): Promise<readonly Work[]> {
  const firsts = works.flatMap(({ append: { taskKey, events } }) =>
    events[0] ? [{ taskKey, eventId: events[0].eventId }] : [],
  );
  const places = firsts.length > 0 ? await log.locate(firsts) : new Map<never, never>();
  return works.filter((work) => {
    const { taskKey, events } = work.append;
    const place = events[0] && places.get(events[0].eventId);
    if (!place) return true;
    const appended = { taskKey, baseSeq: place.seq - 1, atMs: place.atMs, stalled: false };
    outcomes.set(work, { kind: 'stored', appended });
    return false;
  });
}
