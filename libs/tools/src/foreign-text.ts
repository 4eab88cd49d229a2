import { ToolError } from '#lib/domain';

/** How deep an answer may be nested. */
const MAX_DEPTH = 64;
/** What terminals take for commands: escape sequences, whole. */
const SEQUENCES = /[\x1b\x9b](?:\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[[()#;?]*[0-9;:?]{0,100}[@-~]?)/g;
/** Controls without tab and line feed, separators of lines that are none, marks that turn the direction of text. */
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Halves of characters, which no UTF-8 can carry. */
const LONE = /\p{Surrogate}/gu;

/** Text of somebody we do not trust, as it may be shown: without control characters, in at most `limit` characters. */
export function cleanText(text: string, limit = Infinity): string {
  const short = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return short.replace(SEQUENCES, '').replace(/\r\n?/g, '\n').replace(CONTROLS, '').replace(LONE, '\ufffd');
}

/**
 * An answer as it may be stored and shown: every string cleaned and without secrets, keys too.
 * @throws ToolError `failed` when it is nested too deep
 */
export function cleanValue(value: unknown, hide: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return hide(cleanText(value));
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) throw new ToolError('failed', `The answer is nested deeper than ${MAX_DEPTH} levels.`);
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, hide, depth + 1));
  const members = Object.entries(value).filter(([key]) => key !== '__proto__');
  return Object.fromEntries(members.map(([key, item]) => [hide(cleanText(key)), cleanValue(item, hide, depth + 1)]));
}
