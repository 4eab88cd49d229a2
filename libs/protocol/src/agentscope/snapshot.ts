import { type ConfirmationBody, type ErrorBody, statusOf, type TaskState, type TaskStatus } from '#lib/domain';
import { failureText } from './agent-event.js';
import { type PendingConfirm, pendingConfirmOf } from './remote-event.js';

/** A task as far as this wire tells of it. */
export interface ShownTask {
  readonly taskId: string;
  readonly state: TaskState;
  /** Of one that succeeded, whole. */
  readonly text: string;
  readonly error: ErrorBody | null;
  readonly pendingConfirmations: readonly ConfirmationBody[];
}

/** How a wait ended, or where a task stands but for its name. `state` is for callers who know our own words. */
export interface TaskOutcome {
  readonly status: TaskStatus;
  readonly state: TaskState;
  readonly result?: string;
  readonly error?: string;
  readonly pending_confirms?: readonly PendingConfirm[];
}

/** Answer of `GET /tasks/{id}`. */
export interface TaskSnapshotAnswer extends TaskOutcome {
  readonly task_id: string;
}

/** `GET /tasks/{taskId}`: members that say nothing are left out. */
export function encodeSnapshot(task: ShownTask): TaskSnapshotAnswer {
  return { task_id: task.taskId, ...encodeOutcome(task) };
}

/** `GET /tasks/{taskId}/wait`: the same without the name; `result` is there whenever the task succeeded. */
export function encodeOutcome({ state, text, error, pendingConfirmations }: ShownTask): TaskOutcome {
  return {
    status: statusOf(state),
    state,
    ...(state === 'succeeded' ? { result: text } : {}),
    ...(state === 'failed' && error ? { error: failureText(error) } : {}),
    ...(state === 'waiting_for_input' && pendingConfirmations.length > 0
      ? { pending_confirms: pendingConfirmations.map(pendingConfirmOf) }
      : {}),
  };
}

/** A wait whose time is over. Never a `result`: clients take that for the end. */
export function encodeTimeout(state: TaskState, timeoutMs: number): TaskOutcome & { readonly timed_out: true } {
  return { status: 'error', state, error: `wait timeout after ${timeoutMs} ms`, timed_out: true };
}
