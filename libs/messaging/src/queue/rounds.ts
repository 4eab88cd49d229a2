/** Runs of one line that go into one round. */
export const ROUND_SIZE = 32;
/** Beyond it BullMQ has no place for a round's priorities. Whatever comes then goes into this one, in the order it comes. */
export const LAST_ROUND = 209_713;

interface Line {
  /** Place of its next run, in runs since round 0. */
  next: number;
  /** The same when the queue was looked at. */
  seen: number;
}

/**
 * Says in which round a run is to start, so that those who wait get their turns one after another, however long the line
 * of one of them is. A line that comes anew joins the round that is going on, each run of it takes a place, and a full
 * round is followed by the next: the longer a line, the further back its end. The rounds of one queue are counted from
 * where the queue stands; what went through the queue without waiting was not ahead of anybody and is forgotten.
 */
export class Rounds {
  private readonly lines = new Map<string, Line>();
  private current = 0;

  /** The round of the next run of a line. */
  take(name: string): number {
    const start = this.current * ROUND_SIZE;
    let line = this.lines.get(name);
    if (line === undefined) this.lines.set(name, (line = { next: start, seen: start }));
    if (line.next < start) line.next = start;
    const round = Math.floor(line.next / ROUND_SIZE);
    line.next += 1;
    return Math.min(round, LAST_ROUND);
  }

  /** To be called right before the queue is looked at. */
  beginLook(): void {
    for (const line of this.lines.values()) line.seen = line.next;
  }

  /** What was seen: the round that is going on, and whether nothing waited at all. */
  endLook({ round, isEmpty }: { readonly round: number; readonly isEmpty: boolean }): void {
    const start = round * ROUND_SIZE;
    for (const [name, line] of this.lines) {
      // Somebody has begun to count anew: what was taken before means nothing any more.
      const isOver = isEmpty || round < this.current;
      const since = line.next - line.seen;
      if (isOver) line.next = start + since;
      if (line.next <= start) this.lines.delete(name);
    }
    this.current = round;
  }
}
