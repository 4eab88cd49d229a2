import type { Message } from '@a2a-js/sdk';
import { type AnswerRequest, type ConfirmationBody, type DomainError, type Fault, faulty } from '#lib/domain';
import { textOf } from './parts.js';

/** Something that waits, as far as an answer by message looks at it. */
export type Asked = Pick<ConfirmationBody, 'tool_call_id' | 'kind'>;

type Members = Readonly<Record<string, unknown>>;

/**
 * What a message says to a task that waits, by our extension or, to questions alone, in words. Undefined: only words, and
 * what is pending is no matter of words, so that it has to be asked again.
 * @throws DomainError `invalid_request`, `unsupported_input`
 */
export function decodeAnswer({ parts }: Message, asked: readonly Asked[]): AnswerRequest | undefined {
  const data = parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value as unknown] : []));
  const files = parts.flatMap(({ content }, index) =>
    content?.$case === 'raw' || content?.$case === 'url' ? [`/message/parts/${index}`] : [],
  );
  if (files.length > 0) {
    const message = 'is refused: an answer is made of text and data';
    throw faulty(
      'unsupported_input',
      files.map((path) => ({ path, code: 'unsupported_mode', message })),
    );
  }
  const words = textOf(parts);
  const input = words.trim() === '' ? {} : { input: words };
  const said = data.filter(isAnswer);
  if (said.length > 0) return { ...merge(said), ...input };
  if (asked.some(({ kind }) => kind !== 'question')) return undefined;
  const [question] = asked;
  // Data that is not ours is what the only question is answered with.
  if (data.length > 0 && asked.length === 1 && question)
    return {
      decisions: [],
      results: [{ tool_call_id: question.tool_call_id, output: data.length === 1 ? data[0] : data }],
    };
  return { decisions: [], results: [], ...input };
}

function isAnswer(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && ('decisions' in value || 'results' in value);
}

function merge(said: readonly Members[]): Pick<AnswerRequest, 'decisions' | 'results'> {
  const faults: Fault[] = [];
  const decisions = said.flatMap((one) => listOf(one, 'decisions', faults)).map(decodeDecision);
  const results = said.flatMap((one) => listOf(one, 'results', faults)).map(decodeResult);
  if (faults.length > 0) throw faulty('invalid_request', faults);
  return { decisions, results };
}

function listOf(said: Members, name: 'decisions' | 'results', faults: Fault[]): readonly Members[] {
  const list = said[name] ?? [];
  const fault = (path: string, code: string, message: string): [] => (faults.push({ path, code, message }), []);
  if (!Array.isArray(list)) return fault(`/${name}`, 'is_array', 'must be an array');
  return list.flatMap((item: unknown, index) => {
    const path = `/${name}/${index}`;
    if (typeof item !== 'object' || item === null) return fault(path, 'is_object', 'must be an object');
    const members = item as Members;
    if (typeof members['toolCallId'] !== 'string') return fault(`${path}/toolCallId`, 'is_string', 'must be a string');
    return [members];
  });
}

function decodeDecision({ toolCallId, approved, reason, editedArgs }: Members): AnswerRequest['decisions'][number] {
  return {
    tool_call_id: String(toolCallId),
    approved,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(editedArgs === undefined ? {} : { edited_args: editedArgs }),
  };
}

function decodeResult(item: Members): AnswerRequest['results'][number] {
  return {
    tool_call_id: String(item['toolCallId']),
    ...('output' in item ? { output: item['output'] } : {}),
    ...(typeof item['error'] === 'string' ? { error: item['error'] } : {}),
  };
}

/** Faults of an answer in the words of the extension. */
export function inWordsOfExtension(error: DomainError): DomainError {
  const faults = error.faults.map((fault) => ({
    ...fault,
    path: fault.path.replace(/\/tool_call_id$/, '/toolCallId').replace('/edited_args', '/editedArgs'),
  }));
  return faults.length === 0 ? error : faulty(error.code, faults);
}

const KEY = 'a2a ';

/** What is kept with an answer of the message it came by. */
export function answerKey(messageId: string, digest: string): string {
  return KEY + JSON.stringify([messageId, digest]);
}

/** The id of the message; undefined where the answer came otherwise. */
export function messageOfKey(key: string | undefined): string | undefined {
  if (!key?.startsWith(KEY)) return undefined;
  const [messageId] = JSON.parse(key.slice(KEY.length)) as readonly [string, string];
  return messageId;
}
