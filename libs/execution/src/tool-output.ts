import { type ArtifactKeeper, type Kept, piecesOf, refer } from './artifact.keeper.js';
import { ProtocolError } from './admission.js';

/** Output of a tool that comes in pieces, of bytes or of text. */
export type StreamedOutput = AsyncIterable<Uint8Array | string>;

/** Bytes of text that are handed on as they are rather than as an artifact. */
const INLINE_BYTES = 8_192;
/** Bytes of the largest output. */
const OUTPUT_MAX_BYTES = 1_073_741_824;
/** Units of UTF-16 from which a text is treated like one that comes in pieces. */
const LARGE_TEXT = 262_144;
/** Bytes, and units of UTF-16, that are worked on at once. */
const PIECE = 65_536;

/** What a tool answered, as a stream where it is one or is too large to be handed around. */
export function asStreamed(output: unknown): StreamedOutput | undefined {
  if (typeof output === 'string') return output.length > LARGE_TEXT ? once(output) : undefined;
  if (output instanceof Uint8Array) return once(output);
  const isStream = typeof output === 'object' && output !== null && Symbol.asyncIterator in output;
  return isStream ? (output as StreamedOutput) : undefined;
}

/** What the model and the log get in place of a stream. */
export interface StoredOutput {
  /** All of it when it is a short text, else a reference with a preview. */
  readonly value: unknown;
  readonly kept?: Kept;
}

/**
 * Streams a tool's output to an artifact, a piece at a time.
 * @throws ProtocolError when it holds something else than bytes and text, or is over 1 GiB
 */
export async function storeOutput(output: StreamedOutput, keeper: ArtifactKeeper): Promise<StoredOutput> {
  const pieces = bytesOf(output);
  try {
    const head = await headOf(pieces);
    const text = textOf(head);
    if (head.isAll && text !== undefined) return { value: text };
    const kept = await keeper.keep({
      kind: 'offload',
      ...(text === undefined ? BINARY : TEXT),
      content: behind(head.bytes, pieces),
    });
    return { value: refer(kept.artifact, text ?? ''), kept };
  } finally {
    await pieces.return(undefined);
  }
}

const TEXT = { name: 'output.txt', mediaType: 'text/plain; charset=utf-8' };
const BINARY = { name: 'output.bin', mediaType: 'application/octet-stream' };

interface Head {
  readonly bytes: Buffer;
  /** Nothing follows. */
  readonly isAll: boolean;
}

async function headOf(pieces: AsyncIterator<Uint8Array>): Promise<Head> {
  const parts: Uint8Array[] = [];
  let size = 0;
  while (size <= INLINE_BYTES) {
    const next = await pieces.next();
    if (next.done) return { bytes: Buffer.concat(parts), isAll: true };
    parts.push(next.value);
    size += next.value.byteLength;
  }
  return { bytes: Buffer.concat(parts), isAll: false };
}

/** The head as text; undefined when it is none. A character that is cut off at its end is left out. */
function textOf({ bytes, isAll }: Head): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !isAll });
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

async function* behind(head: Uint8Array, pieces: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  yield head;
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
}

/** The same content as bytes, in pieces that are small enough not to hold up everybody else. */
async function* bytesOf(output: StreamedOutput): AsyncGenerator<Uint8Array> {
  let size = 0;
  let half = '';
  for await (const chunk of output) {
    for (const piece of cut(chunk, half)) {
      size += piece.byteLength;
      if (size > OUTPUT_MAX_BYTES) throw new ProtocolError('The output of a tool is over 1 GiB.');
      yield piece;
    }
    half = typeof chunk === 'string' ? halfOf(half + chunk) : '';
  }
  if (half !== '') yield Buffer.from(half);
}

function* cut(chunk: unknown, half: string): Iterable<Uint8Array> {
  if (typeof chunk === 'string') {
    const text = half + chunk;
    const whole = text.slice(0, text.length - halfOf(text).length);
    for (const piece of piecesOf(whole, PIECE)) yield Buffer.from(piece);
  } else if (chunk instanceof Uint8Array) {
    for (let at = 0; at < chunk.byteLength; at += PIECE) yield chunk.subarray(at, at + PIECE);
  } else {
    throw new ProtocolError('The output of a tool holds something that is neither bytes nor text.');
  }
}

/** The first half of a character at the end of a text, whose other half comes with the next. */
function halfOf(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : '';
}

async function* once(output: string | Uint8Array): StreamedOutput {
  yield output;
}
