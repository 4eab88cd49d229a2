import {
  type DueTask,
  encodeRunSignal,
  type EventBus,
  type FailureCode,
  FAILURES,
  type RunStore,
  runtimeChannel,
} from '#lib/domain';
import { draftEvent } from '../admission.js';
import type { EventWriter } from '../event.writer.js';
import type { Sweep } from './sweep.loop.js';

const BATCH = 100;
const PHASES: Readonly<Record<DueTask['state'], string>> = {
  queued: 'queued',
  running: 'running',
  waiting_for_input: 'waiting',
};

export interface DeadlinesPorts {
  readonly runs: RunStore;
  readonly writer: EventWriter;
  readonly bus: EventBus;
}

/** Ends tasks whose time is up, in whatever state they are. */
export class DeadlinesSweep implements Sweep {
  readonly name = 'deadlines';
  readonly everyMs = 1_000;

  constructor(private readonly ports: DeadlinesPorts) {}

  async runOnce(): Promise<void> {
    for (;;) {
      const due = await this.ports.runs.overdueTasks(BATCH);
      const ended = await Promise.all(due.map((task) => this.end(task)));
      if (due.length < BATCH || !ended.includes(true)) return;
    }
  }

  private async end(task: DueTask): Promise<boolean> {
    const { taskKey, taskId, state, runNo, runOpen, runtimeId } = task;
    const code = codeOf(task);
    const error = { code, message: FAILURES[code] };
    const outcome = await this.ports.writer.append({
      taskKey,
      taskId,
      guard: { kind: 'control', from: [state], runNo, runOpen },
      events: [draftEvent({ type: 'task.failed', payload: { error, phase: PHASES[state] } })],
    });
    if (outcome.kind !== 'stored') return false;
    const signal = encodeRunSignal({ kind: 'closed', taskKey, runNo });
    if (runOpen && runtimeId !== null) await this.ports.bus.signal(runtimeChannel(runtimeId), signal);
    return true;
  }
}

/** A task that is still waiting for a runtime long after it should have had one was failed by its backend, not by time. */
function codeOf({ state, runOpen, stalled }: DueTask): FailureCode {
  return stalled && !runOpen && state !== 'waiting_for_input' ? 'backend_unavailable' : 'deadline_exceeded';
}
