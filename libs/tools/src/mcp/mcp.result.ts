import { ToolError } from '#lib/domain';
import { cleanText, cleanValue } from '../foreign-text.js';

/** The answer of a call, as far as it is read. */
export interface RemoteResult {
  readonly content?: readonly RemoteContent[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

interface RemoteContent {
  readonly type: string;
  readonly text?: unknown;
  readonly data?: unknown;
  readonly mimeType?: unknown;
  readonly uri?: unknown;
  readonly resource?: unknown;
}

/** Characters of an answer that says no, for the model to read. */
const EXCERPT = 1_000;

/**
 * The output of a call: what the server gives as data, else its text, else its parts. Bytes are told by type and size:
 * no model reads them.
 * @throws ToolError `failed` for an answer that says no, and for one that is larger than it may be
 */
export function outputOfResult(
  { content = [], structuredContent, isError }: RemoteResult,
  { hide, maxBytes }: { readonly hide: (text: string) => string; readonly maxBytes: number },
): unknown {
  const parts = content.map((part) => partOf(part));
  const texts = parts.filter((part) => typeof part === 'string');
  if (isError === true) {
    const said = hide(cleanText(texts.join('\n'))).trim();
    throw new ToolError('failed', said === '' ? 'The tool failed.' : excerpt(said));
  }
  const plain = texts.length === parts.length ? texts.join('\n') : parts;
  const output = cleanValue(structuredContent ?? plain, hide);
  const size = Buffer.byteLength(JSON.stringify(output));
  if (size > maxBytes) throw new ToolError('failed', `The answer of the tool is larger than it may be: ${size} bytes.`);
  return output;
}

function excerpt(text: string): string {
  return text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
}

function partOf({ type, text, data, mimeType, uri, resource }: RemoteContent): unknown {
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'resource' && typeof resource === 'object' && resource !== null) {
    const { text: inner, uri: place, mimeType: media } = resource as RemoteContent;
    return typeof inner === 'string' ? { type, uri: place, text: inner } : { type, uri: place, media_type: media };
  }
  const size = typeof data === 'string' ? { size: Math.floor((data.length * 3) / 4) } : {};
  return { type, uri, media_type: mimeType, ...size };
}
