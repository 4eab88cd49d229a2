import type { Interrupt, ResumeEntry } from '@ag-ui/core';
import type { AnswerRequest, ConfirmationBody, DecisionRequest, ResultRequest } from '#lib/domain';
import { textOf } from './tool-calls.js';

type Asked = Omit<ConfirmationBody, 'digest' | 'expires_at'> & { readonly expires_at?: string };

/** An interrupt is one thing of one wait: its id is of no other in the thread. */
export function interruptIdOf(waitId: string, toolCallId: string): string {
  return `${waitId}:${toolCallId}`;
}

/** True for what the caller answers by `resume`; a call of its own tool is answered by a tool message. */
export function isInterrupt({ kind }: Pick<ConfirmationBody, 'kind'>): boolean {
  return kind !== 'client_tool';
}

/** What a run stops for (interrupts: outgoing). */
export function encodeInterrupt(waitId: string, item: Asked, subagentRunId?: string): Interrupt {
  return {
    id: interruptIdOf(waitId, item.tool_call_id),
    ...KINDS[item.kind](waitId, item),
    ...(item.prompt === undefined ? {} : { message: item.prompt }),
    ...(item.expires_at === undefined ? {} : { expiresAt: item.expires_at }),
    ...(subagentRunId === undefined ? {} : { subagentRunId }),
  };
}

type Encoded = Omit<Interrupt, 'id'>;

const REASON = { type: 'string', description: 'Why not; the model is told.' };
const APPROVAL = { type: 'boolean', description: 'Nothing but true approves.' };
const APPROVAL_SCHEMA = { type: 'object', properties: { approved: APPROVAL, reason: REASON }, required: ['approved'] };
const TOOL_SCHEMA = {
  type: 'object',
  properties: {
    approved: APPROVAL,
    editedArgs: { type: 'object', description: 'Full replacement of the arguments. Not merged.' },
    reason: REASON,
  },
  required: ['approved'],
};
const QUESTION_SCHEMA = {
  type: 'object',
  properties: {
    answer: { description: 'What is answered.' },
    approved: { type: 'boolean', description: 'True accepts what is proposed.' },
    reason: { type: 'string', description: 'What is to be different.' },
  },
};

const KINDS: Readonly<Record<ConfirmationBody['kind'], (waitId: string, item: Asked) => Encoded>> = {
  tool_confirmation: encodeConfirmation,
  authorization: (waitId, item) => ({
    reason: 'confirmation',
    message: 'Allow this?',
    responseSchema: APPROVAL_SCHEMA,
    metadata: { toolName: item.tool_name ?? 'unknown', replyId: waitId },
  }),
  question: (waitId, { arguments: proposal }) => ({
    reason: 'input_required',
    message: 'An answer is needed.',
    responseSchema: QUESTION_SCHEMA,
    metadata: { ...(proposal === undefined ? {} : { proposal }), replyId: waitId },
  }),
  client_tool: encodeConfirmation,
};

function encodeConfirmation(waitId: string, { tool_call_id, tool_name = 'unknown', arguments: args }: Asked): Encoded {
  return {
    reason: 'tool_call',
    message: `May ${tool_name} be called?`,
    toolCallId: tool_call_id,
    responseSchema: TOOL_SCHEMA,
    metadata: {
      'agentscope.interruptKind': 'permission_confirm',
      toolName: tool_name,
      toolInput: args ?? {},
      toolContent: textOf(args ?? {}),
      replyId: waitId,
    },
  };
}

/** Something open, as the task asks for it. */
export interface OpenItem extends Pick<ConfirmationBody, 'tool_call_id' | 'kind'> {
  readonly waitId: string;
}

/**
 * What a resume comes to. `answer`: every interrupt has its answer. `withdrawn`: a question is not going to be answered.
 * `refused`: it does not fit what is open.
 */
export type Resumption =
  | { readonly kind: 'answer'; readonly answer: AnswerRequest }
  | { readonly kind: 'withdrawn' }
  | { readonly kind: 'refused'; readonly message: string };

/** Reads a resume against all that is open (interrupts: incoming). */
export function decodeResume(
  open: readonly OpenItem[],
  resume: readonly ResumeEntry[],
  results: readonly ResultRequest[],
): Resumption {
  const interrupts = new Map(
    open.filter(isInterrupt).map((item) => [interruptIdOf(item.waitId, item.tool_call_id), item]),
  );
  const fault = coverageFault([...interrupts.keys()], resume);
  if (fault !== undefined) return { kind: 'refused', message: fault };
  const decisions: DecisionRequest[] = [];
  const answers: ResultRequest[] = [...results];
  for (const [index, entry] of resume.entries()) {
    const { kind, tool_call_id } = interrupts.get(entry.interruptId)!;
    if (kind !== 'question') {
      decisions.push(decisionOf(tool_call_id, entry));
      continue;
    }
    if (entry.status === 'cancelled') return { kind: 'withdrawn' };
    const answered = answerOf(tool_call_id, entry);
    if (answered === undefined) return { kind: 'refused', message: `/resume/${index}/payload: must hold an answer.` };
    if ('approved' in answered) decisions.push(answered);
    else answers.push(answered);
  }
  return { kind: 'answer', answer: { decisions, results: answers } };
}

function coverageFault(open: readonly string[], resume: readonly ResumeEntry[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, { interruptId }] of resume.entries()) {
    const path = `/resume/${index}/interruptId`;
    if (!open.includes(interruptId)) return `${path}: is no open interrupt of this thread.`;
    if (seen.has(interruptId)) return `${path}: is answered twice.`;
    seen.add(interruptId);
  }
  const missing = open.filter((id) => !seen.has(id));
  return missing.length === 0 ? undefined : `/resume: leaves ${missing.length} of ${open.length} interrupts open.`;
}

function decisionOf(tool_call_id: string, { status, payload }: ResumeEntry): DecisionRequest {
  const { approved, editedArgs, reason } = membersOf(payload);
  const said = typeof reason === 'string' ? { reason } : {};
  if (status !== 'resolved' || approved !== true) return { tool_call_id, approved: false, ...said };
  return { tool_call_id, approved: true, edited_args: editedArgs, ...said };
}

function answerOf(tool_call_id: string, { payload }: ResumeEntry): DecisionRequest | ResultRequest | undefined {
  if (payload === undefined || payload === null) return undefined;
  const { approved, answer, reason, editedArgs } = membersOf(payload);
  if (answer !== undefined && answer !== null) return { tool_call_id, output: answer };
  if (approved === true) return { tool_call_id, approved, edited_args: editedArgs };
  if (typeof reason === 'string' && reason.trim() !== '') return { tool_call_id, output: reason };
  return approved === undefined ? { tool_call_id, output: payload as unknown } : undefined;
}

function membersOf(payload: unknown): Readonly<Record<string, unknown>> {
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload)
    ? (payload as Readonly<Record<string, unknown>>)
    : {};
}
