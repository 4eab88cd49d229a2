import { AdapterError, type RunContext, type RunnerAnswer, type RunnerItem } from '../contract/index.js';
import type { AskedQuestion } from './workflow.client.js';

type Confirmation = Extract<RunnerItem, { kind: 'pause' }>['confirmations'][number];

/** What a checkpoint item of this runner holds. */
export interface WorkflowCheckpoint {
  readonly checkpoint_id: string;
  /** Questions the workflow waits for at that checkpoint: our ids, and the framework's. */
  readonly waiting?: readonly { readonly tool_call_id: string; readonly interrupt_id: string }[];
}

/** The answer to one question, as a stage gets it. */
export interface StageAnswer {
  /** What was proposed is accepted as it is. */
  readonly approved: boolean;
  /** What was said instead, as a text or as any JSON. */
  readonly input?: string;
  readonly output?: unknown;
  readonly reason?: string;
  /** Arguments to use instead of those that were proposed. */
  readonly edited_args?: Readonly<Record<string, unknown>>;
}

/** The checkpoint an earlier run of the task left, if it is one of ours. */
export function checkpointOf({ checkpoint }: Pick<RunContext, 'checkpoint'>): WorkflowCheckpoint | undefined {
  const found = checkpoint as Partial<WorkflowCheckpoint> | null | undefined;
  return typeof found?.checkpoint_id === 'string' ? (found as WorkflowCheckpoint) : undefined;
}

/** Answers for the framework, by its ids; undefined when the workflow did not wait, or nobody has answered. */
export function answersTo(
  checkpoint: WorkflowCheckpoint | undefined,
  answer: RunnerAnswer | undefined,
): Readonly<Record<string, StageAnswer>> | undefined {
  const waiting = checkpoint?.waiting ?? [];
  if (waiting.length === 0 || answer === undefined) return undefined;
  return Object.fromEntries(
    waiting.map(({ tool_call_id, interrupt_id }) => [interrupt_id, answerFor(tool_call_id, answer)]),
  );
}

function answerFor(id: string, { decisions, input, results }: RunnerAnswer): StageAnswer {
  const decision = decisions.find(({ tool_call_id }) => tool_call_id === id);
  const result = results.find(({ tool_call_id }) => tool_call_id === id);
  const said = result === undefined ? input : undefined;
  return {
    // Whoever says something else does not accept what was proposed, whatever else is in the answer.
    approved: decision?.approved === true && said === undefined && result === undefined,
    ...(said === undefined ? {} : { input: said }),
    ...(result?.output === undefined ? {} : { output: result.output }),
    ...(decision?.reason === undefined ? {} : { reason: decision.reason }),
    ...(decision?.edited_args === undefined ? {} : { edited_args: decision.edited_args }),
  };
}

/** What a pause shows of a question. It is a question unless it says that it is a call to be confirmed. */
export function confirmationOf({ question }: AskedQuestion, tool_call_id: string): Confirmation {
  if (typeof question !== 'object' || question === null)
    return { tool_call_id, kind: 'question', prompt: wellFormed(String(question)) };
  const { kind, tool_name, prompt, arguments: proposed } = question as Record<string, unknown>;
  return {
    tool_call_id,
    kind: kind === 'tool_confirmation' ? 'tool_confirmation' : 'question',
    ...(typeof tool_name === 'string' ? { tool_name } : {}),
    ...(typeof prompt === 'string' ? { prompt: wellFormed(prompt) } : {}),
    ...(proposed === undefined ? {} : { arguments: proposed }),
  };
}

/** Half characters, which a text that was cut may have, and U+0000 cannot be stored. */
function wellFormed(text: string): string {
  return text.replaceAll(/[\0\p{Cs}]/gu, '\uFFFD');
}

/** The end of a run that asked. The checkpoint names what it waits for, so that an answer finds its question. */
export function pauseItems(
  questions: readonly AskedQuestion[],
  at: { readonly checkpointId: string | undefined; readonly runNo: number },
): [RunnerItem, RunnerItem] {
  if (at.checkpointId === undefined)
    throw new AdapterError('protocol', 'The workflow asked before it had stored anything.', { effects: 'none' });
  const asked = questions.map((question, index) => ({ question, id: `ask_${at.runNo}_${index + 1}` }));
  const data: WorkflowCheckpoint = {
    checkpoint_id: at.checkpointId,
    waiting: asked.map(({ question, id }) => ({ tool_call_id: id, interrupt_id: question.id })),
  };
  return [
    { kind: 'checkpoint', data },
    { kind: 'pause', confirmations: asked.map(({ question, id }) => confirmationOf(question, id)) },
  ];
}
