import type { RunAgentInput } from '@ag-ui/core';
import type { AnswerRequest, TaskSnapshot } from '#lib/domain';
import { decodeResume, isInterrupt, type NewMessages, toolResults } from '#lib/protocol/ag-ui';

/** An answer to what a task waits for. `withdrawn`: there will be none. */
export interface Answering {
  readonly task: TaskSnapshot;
  readonly waitId: string;
  readonly answer: AnswerRequest | 'withdrawn';
  /** Absent: results of tools, which are in the conversation anyway. */
  readonly answersHash?: Uint8Array | undefined;
}

/** What a request says to what is open. `refused`: it does not answer it. */
export type PlannedAnswer =
  | { readonly kind: 'answer'; readonly answer: Answering['answer']; readonly messages?: NewMessages }
  | { readonly kind: 'refused'; readonly message: string };

/** Reads a request against everything the task waits for: interrupts by `resume`, calls of the caller's tools by tool messages. */
export function planAnswer(
  input: RunAgentInput,
  { pendingConfirmations: open }: Pick<TaskSnapshot, 'pendingConfirmations'>,
  messages: NewMessages,
): PlannedAnswer {
  const calls = new Set(open.filter((item) => !isInterrupt(item)).map(({ tool_call_id }) => tool_call_id));
  const results = toolResults(input, calls);
  const { resume = [] } = input;
  if (resume.length > 0) {
    const resumption = decodeResume(open, resume, results);
    if (resumption.kind === 'refused') return resumption;
    return { kind: 'answer', answer: resumption.kind === 'withdrawn' ? 'withdrawn' : resumption.answer };
  }
  const interrupts = open.filter(isInterrupt);
  if (interrupts.length > 0) {
    return {
      kind: 'refused',
      message: `/resume: must answer the ${interrupts.length} open interrupts of this thread.`,
    };
  }
  return planResults(calls, results, messages);
}

/** Who writes instead of giving a result says why there is none. */
function planResults(
  calls: ReadonlySet<string>,
  results: AnswerRequest['results'],
  messages: NewMessages,
): PlannedAnswer {
  const isWritten = !messages.isAgain && messages.text.trim() !== '';
  if (results.length === 0 && !isWritten) {
    return {
      kind: 'refused',
      message: `/messages: must bring the results of the ${calls.size} calls that wait for one.`,
    };
  }
  const answer = { decisions: [], results };
  if (results.length === calls.size || !isWritten) return { kind: 'answer', answer };
  return { kind: 'answer', answer: { ...answer, input: messages.text }, messages };
}
