import type { ArtifactBody, ConfirmationBody, Detail, ErrorBody, ResultBody, UsageBody } from './event-table.js';
import { closeConfirmation, type StepPatch, type TaskPatch } from './patch.js';
import type { StepState, TaskState } from './state.js';

/** What the log says of a task: every projected column, rebuilt from events alone. Times in ms since the epoch. */
export interface TaskProjection {
  readonly state: TaskState;
  readonly runNo: number;
  readonly lastSeq: number;
  readonly agentId: string;
  readonly type: string | null;
  readonly sessionId: string | null;
  readonly backend: { readonly runner: string; readonly version: string };
  readonly detail: Detail;
  readonly priority: number;
  readonly deadlineAtMs: number;
  /** Until when it waits to be released; null: it is not held. */
  readonly heldUntilMs: number | null;
  readonly createdBy: string;
  readonly currentStep: string | null;
  readonly result: ResultBody | null;
  readonly usage: UsageBody | null;
  readonly error: ErrorBody | null;
  readonly waitId: string | null;
  readonly waitingOn: string | null;
  readonly stalled: boolean;
  readonly cancelRequested: boolean;
  readonly artifactCount: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly updatedAtMs: number;
  readonly lastProgressAtMs: number;
  readonly finishedAtMs: number | null;
}

/** What the log says of a step. Times in ms since the epoch. */
export interface StepProjection {
  readonly stepId: string;
  readonly name: string;
  readonly state: StepState;
  readonly attempt: number;
  readonly error: ErrorBody | null;
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
}

/** What the log says of something the task waits or waited for. `closed`: the task ended before an answer. */
export interface ConfirmationProjection extends ConfirmationBody {
  readonly waitId: string;
  readonly state: 'pending' | 'decided' | 'closed';
  readonly decidedBy: string | null;
  /** What was decided, as `task.resumed` says it. */
  readonly decision: Readonly<Record<string, unknown>> | null;
  /** When it was decided or closed, in ms since the epoch. */
  readonly decidedAtMs: number | null;
  /** The tool call that used up the approval. */
  readonly usedBy: string | null;
}

/** A task with everything that hangs on it; maps keep the order of first appearance. */
export interface Projection {
  readonly task: TaskProjection;
  readonly steps: ReadonlyMap<string, StepProjection>;
  readonly artifacts: ReadonlyMap<string, ArtifactBody>;
  readonly confirmations: ReadonlyMap<string, ConfirmationProjection>;
}

/** Columns of the stored rows that events do not determine: what was asked, and what is live. A comparison leaves them out. */
export const UNPROJECTED_COLUMNS = {
  request: [
    'task_id',
    'tenant',
    'input',
    'context',
    'ordinal',
    'user_id',
    'client_tools',
    'allowed_tools',
    'input_artifacts',
    'callback',
    'step_cursor',
    'told',
  ],
  live: [
    'last_heartbeat_at',
    'blocked_by',
    'lease_until',
    'runtime_id',
    'run_open',
    'run_pos',
    'cancel_at',
    'lost_runs',
    'attempt',
    'watcher',
  ],
} as const;

/**
 * Applies the patch of an append that wrote `count` events at one time.
 * `undefined` stands for a task that does not exist yet; its first patch must carry `created`.
 */
export function applyPatch(
  before: Projection | undefined,
  patch: TaskPatch,
  at: { readonly lastSeq: number; readonly atMs: number },
): Projection {
  const base = before ?? created(patch, at.atMs);
  return {
    task: patchTask(base.task, patch, at),
    steps: patchSteps(base.steps, patch, at.atMs),
    artifacts: patchArtifacts(base.artifacts, patch.artifacts),
    confirmations: patchConfirmations(base.confirmations, patch, at.atMs),
  };
}

function created(patch: TaskPatch, atMs: number): Projection {
  if (!patch.created) throw new Error('the first patch of a task must create it');
  const { agent_id, type, session_id, backend, detail, priority, deadline_at, created_by, held_until } = patch.created;
  return {
    task: {
      state: 'queued',
      runNo: 0,
      lastSeq: 0,
      agentId: agent_id,
      type: type ?? null,
      sessionId: session_id ?? null,
      backend: { runner: backend.runner, version: backend.version },
      detail: detail as Detail,
      priority,
      deadlineAtMs: Date.parse(deadline_at),
      heldUntilMs: held_until === undefined ? null : Date.parse(held_until),
      createdBy: created_by,
      currentStep: null,
      result: null,
      usage: null,
      error: null,
      waitId: null,
      waitingOn: null,
      stalled: false,
      cancelRequested: false,
      artifactCount: 0,
      createdAtMs: atMs,
      startedAtMs: null,
      updatedAtMs: atMs,
      lastProgressAtMs: atMs,
      finishedAtMs: null,
    },
    steps: new Map(),
    artifacts: new Map(),
    confirmations: new Map(),
  };
}

function or<T>(change: T | undefined, current: T): T {
  return change === undefined ? current : change;
}

function patchTask(
  task: TaskProjection,
  patch: TaskPatch,
  at: { readonly lastSeq: number; readonly atMs: number },
): TaskProjection {
  return {
    ...task,
    state: or(patch.state, task.state),
    runNo: or(patch.runNo, task.runNo),
    lastSeq: at.lastSeq,
    heldUntilMs: patch.released || patch.finished ? null : task.heldUntilMs,
    currentStep: or(patch.currentStep, task.currentStep),
    result: or(patch.result, task.result),
    usage: or(patch.usage, task.usage),
    error: or(patch.error, task.error),
    waitId: or(patch.waitId, task.waitId),
    waitingOn: or(patch.waitingOn, task.waitingOn),
    stalled: or(patch.stalled, task.stalled),
    cancelRequested: task.cancelRequested || patch.cancelRequested,
    artifactCount: task.artifactCount + patch.artifacts.length,
    startedAtMs: patch.started ? (task.startedAtMs ?? at.atMs) : task.startedAtMs,
    updatedAtMs: at.atMs,
    lastProgressAtMs: patch.progressed ? at.atMs : task.lastProgressAtMs,
    finishedAtMs: patch.finished ? at.atMs : task.finishedAtMs,
  };
}

function patchSteps(
  steps: ReadonlyMap<string, StepProjection>,
  patch: TaskPatch,
  atMs: number,
): ReadonlyMap<string, StepProjection> {
  if (patch.steps.size === 0 && !patch.closeSteps) return steps;
  const after = new Map(steps);
  if (patch.closeSteps) {
    for (const [id, step] of steps) {
      if (step.state === 'running' && !patch.steps.has(id))
        after.set(id, { ...step, ...patch.closeSteps, finishedAtMs: atMs });
    }
  }
  for (const [id, change] of patch.steps) after.set(id, patchStep(steps.get(id), id, { change, atMs }));
  return after;
}

function patchStep(
  step: StepProjection | undefined,
  stepId: string,
  { change, atMs }: { change: StepPatch; atMs: number },
): StepProjection {
  return {
    stepId,
    name: change.name ?? step?.name ?? stepId,
    state: change.state,
    attempt: Math.max(change.attempt ?? 1, step?.attempt ?? 1),
    error: or(change.error, step?.error ?? null),
    startedAtMs: step?.startedAtMs ?? atMs,
    finishedAtMs: change.state === 'running' ? null : atMs,
  };
}

function patchArtifacts(
  artifacts: ReadonlyMap<string, ArtifactBody>,
  added: readonly ArtifactBody[],
): ReadonlyMap<string, ArtifactBody> {
  if (added.length === 0) return artifacts;
  return new Map([...artifacts, ...added.map((artifact) => [artifact.artifact_id, artifact] as const)]);
}

function patchConfirmations(
  confirmations: ReadonlyMap<string, ConfirmationProjection>,
  { confirmations: { opened, close, used } }: TaskPatch,
  atMs: number,
): ReadonlyMap<string, ConfirmationProjection> {
  if (opened.size === 0 && used.size === 0 && !close) return confirmations;
  const after = new Map(confirmations);
  if (close) {
    for (const [key, item] of confirmations) {
      if (item.state === 'pending') after.set(key, { ...closeConfirmation(item, close), decidedAtMs: atMs });
    }
  }
  for (const [key, item] of opened) after.set(key, { ...item, decidedAtMs: item.state === 'pending' ? null : atMs });
  for (const [key, usedBy] of used) {
    const item = after.get(key);
    if (item) after.set(key, { ...item, usedBy });
  }
  return after;
}
