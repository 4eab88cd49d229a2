import { type Message, omitOptionalNulls, type RunAgentInput } from '@ag-ui/core';
import { RunAgentInputSchema } from '@ag-ui/core/schemas';
import type { Fault, ResultRequest } from '#lib/domain';
import { isArtifactId, isName, pointerOf } from '#lib/domain';

/** A request, or what is wrong with it. */
export type ReadInput = { readonly input: RunAgentInput } | { readonly faults: readonly Fault[] };

/** Reads the body of a run (input). What consumers before 1.0 spell otherwise is upgraded. */
export function readRunInput(body: unknown): ReadInput {
  const parsed = RunAgentInputSchema.safeParse(omitOptionalNulls(upgrade(body), 'RunAgentInput'));
  if (!parsed.success) {
    return {
      faults: parsed.error.issues.map(({ path, code, message }) => ({
        path: pointerOf(path),
        code,
        message,
      })),
    };
  }
  const input = parsed.data as RunAgentInput;
  // What becomes the session of a task has to be the name of one.
  const faults = (['threadId', 'runId'] as const)
    .filter((field) => !isName(input[field]))
    .map((field) => ({ path: `/${field}`, code: 'matches', message: 'must be 1 to 200 characters, none a control' }));
  return faults.length > 0 ? { faults } : { input };
}

type UserMessage = Extract<Message, { role: 'user' }>;
type Part = Exclude<UserMessage['content'], string>[number];

/** What of the messages is new: those of the user that no run has taken, or the last one when it is to be answered again. */
export interface NewMessages {
  readonly ids: readonly string[];
  /** None of them is new: the last one is to be answered again. */
  readonly isAgain: boolean;
  /** As a task takes it: a text, or parts. Undefined: there is nothing to answer. */
  readonly input: unknown;
  /** What is text in it. */
  readonly text: string;
}

/** Messages of the user, in order. */
export function userMessages({ messages }: RunAgentInput): readonly UserMessage[] {
  return messages.filter((message) => message.role === 'user');
}

/**
 * Clients send the whole conversation each time. New is what comes behind the last message that was heard; in a conversation
 * nobody has heard anything of, what comes behind its last answer.
 */
export function newMessages(input: RunAgentInput, heard: ReadonlySet<string>): NewMessages {
  const { messages } = input;
  const last = messages.findLastIndex(({ id, role }) => role === 'user' && heard.has(id));
  const from = last >= 0 ? last : messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool');
  const behind = messages.slice(from + 1).filter((message) => message.role === 'user');
  const again = userMessages(input).slice(-1);
  const chosen = behind.length > 0 ? behind : again;
  return {
    ids: chosen.map(({ id }) => id),
    isAgain: behind.length === 0,
    input: taskInputOf(chosen),
    text: textOfMessages(chosen),
  };
}

function taskInputOf(messages: readonly UserMessage[]): unknown {
  const [only] = messages;
  if (only === undefined) return undefined;
  if (messages.length === 1 && typeof only.content === 'string') return only.content;
  return messages.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(partOf),
  );
}

const MODES: Readonly<Record<Exclude<Part['type'], 'text'>, string>> = {
  image: 'image',
  audio: 'audio',
  video: 'video',
  document: 'file',
};

/** A part as a task takes it. Where its bytes are is for the task to judge, but for what it has no words for. */
function partOf(part: Part): unknown {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { source } = part;
  const type = MODES[part.type];
  if (source.type === 'data') return { type, data: source.value, media_type: source.mimeType };
  const mediaType = source.mimeType === undefined ? {} : { media_type: source.mimeType };
  if (source.type === 'url') return { type, url: source.value, ...mediaType };
  // A file of somebody else's is none of ours; what it is called is not repeated.
  return { type, ...(isArtifactId(source.value) ? { artifact_id: source.value } : {}), ...mediaType };
}

/** Results of calls the caller made itself, as tool messages bring them; of two for one call the later counts. */
export function toolResults({ messages }: RunAgentInput, calls: ReadonlySet<string>): readonly ResultRequest[] {
  const results = new Map<string, ResultRequest>();
  for (const message of messages) {
    if (message.role !== 'tool' || !calls.has(message.toolCallId)) continue;
    const { toolCallId: tool_call_id, content, error } = message;
    results.set(tool_call_id, error === undefined ? { tool_call_id, output: content } : { tool_call_id, error });
  }
  return [...results.values()];
}

function textOfMessages(messages: readonly UserMessage[]): string {
  return messages
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'),
    )
    .join('\n\n');
}

/** Parts called `binary` are what media parts were before 1.0. */
function upgrade(body: unknown): unknown {
  if (!isObject(body) || !Array.isArray(body['messages'])) return body;
  return { ...body, messages: body['messages'].map(upgradeMessage) };
}

function upgradeMessage(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message['content'])) return message;
  return { ...message, content: message['content'].map(upgradePart) };
}

function upgradePart(part: unknown): unknown {
  if (!isObject(part) || part['type'] !== 'binary' || typeof part['mimeType'] !== 'string') return part;
  const { mimeType, data, url, id } = part;
  const [family] = mimeType.toLowerCase().split('/');
  const type = ['image', 'audio', 'video'].includes(family!) ? family : 'document';
  if (data !== undefined && data !== null) return { type, source: { type: 'data', value: data, mimeType } };
  if (url !== undefined && url !== null) return { type, source: { type: 'url', value: url, mimeType } };
  return { type, source: { type: 'file', value: id, mimeType } };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
