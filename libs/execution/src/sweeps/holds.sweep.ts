import { type ExpiredHold, FAILURES, type RunStore } from '#lib/domain';
import { draftEvent } from '../admission.js';
import type { EventWriter } from '../event.writer.js';
import type { Sweep } from './sweep.loop.js';

const BATCH = 100;

export interface HoldsPorts {
  readonly runs: RunStore;
  readonly writer: EventWriter;
}

/** Ends tasks that nobody released in time. */
export class HoldsSweep implements Sweep {
  readonly name = 'holds';
  readonly everyMs = 1_000;

  constructor(private readonly ports: HoldsPorts) {}

  async runOnce(): Promise<void> {
    for (;;) {
      const expired = await this.ports.runs.expiredHolds(BATCH);
      const ended = await Promise.all(expired.map((hold) => this.end(hold)));
      if (!ended.includes(true)) return;
    }
  }

  /** Whoever releases it at the last moment is either before this or finds it ended. */
  private async end({ taskKey, taskId }: ExpiredHold): Promise<boolean> {
    const error = { code: 'held_expired', message: FAILURES.held_expired };
    const outcome = await this.ports.writer.append({
      taskKey,
      taskId,
      guard: { kind: 'control', from: ['queued'], held: true },
      events: [draftEvent({ type: 'task.failed', payload: { error, phase: 'held' } })],
    });
    return outcome.kind === 'stored';
  }
}
