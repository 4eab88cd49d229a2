import type { RunJob } from '#lib/domain';
import { roundOf } from '../jobs.js';
import type { QueueAccess } from './queue.access.js';
import { LAST_ROUND, Rounds } from './rounds.js';

/** How often the queue is looked at while jobs are added to it, at most. */
const LOOK_MS = 1_000;

/**
 * The turns of tenants in the queue of one pool. Which round is going on is what the next job says, or, in an empty queue,
 * the note of whoever looked before: so all processes count on from the same, and a job they agree on is passed by nobody
 * for ever. Only when nothing waits may the count begin anew.
 */
export class PoolTurns {
  private readonly added = new Rounds();
  private readonly restored = new Rounds();
  private lookedAtMs = -Infinity;

  constructor(
    private readonly access: Pick<QueueAccess, 'front' | 'note'>,
    private readonly queue: string,
  ) {}

  roundOf(job: RunJob): number {
    return this.added.take(lineOf(job));
  }

  /** For a job that has a round already, unless it was lost. */
  roundAgain(job: RunJob): number {
    return this.restored.take(lineOf(job));
  }

  /** Looks where the queue is, now and then, without anyone waiting for it. */
  keepUp(): void {
    const nowMs = performance.now();
    if (nowMs - this.lookedAtMs < LOOK_MS) return;
    this.lookedAtMs = nowMs;
    // Whoever adds is told that the queue is away; until it is back, what was known has to do.
    this.look().catch(() => undefined);
  }

  private async look(): Promise<void> {
    for (const rounds of [this.added, this.restored]) rounds.beginLook();
    const { isEmpty, number, noted } = await this.access.front(this.queue);
    if (!isEmpty && number === undefined) return;
    const round = currentRound(number, noted);
    if (round !== noted) await this.access.note(this.queue, round);
    this.added.endLook({ round, isEmpty });
    this.restored.endLook({ round, isEmpty: true });
  }
}

function currentRound(next: number | undefined, noted: number): number {
  if (next !== undefined) return Math.max(noted, roundOf(next));
  return noted > LAST_ROUND / 2 ? 0 : noted;
}

/**
 * A tenant has a line for each priority, since an urgent task must pass its own less urgent ones, and others for what goes
 * on: an answer or a lost run does not wait for tasks that have not begun.
 */
function lineOf({ tenant, runNo, priority }: RunJob): string {
  return `${runNo === 1 ? 'new' : 'on'} ${priority} ${tenant}`;
}
