import type { ArtifactId } from './ids.js';

/** Parts of an input that hold bytes. */
export const FILE_MODES = ['file', 'image', 'audio', 'video'] as const;
/** One kind of them. */
export type FileMode = (typeof FILE_MODES)[number];

/** A part that holds bytes, as it was sent: exactly one of `data`, `artifact_id` and `url` says where they are. */
export interface FilePart {
  readonly type: FileMode;
  readonly name?: string | null;
  readonly media_type?: string | null;
  /** Base64, in the alphabet of RFC 4648 section 4 and with its padding. */
  readonly data?: string | null;
  readonly artifact_id?: ArtifactId | null;
  readonly url?: string | null;
}

/** A part with bytes and its place in the input, from 0. */
export interface PlacedPart {
  readonly index: number;
  readonly part: FilePart;
}

/** The parts with bytes of an input that was checked when it came in. */
export function filePartsOf(input: unknown): readonly PlacedPart[] {
  if (!Array.isArray(input)) return [];
  return input.flatMap((part: FilePart, index) => (isFileMode(part.type) ? [{ index, part }] : []));
}

/** True for the name of a part that holds bytes. */
export function isFileMode(type: unknown): type is FileMode {
  return (FILE_MODES as readonly unknown[]).includes(type);
}

const TEXT = /^text\/|^application\/(?:[^;]+\+)?(?:json|xml|yaml)(?:;|$)/;

/** True for a media type whose bytes are a text to people and models. */
export function isTextual(mediaType: string): boolean {
  return TEXT.test(mediaType.toLowerCase());
}

/** True when one of the patterns, `type/subtype` or `type/*`, admits the media type; parameters do not count. */
export function admitsMediaType(patterns: readonly string[], mediaType: string): boolean {
  const [essence = ''] = mediaType.toLowerCase().split(';');
  const exact = essence.trim();
  return patterns.some((pattern) =>
    pattern.endsWith('/*') ? exact.startsWith(pattern.slice(0, -1).toLowerCase()) : pattern.toLowerCase() === exact,
  );
}

/** The input with texts in place of the parts they were read from. */
export function withTexts(input: unknown, texts: ReadonlyMap<number, string>): unknown {
  if (texts.size === 0 || !Array.isArray(input)) return input;
  return input.map((part: unknown, index) => {
    const text = texts.get(index);
    return text === undefined ? part : { type: 'text', text };
  });
}
