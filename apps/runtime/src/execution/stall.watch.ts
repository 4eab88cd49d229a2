import type { ControlGuard, EventBody } from '#lib/domain';
import { draftEvent, type EventWriter } from '#lib/execution';
import type { LiveRun } from './live-run.js';

/** Says in the log when a run has fallen silent, and when it goes on. */
export class StallWatch {
  constructor(private readonly writer: EventWriter) {}

  silent(run: LiveRun): void {
    if (run.isStalled) return;
    run.isStalled = true;
    const waitingOn = run.calls.latest;
    const waiting = waitingOn === undefined ? {} : { waiting_on: waitingOn };
    this.write(run, { type: 'task.stalled', payload: { reason: 'no_progress', ...waiting } }, false);
  }

  /** The log says that the task counts as stalled, though it has just moved on. */
  moved(run: LiveRun): void {
    if (run.isRecovering) return;
    run.isRecovering = true;
    this.write(run, { type: 'task.recovered', payload: {} }, true, () => {
      run.isRecovering = false;
      run.isStalled = false;
    });
  }

  /** Others say the same of a run: whether it counts as `stalled` decides whose word is stored. */
  private write({ claimed: { claim } }: LiveRun, body: EventBody, stalled: boolean, settle?: () => void): void {
    const { taskKey, taskId, runNo } = claim;
    const guard: ControlGuard = { kind: 'control', from: ['running'], runOpen: true, runNo, stalled };
    this.writer.write({ taskKey, taskId, guard, events: [draftEvent(body)], settle });
  }
}
