import { type ExpiredWait, FAILURES, type RunStore } from '#lib/domain';
import { draftEvent } from '../admission.js';
import type { EventWriter } from '../event.writer.js';
import type { Sweep } from './sweep.loop.js';

const BATCH = 100;

export interface ExpiriesPorts {
  readonly runs: RunStore;
  readonly writer: EventWriter;
}

/** Ends tasks that nobody answered in time. */
export class ExpiriesSweep implements Sweep {
  readonly name = 'expiries';
  readonly everyMs = 1_000;

  constructor(private readonly ports: ExpiriesPorts) {}

  async runOnce(): Promise<void> {
    for (;;) {
      const expired = await this.ports.runs.expiredWaits(BATCH);
      const ended = await Promise.all(expired.map((wait) => this.end(wait)));
      if (!ended.includes(true)) return;
    }
  }

  /** A run waits once, and a time that is up stays up: the number of the run is guard enough. */
  private async end({ taskKey, taskId, runNo }: ExpiredWait): Promise<boolean> {
    const error = { code: 'confirmation_expired', message: FAILURES.confirmation_expired };
    const outcome = await this.ports.writer.append({
      taskKey,
      taskId,
      guard: { kind: 'control', from: ['waiting_for_input'], runNo },
      events: [draftEvent({ type: 'task.failed', payload: { error, phase: 'waiting' } })],
    });
    return outcome.kind === 'stored';
  }
}
