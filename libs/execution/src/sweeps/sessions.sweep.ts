import type { SessionAdvancer } from '../session.advancer.js';
import type { Sweep } from './sweep.loop.js';

const BATCH = 500;

/** Hands on the turn where the process that ended a task did not get to it. */
export class SessionsSweep implements Sweep {
  readonly name = 'sessions';
  readonly everyMs = 1_000;

  constructor(private readonly advancer: Pick<SessionAdvancer, 'advanceDue'>) {}

  async runOnce(): Promise<void> {
    await this.advancer.advanceDue(BATCH);
  }
}
