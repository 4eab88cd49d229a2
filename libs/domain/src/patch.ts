import type { ArtifactBody, ErrorBody, EventBody, Payload, ResultBody, UsageBody } from './event-table.js';
import { isStepEvent, type StepEventType, stepTransition } from './transition.js';
import type { ConfirmationProjection } from './projection.js';
import type { StepState, TaskState } from './state.js';

/**
 * What a batch of events changes, folded to at most one change per row, so that one set-based statement can apply it
 * without knowing the rows. `undefined` leaves a column, `null` empties it.
 */
export interface TaskPatch {
  created?: Payload<'task.created'>;
  state?: TaskState;
  runNo?: number;
  /** False: the run is closed by this append. */
  runOpen?: false;
  currentStep?: string | null;
  waitingOn?: string | null;
  waitId?: string | null;
  /** RFC 3339; when the wait expires. */
  waitUntil?: string | null;
  stalled?: boolean;
  cancelRequested: boolean;
  result?: ResultBody;
  usage?: UsageBody;
  error?: ErrorBody;
  started: boolean;
  /** It was held, and may start. */
  released?: true;
  finished: boolean;
  /** False when nothing but control events was written. */
  progressed: boolean;
  steps: Map<string, StepPatch>;
  /** Every other open step ends this way. */
  closeSteps?: { readonly state: StepState; readonly error: ErrorBody | null };
  artifacts: ArtifactBody[];
  readonly confirmations: ConfirmationPatch;
}

/** What becomes of one step. */
export interface StepPatch {
  /** Place, from 0, of the first event of this step in the batch. */
  readonly index: number;
  name?: string;
  state: StepState;
  attempt?: number;
  error?: ErrorBody | null;
}

/** What becomes of what the task waits for. */
export interface ConfirmationPatch {
  /** Asked in this batch, by `<wait_id>/<tool_call_id>`, as they stand after it. */
  readonly opened: Map<string, AskedConfirmation>;
  /** What becomes of those asked before it and still pending. */
  close?: ConfirmationClose;
  /** The call that has used up an approval given before it, by `<wait_id>/<tool_call_id>` of what was asked. */
  readonly used: Map<string, string>;
}

/** A confirmation before it has its place in time. */
export type AskedConfirmation = Omit<ConfirmationProjection, 'decidedAtMs'>;

/** What becomes of pending confirmations. */
export interface ConfirmationClose {
  readonly state: 'decided' | 'closed';
  readonly decidedBy: string | null;
  /** Each with the `tool_call_id` it is about. */
  readonly decisions: readonly Readonly<Record<string, unknown>>[];
}

const CONTROL: ReadonlySet<string> = new Set(['task.stalled', 'task.cancel_requested', 'task.recovered']);
const LOST: ErrorBody = { code: 'lost', message: 'The run that worked on this step was lost.' };

/** Folds events, in order, to one patch. Legality is the caller's to check (`transition`). */
export function foldEvents(events: readonly EventBody[]): TaskPatch {
  const patch: TaskPatch = {
    cancelRequested: false,
    started: false,
    finished: false,
    progressed: events.some((event) => !CONTROL.has(event.type)),
    steps: new Map(),
    artifacts: [],
    confirmations: { opened: new Map(), used: new Map() },
  };
  events.forEach((event, index) => fold(patch, event, index));
  return patch;
}

function fold(patch: TaskPatch, event: EventBody, index: number): void {
  if (isStepEvent(event.type)) foldStep(patch, event as Extract<EventBody, { type: StepEventType }>, index);
  else (FOLDS[event.type] as ((patch: TaskPatch, payload: unknown) => void) | undefined)?.(patch, event.payload);
}

type Folds = { readonly [E in EventBody as E['type']]?: (patch: TaskPatch, payload: E['payload']) => void };

const FOLDS: Folds = {
  'task.created': (patch, payload) => {
    patch.created = payload;
    patch.state = 'queued';
  },
  'task.started': (patch, { run_no }) => claim(patch, run_no),
  'task.retrying': (patch, { run_no }) => {
    claim(patch, run_no);
    closeOpenSteps(patch, 'failed', LOST);
    patch.currentStep = null;
  },
  'task.waiting_for_input': (patch, { wait_id, confirmations, expires_at }) => {
    patch.state = 'waiting_for_input';
    patch.runOpen = false;
    patch.waitId = wait_id;
    patch.waitUntil = expires_at;
    patch.waitingOn = null;
    for (const item of confirmations) {
      const asked = {
        ...item,
        waitId: wait_id,
        state: 'pending',
        decidedBy: null,
        decision: null,
        usedBy: null,
      } as const;
      patch.confirmations.opened.set(`${wait_id}/${item.tool_call_id}`, asked);
    }
  },
  'task.resumed': (patch, { decided_by, decisions }) => {
    patch.state = 'running';
    patch.waitId = null;
    patch.waitUntil = null;
    closeConfirmations(patch, { state: 'decided', decidedBy: decided_by, decisions });
  },
  'task.stalled': (patch, { waiting_on }) => {
    patch.stalled = true;
    if (waiting_on !== undefined) patch.waitingOn = waiting_on;
  },
  'task.recovered': (patch) => {
    patch.stalled = false;
  },
  'task.released': (patch) => {
    patch.released = true;
  },
  'task.cancel_requested': (patch) => {
    patch.cancelRequested = true;
  },
  'task.cancelled': (patch) => {
    end(patch, 'cancelled');
    closeConfirmations(patch, CLOSED);
    closeOpenSteps(patch, 'cancelled', null);
  },
  'task.succeeded': (patch, { result, usage }) => {
    end(patch, 'succeeded');
    patch.result = result;
    if (usage) patch.usage = usage;
  },
  'task.failed': (patch, { error, usage }) => {
    end(patch, 'failed');
    patch.error = error;
    closeConfirmations(patch, CLOSED);
    if (usage) patch.usage = usage;
    closeOpenSteps(patch, 'failed', error);
  },
  'tool.invoked': (patch, { tool_name, approval, tool_call_id }) => {
    patch.waitingOn = tool_name;
    if (approval !== undefined) patch.confirmations.used.set(approval, tool_call_id);
  },
  'tool.completed': stillWaits,
  'tool.failed': stillWaits,
  'tool.denied': stillWaits,
  'artifact.created': (patch, { artifact }) => {
    patch.artifacts.push(artifact);
  },
};

/** Of calls that are out together, the end of one leaves the others. */
function stillWaits(patch: TaskPatch, { waiting_on }: { readonly waiting_on?: string }): void {
  patch.waitingOn = waiting_on ?? null;
}

function claim(patch: TaskPatch, runNo: number): void {
  patch.state = 'running';
  patch.runNo = runNo;
  patch.started = true;
  patch.waitingOn = null;
}

function end(patch: TaskPatch, state: TaskState): void {
  patch.state = state;
  patch.runOpen = false;
  patch.finished = true;
  patch.stalled = false;
  patch.currentStep = null;
  patch.waitingOn = null;
  patch.waitId = null;
  patch.waitUntil = null;
}

const CLOSED: ConfirmationClose = { state: 'closed', decidedBy: null, decisions: [] };

/** The confirmation as it is once it was decided about, or its task has ended. */
export function closeConfirmation<Item extends AskedConfirmation>(item: Item, close: ConfirmationClose): Item {
  const { state, decidedBy, decisions } = close;
  const decision = decisions.find(({ tool_call_id }) => tool_call_id === item.tool_call_id) ?? null;
  return { ...item, state, decidedBy, decision };
}

function closeConfirmations({ confirmations }: TaskPatch, close: ConfirmationClose): void {
  confirmations.close ??= close;
  for (const [key, item] of confirmations.opened) {
    if (item.state === 'pending') confirmations.opened.set(key, closeConfirmation(item, close));
  }
}

function closeOpenSteps(patch: TaskPatch, state: StepState, error: ErrorBody | null): void {
  // The first to close them finds them open; a later one in the same batch does not.
  patch.closeSteps ??= { state, error };
  for (const step of patch.steps.values()) if (step.state === 'running') Object.assign(step, { state, error });
}

function foldStep(patch: TaskPatch, event: Extract<EventBody, { type: StepEventType }>, index: number): void {
  const { step_id, step_name, attempt, error } = event.payload as Partial<Payload<'step.failed'>> & { step_id: string };
  const known = patch.steps.get(step_id);
  const state = event.type === 'step.started' ? 'running' : stepTransition('running', event.type);
  patch.steps.set(step_id, {
    index,
    ...known,
    state,
    ...(step_name === undefined || step_name === step_id ? {} : { name: step_name }),
    ...(attempt === undefined ? {} : { attempt: Math.max(attempt, known?.attempt ?? 1) }),
    error: error ?? null,
  });
  // Not the name an earlier event gave: whether that one is in this batch must make no difference.
  patch.currentStep = state === 'running' ? (step_name ?? step_id) : null;
}
