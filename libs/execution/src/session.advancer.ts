import {
  type AuditEntry,
  encodeRunSignal,
  type EventBody,
  type EventBus,
  type Logger,
  type OvertakenTask,
  type RunJob,
  type RunQueue,
  runtimeChannel,
  type SessionStore,
  type SessionTurns,
  type TaskKey,
} from '#lib/domain';
import { draftEvent } from './admission.js';
import type { EventWriter } from './event.writer.js';

/** Tasks whose notes are looked for at once. */
const BATCH = 100;
/** A task can move between the look and the write; so often we look again before the sweep has to. */
const ATTEMPTS = 5;

export interface AdvancerPorts {
  readonly sessions: SessionStore;
  readonly writer: EventWriter;
  readonly queue: RunQueue;
  readonly bus: EventBus;
  readonly logger: Logger;
}

/**
 * Hands on the turn in sessions at once when a task has ended in this process, and ends the tasks that a later one of
 * their session is to end. What gets lost here is found by the sweep, from the notes in the database.
 */
export class SessionAdvancer {
  private readonly waiting = new Set<TaskKey>();
  private working: Promise<void> | undefined;

  constructor(private readonly ports: AdvancerPorts) {
    ports.writer.onSessionEnd((taskKeys) => this.advance(taskKeys));
  }

  /** Works off the notes these tasks left, without anyone waiting for it. */
  advance(taskKeys: readonly TaskKey[]): void {
    for (const taskKey of taskKeys) this.waiting.add(taskKey);
    this.working ??= this.work();
  }

  /** Works off notes that nobody has in time, at most so many. */
  async advanceDue(limit: number): Promise<void> {
    await this.follow(await this.ports.sessions.advanceDue(limit));
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    await this.working;
  }

  private async work(): Promise<void> {
    // What ends in this turn of the event loop goes together.
    await Promise.resolve();
    while (this.waiting.size > 0) {
      const taskKeys = [...this.waiting].slice(0, BATCH);
      for (const taskKey of taskKeys) this.waiting.delete(taskKey);
      try {
        await this.lookAt(taskKeys);
      } catch (error) {
        this.ports.logger.warn('sessions were not advanced; the sweep will do it', { error, tasks: taskKeys.length });
      }
    }
    this.working = undefined;
  }

  private async lookAt(taskKeys: readonly TaskKey[]): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if (await this.follow(await this.ports.sessions.advance(taskKeys))) return;
    }
  }

  /** False when a task that is to end has moved meanwhile. */
  private async follow({ jobs, overtaken }: SessionTurns): Promise<boolean> {
    if (jobs.length > 0) await this.enqueue(jobs);
    const ended = await Promise.all(overtaken.map((task) => this.end(task)));
    return !ended.includes(false);
  }

  private async enqueue(jobs: readonly RunJob[]): Promise<void> {
    await this.ports.queue
      .add(jobs)
      .catch((error: unknown) => this.ports.logger.warn('jobs were not queued; the sweep will add them', { error }));
  }

  /** With no open run the task is over at once; otherwise its runtime has to stop first. */
  private async end(task: OvertakenTask): Promise<boolean> {
    const { taskKey, taskId, state, runNo, runOpen, runtimeId, by } = task;
    const reason = `The task ${by.taskId} has taken over its session.`;
    const requested: EventBody = { type: 'task.cancel_requested', payload: { requested_by: by.principal, reason } };
    const cancelled: EventBody = { type: 'task.cancelled', payload: { forced: false, reason } };
    const events = [...(task.cancelRequested ? [] : [requested]), ...(runOpen ? [] : [cancelled])];
    const outcome = await this.ports.writer.append({
      taskKey,
      taskId,
      guard: { kind: 'control', from: [state], runOpen, runNo },
      events: events.map(draftEvent),
      audit: [overtaking(task)],
    });
    if (outcome.kind !== 'stored') return false;
    // Only a hint: the runtime learns the same from its next append or renewal.
    const signal = encodeRunSignal({ kind: 'cancel', taskKey, runNo });
    if (runOpen && runtimeId !== null) this.ports.bus.signal(runtimeChannel(runtimeId), signal).catch(() => undefined);
    return true;
  }
}

/** Nobody has asked for this by name: it follows from what the later task was submitted with. */
function overtaking({ taskId, by }: OvertakenTask): AuditEntry {
  const { tenant, principal } = by;
  const details = JSON.stringify({ by: by.taskId });
  return {
    tenant,
    principal,
    keyId: '',
    action: 'task.overtake',
    target: taskId,
    outcome: 'allowed',
    details,
    requestId: '',
  };
}
