import type { EventType } from './event-table.js';
import type { StepState, TaskState } from './state.js';

/** An event that may not follow. Refused, never repaired. */
export class TransitionError extends Error {
  override readonly name = 'TransitionError';
}

interface Move {
  readonly from: readonly TaskState[];
  /** Absent: the state stays. */
  readonly to?: TaskState;
}

const LIVE = ['queued', 'running', 'waiting_for_input'] as const satisfies readonly TaskState[];
const RUNNING = ['running'] as const satisfies readonly TaskState[];

/** The table of task events; every other event, but for artifacts, needs a running task and leaves its state. */
const TASK_MOVES: { readonly [T in EventType as T extends `task.${string}` ? T : never]: Move } = {
  'task.created': { from: [], to: 'queued' },
  'task.started': { from: ['queued', 'running'], to: 'running' },
  'task.waiting_for_input': { from: RUNNING, to: 'waiting_for_input' },
  'task.resumed': { from: ['waiting_for_input'], to: 'running' },
  'task.retrying': { from: RUNNING },
  'task.stalled': { from: ['queued', 'running'] },
  'task.recovered': { from: ['queued', 'running'] },
  'task.released': { from: ['queued'] },
  'task.cancel_requested': { from: LIVE },
  'task.cancelled': { from: LIVE, to: 'cancelled' },
  'task.succeeded': { from: RUNNING, to: 'succeeded' },
  'task.failed': { from: LIVE, to: 'failed' },
};

const PROGRESS: Move = { from: RUNNING };
/** A task that is ended while it waits keeps what its runs have left; files may be given to one that has not begun. */
const KEPT: Move = { from: LIVE };

function moveOf(type: EventType): Move {
  if (type === 'artifact.created') return KEPT;
  return type in TASK_MOVES ? TASK_MOVES[type as keyof typeof TASK_MOVES] : PROGRESS;
}

/** States in which an event of this type may be appended. */
export function statesBefore(type: EventType): readonly TaskState[] {
  return moveOf(type).from;
}

/**
 * The state after an event; `undefined` stands for a task that does not exist yet.
 * @throws TransitionError when the event may not follow.
 */
export function transition(state: TaskState | undefined, type: EventType): TaskState {
  if (state === undefined) {
    if (type === 'task.created') return 'queued';
    throw new TransitionError(`${type} before task.created`);
  }
  const move = moveOf(type);
  if (!move.from.includes(state)) throw new TransitionError(`${type} cannot follow in state ${state}`);
  return move.to ?? state;
}

const STEP_MOVES: Readonly<
  Record<StepEventType, { readonly from: readonly (StepState | undefined)[]; readonly to: StepState }>
> = {
  'step.started': { from: [undefined], to: 'running' },
  'step.completed': { from: ['running'], to: 'completed' },
  'step.failed': { from: ['running'], to: 'failed' },
  'step.cancelled': { from: ['running'], to: 'cancelled' },
  'step.retrying': { from: ['running', 'failed'], to: 'running' },
};

/** The events that move a step. */
export type StepEventType = Extract<EventType, `step.${string}`>;

/** True when the event moves a step. */
export function isStepEvent(type: EventType): type is StepEventType {
  return type in STEP_MOVES;
}

/**
 * The state of a step after an event. A failed step comes back only through `step.retrying`; a completed one never changes.
 * @throws TransitionError when the event may not follow.
 */
export function stepTransition(state: StepState | undefined, type: StepEventType): StepState {
  const move = STEP_MOVES[type];
  if (!move.from.includes(state))
    throw new TransitionError(`${type} cannot follow a step that is ${state ?? 'unknown'}`);
  return move.to;
}
