import { TaskState } from '@a2a-js/sdk';
import type { ConfirmationBody, ErrorBody, StateListFilter } from '#lib/domain';

/** What a task that waits for the decision of a tool call is called on this wire. */
export type ConfirmationState = 'input-required' | 'auth-required';

/** The state of a task that waits for these (A2A 1.0, "TaskState"; "In-Task Authorization"). */
export function waitingState(
  asked: readonly Pick<ConfirmationBody, 'kind'>[],
  confirmation: ConfirmationState,
): TaskState {
  const isAuthorization = asked.some(({ kind }) => authorizations(confirmation).includes(kind));
  return isAuthorization ? TaskState.TASK_STATE_AUTH_REQUIRED : TaskState.TASK_STATE_INPUT_REQUIRED;
}

/** What was refused before it was worked on was rejected; all else that went wrong failed. */
export function failedState({ code }: Pick<ErrorBody, 'code'>): TaskState {
  return code === 'rejected' ? TaskState.TASK_STATE_REJECTED : TaskState.TASK_STATE_FAILED;
}

/** True when nothing can follow. */
export function isFinal(state: TaskState): boolean {
  return FINAL.has(state);
}

const FINAL: ReadonlySet<TaskState> = new Set([
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
  TaskState.TASK_STATE_REJECTED,
]);

/** Which of our tasks a state names. */
export type TasksOfState = Pick<StateListFilter, 'states' | 'isRejected' | 'awaits'>;

const FILTERS: Partial<Record<TaskState, TasksOfState>> = {
  [TaskState.TASK_STATE_SUBMITTED]: { states: ['queued'] },
  [TaskState.TASK_STATE_WORKING]: { states: ['running'] },
  [TaskState.TASK_STATE_COMPLETED]: { states: ['succeeded'] },
  [TaskState.TASK_STATE_FAILED]: { states: ['failed'], isRejected: false },
  [TaskState.TASK_STATE_REJECTED]: { states: ['failed'], isRejected: true },
  [TaskState.TASK_STATE_CANCELED]: { states: ['cancelled'] },
};

/** All of them for the state that is none; undefined for a word that is no state. */
export function tasksOfState(state: TaskState, confirmation: ConfirmationState): TasksOfState | undefined {
  if (state === TaskState.TASK_STATE_UNSPECIFIED) return {};
  const isAny = state === TaskState.TASK_STATE_AUTH_REQUIRED;
  if (!isAny && state !== TaskState.TASK_STATE_INPUT_REQUIRED) return FILTERS[state];
  return { states: ['waiting_for_input'], awaits: { kinds: authorizations(confirmation), isAny } };
}

/** The kinds of pending items that count as an authorization. */
function authorizations(confirmation: ConfirmationState): readonly ConfirmationBody['kind'][] {
  return confirmation === 'auth-required' ? ['authorization', 'tool_confirmation'] : ['authorization'];
}
