import {
  type Append,
  type ArtifactBody,
  type ConfirmationClose,
  type EventBody,
  foldEvents,
  isTerminal,
  type TaskPatch,
} from '#lib/domain';
import type { AppendPart } from './append.statement.js';
import { auditRow } from './audit.columns.js';

/** One append with what its events come to, folded once. */
export interface FoldedAppend {
  readonly append: Append;
  readonly patch: TaskPatch;
}

export function foldAppend(append: Append): FoldedAppend {
  return { append, patch: foldEvents(append.events.map((event): EventBody => event.body)) };
}

type Row = Readonly<Record<string, unknown>>;

/** The rows of each part that a batch needs, by the 1-based place of their task; parts without rows are left out. */
export function appendParts(batch: readonly FoldedAppend[]): ReadonlyMap<AppendPart, readonly Row[]> {
  const parts = new Map<AppendPart, Row[]>();
  const put = (part: AppendPart, rows: readonly Row[]): void => {
    if (rows.length > 0) parts.set(part, [...(parts.get(part) ?? []), ...rows]);
  };
  batch.forEach((folded, index) => {
    for (const [part, rows] of Object.entries(ROWS)) put(part as AppendPart, rows(folded, index + 1));
  });
  return parts;
}

const ROWS: Readonly<Record<AppendPart, (folded: FoldedAppend, place: number) => readonly Row[]>> = {
  tasks: (folded, place) => taskRow(folded, place),
  steps: ({ patch }, place) =>
    [...patch.steps].map(([step_id, { index, name, state, attempt, error }]) => ({
      place,
      k: index + 1,
      step_id,
      name,
      state,
      attempt,
      error: text(error),
    })),
  closeSteps: ({ patch }, place) =>
    patch.closeSteps
      ? [{ place, state: patch.closeSteps.state, error: text(patch.closeSteps.error), kept: [...patch.steps.keys()] }]
      : [],
  artifacts: ({ patch }, place) => patch.artifacts.map((artifact) => ({ place, ...artifact })),
  confirmations: ({ patch }, place) =>
    [...patch.confirmations.opened.values()].map(({ waitId, decidedBy, decision, ...item }, position) => ({
      place,
      ...item,
      position,
      wait_id: waitId,
      decided_by: decidedBy,
      decision: text(decision),
      arguments: text(item.arguments),
    })),
  closeConfirmations: ({ patch: { confirmations } }, place) =>
    confirmations.close ? [closeRow(confirmations.close, place)] : [],
  approvals: ({ patch: { confirmations } }, place) =>
    [...confirmations.used].map(([approval, used_by]) => {
      const at = approval.indexOf('/');
      return { place, wait_id: approval.slice(0, at), tool_call_id: approval.slice(at + 1), used_by };
    }),
  checkpoints: ({ append }, place) =>
    append.checkpoint === undefined
      ? []
      : [{ place, run_no: append.guard.kind === 'run' ? append.guard.runNo : 0, data: append.checkpoint }],
  answers: ({ append: { answer } }, place) => (answer === undefined ? [] : [{ place, answer }]),
  workspaces: ({ append: { workspace, guard } }, place) =>
    workspace ? [{ place, run_no: guard.kind === 'run' ? guard.runNo : 0, ...workspace }] : [],
  // A run knows whether its task has saved any; who else ends a task does not.
  dropWorkspaces: ({ append: { workspace, guard }, patch }, place) =>
    workspace === null || (patch.finished && guard.kind === 'control') ? [{ place }] : [],
  dispatch: ({ append: { dispatch } }, place) =>
    dispatch
      ? [
          {
            place,
            run_no: dispatch.runNo,
            reason: dispatch.reason,
            delay_ms: dispatch.delayMs,
            attempt: dispatch.attempt,
            error: text(dispatch.error),
          },
        ]
      : [],
  release: ({ patch }, place) => (patch.released ? [{ place }] : []),
  // A run ends its own task after its claim took the row; anybody else may end one that was never claimed.
  undispatch: ({ append: { guard }, patch }, place) => (patch.finished && guard.kind === 'control' ? [{ place }] : []),
  // Whoever ends a task from outside, or lets it start, need not know whether it has a session.
  advance: ({ append: { guard, session }, patch }, place) =>
    patch.released || (patch.finished && (session !== undefined || guard.kind === 'control')) ? [{ place }] : [],
  conversations: ({ append: { session } }, place) =>
    session?.conversation === undefined ? [] : [{ place, data: session.conversation }],
  audit: ({ append: { audit = [] } }, place) => audit.map((entry) => ({ place, ...auditRow(entry) })),
  calls: ({ append: { call } }, place) =>
    call ? [{ place, tool_call_id: call.toolCallId, owner: call.owner, answer: call.answer }] : [],
};

function closeRow({ state, decidedBy, decisions }: ConfirmationClose, place: number): Row {
  const texts = decisions.map((decision) => ({ tool_call_id: decision['tool_call_id'], decision: text(decision) }));
  return { place, state, decided_by: decidedBy, decisions: texts };
}

/** '' empties a column, null leaves it. */
function taskRow({ append, patch }: FoldedAppend, place: number): readonly Row[] {
  const { currentStep, waitingOn, result, usage, error, state, artifacts } = patch;
  const ended = state !== undefined && isTerminal(state);
  const { input } = append;
  const touched =
    ended || input !== undefined || artifacts.length > 0 || currentStep !== undefined || waitingOn !== undefined;
  if (!touched) return [];
  return [
    {
      place,
      current_step: currentStep === null ? '' : currentStep,
      waiting_on: waitingOn === null ? '' : waitingOn,
      result: text(result),
      usage: text(usage),
      error: text(error),
      error_code: error?.code,
      end_state: ended ? state : undefined,
      artifacts: artifacts.length,
      input,
      inputs: text(inputsOf(append, artifacts)),
    },
  ];
}

/** What is given to a task from outside belongs to its input; what its runs fetch is named there already. */
function inputsOf({ guard }: Append, artifacts: readonly ArtifactBody[]): readonly ArtifactBody[] | undefined {
  const inputs = guard.kind === 'control' ? artifacts.filter(({ kind }) => kind === 'input') : [];
  return inputs.length > 0 ? inputs : undefined;
}

function text(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}
