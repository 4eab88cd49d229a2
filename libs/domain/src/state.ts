/** Where a task stands; the native word. */
export const TASK_STATES = ['queued', 'running', 'waiting_for_input', 'succeeded', 'failed', 'cancelled'] as const;
/** One state of a task. */
export type TaskState = (typeof TASK_STATES)[number];

/** The word clients of the AgentScope wire know for the same thing; a snapshot carries both. */
export type TaskStatus = 'pending' | 'running' | 'awaiting_confirm' | 'success' | 'error' | 'cancelled';

const STATUS_OF: Readonly<Record<TaskState, TaskStatus>> = {
  queued: 'pending',
  running: 'running',
  waiting_for_input: 'awaiting_confirm',
  succeeded: 'success',
  failed: 'error',
  cancelled: 'cancelled',
};

/** The other word for a state. */
export function statusOf(state: TaskState): TaskStatus {
  return STATUS_OF[state];
}

/** Terminal states are final: no event leaves them. */
export function isTerminal(state: TaskState): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled';
}

/** Where a step stands. */
export const STEP_STATES = ['running', 'completed', 'failed', 'cancelled'] as const;
/** One state of a step; all but `running` end it, and only a failed step may come back. */
export type StepState = (typeof STEP_STATES)[number];
