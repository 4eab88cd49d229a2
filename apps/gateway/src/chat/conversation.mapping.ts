import type { CallerMessage, CallerConversation } from '#lib/domain';
import { isArtifactId } from '#lib/domain';
import type { ChatMessage, UserPart } from '#lib/protocol/openai-chat';
import { invalid } from '../http/dto.js';

/** A conversation as a task takes it. */
export interface DecodedConversation {
  /** What the user said last: a string, or an array of parts. */
  readonly input: unknown;
  /** Where in the request each part of the input stands, as JSON Pointers. */
  readonly places: readonly string[];
  /** What was said around it; absent: nothing. */
  readonly conversation?: CallerConversation;
}

type UserMessage = Extract<ChatMessage, { role: 'user' }>;

/**
 * The last turn of the user is the input, all else is what was said around it. Instructions of the client are left out where
 * the agent takes none.
 * @throws DomainError `invalid_request` when the user has said nothing, or names a file that cannot be read.
 */
export function decodeConversation(
  messages: readonly ChatMessage[],
  { takesInstructions }: { readonly takesInstructions: boolean },
): DecodedConversation {
  const { from, to } = lastTurn(messages);
  const parts = messages.slice(from, to).flatMap((message, index) =>
    (message as UserMessage).content.map((part, place) => {
      const path = `/messages/${from + index}/content/${place}`;
      return { part: decodePart(part, path), path };
    }),
  );
  const told = (some: readonly ChatMessage[]): CallerMessage[] => some.flatMap(decodeMessage);
  const before = told(messages.slice(0, from)).filter(({ role }) => takesInstructions || role !== 'system');
  const after = told(messages.slice(to)).filter(({ role }) => takesInstructions || role !== 'system');
  const [only, ...others] = parts;
  const isText = only !== undefined && others.length === 0 && only.part['type'] === 'text';
  return {
    input: isText ? only.part['text'] : parts.map(({ part }) => part),
    places: parts.map(({ path }) => path),
    ...(before.length + after.length > 0 ? { conversation: { before, after } } : {}),
  };
}

/** The last messages of the user that nobody has spoken between; `to` is the place behind them. */
function lastTurn(messages: readonly ChatMessage[]): { readonly from: number; readonly to: number } {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  if (last < 0) throw invalid([{ path: '/messages', code: 'invalid_value', message: 'must hold a user message' }]);
  const other = messages.slice(0, last).findLastIndex(({ role }) => role !== 'user');
  return { from: other + 1, to: last + 1 };
}

function decodeMessage(message: ChatMessage): CallerMessage[] {
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ role: 'system', text: textOf(message.content) }];
    case 'user':
      return [{ role: 'user', text: textOf(message.content) }];
    case 'assistant':
      return [decodeAssistant(message)];
    case 'tool':
      return [{ role: 'tool', tool_call_id: message.tool_call_id, output: textOf(message.content) }];
  }
}

function decodeAssistant({ content, tool_calls }: Extract<ChatMessage, { role: 'assistant' }>): CallerMessage {
  const text = textOf(content ?? []);
  return {
    role: 'assistant',
    ...(text === '' ? {} : { text }),
    ...(tool_calls && tool_calls.length > 0
      ? {
          tool_calls: tool_calls.map(({ id, function: { name, arguments: args } }) => ({
            tool_call_id: id,
            tool_name: name,
            arguments: parsed(args),
          })),
        }
      : {}),
  };
}

type AnyPart = UserPart | { readonly type: 'refusal'; readonly refusal: string };

/** The text of a message; what is no text is named where it stood. */
export function textOf(parts: readonly AnyPart[]): string {
  const texts = parts.map((part) => {
    if (part.type === 'text') return part.text;
    return part.type === 'refusal' ? part.refusal : `[${part.type}]`;
  });
  return texts.join('\n\n');
}

/** Of the arguments of a call in a history nobody has promised that they are JSON. */
function parsed(args: string): unknown {
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

type Part = Readonly<Record<string, unknown>>;

const DATA_URI = /^data:([^,]*?)(;base64)?,/i;
const AUDIO_TYPES = { wav: 'audio/wav', mp3: 'audio/mpeg' } as const;
const OCTETS = 'application/octet-stream';

/** A part as the input of a task has it; that its bytes are base64, and its URL one of the web, is checked there. */
function decodePart(part: UserPart, path: string): Part {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image_url': {
      const { url } = part.image_url;
      if (!/^data:/i.test(url)) return { type: 'image', url };
      return { type: 'image', ...bytesOf(url, `${path}/image_url/url`) };
    }
    case 'input_audio':
      return { type: 'audio', media_type: AUDIO_TYPES[part.input_audio.format], data: part.input_audio.data };
    case 'file':
      return { type: 'file', ...decodeFile(part.file, `${path}/file`) };
  }
}

function decodeFile({ file_data, file_id, filename }: Extract<UserPart, { type: 'file' }>['file'], path: string): Part {
  const name = filename == null ? {} : { name: filename };
  if (file_id != null) {
    if (isArtifactId(file_id)) return { ...name, artifact_id: file_id };
    throw refused(`${path}/file_id`, 'must be the id of an artifact');
  }
  if (file_data == null) throw refused(path, 'must have file_data or file_id');
  if (/^data:/i.test(file_data)) return { ...name, ...bytesOf(file_data, `${path}/file_data`) };
  return { ...name, media_type: OCTETS, data: file_data };
}

function bytesOf(uri: string, path: string): Part {
  const [head, type = '', base64] = DATA_URI.exec(uri) ?? [];
  if (head === undefined || base64 === undefined) throw refused(path, 'must be a data URI in base64');
  return { media_type: type === '' ? OCTETS : type, data: uri.slice(head.length) };
}

function refused(path: string, message: string): ReturnType<typeof invalid> {
  return invalid([{ path, code: 'invalid_value', message }]);
}
