import type { Part } from '@a2a-js/sdk';
import { type FilePart, isFileMode } from '#lib/domain';

/** A media type for what is data. */
export const JSON_TYPE = 'application/json';

/** Where the bytes of an artifact can be had. */
export type ArtifactUrl = (artifactId: string) => string;

type Content = NonNullable<Part['content']>;

export function textPart(text: string): Part {
  return part({ $case: 'text', value: text });
}

export function dataPart(data: unknown): Part {
  return part({ $case: 'data', value: data }, { mediaType: JSON_TYPE });
}

export function part(content: Content, more: { mediaType?: string; filename?: string } = {}): Part {
  const { mediaType = '', filename = '' } = more;
  return { content, metadata: undefined, filename, mediaType };
}

/** The texts of a message, as one. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('\n');
}

/** Parts of a message (A2A 1.0, "Part") as the input of a task: one text is a string, one object is itself. */
export function decodeParts(parts: readonly Part[]): unknown {
  const [only] = parts;
  if (parts.length === 1 && only?.content?.$case === 'text') return only.content.value;
  if (parts.length === 1 && only?.content?.$case === 'data' && isObject(only.content.value)) return only.content.value;
  return parts.map(decodePart);
}

function decodePart({ content, mediaType, filename }: Part): unknown {
  switch (content?.$case) {
    case 'text':
      return { type: 'text', text: content.value };
    case 'data':
      return { type: 'data', data: content.value as unknown };
    case 'raw':
      return { ...fileOf(mediaType || 'application/octet-stream', filename), data: content.value.toString('base64') };
    case 'url':
      return { ...fileOf(mediaType, filename), url: content.value };
    case undefined:
      return {};
  }
}

function fileOf(mediaType: string, name: string): Omit<FilePart, 'data' | 'url'> {
  const [family = ''] = mediaType.toLowerCase().split('/');
  const type = family !== 'file' && isFileMode(family) ? family : 'file';
  return { type, ...(mediaType === '' ? {} : { media_type: mediaType }), ...(name === '' ? {} : { name }) };
}

/** The input of a task, whichever protocol it came by, as parts of a message. */
export function encodeInput(input: unknown, urlOf: ArtifactUrl): Part[] {
  if (typeof input === 'string') return [textPart(input)];
  if (!Array.isArray(input)) return [dataPart(input)];
  return (input as readonly InputPart[]).map((item) => encodePart(item, urlOf));
}

type InputPart = { readonly type: string; readonly text?: string } & Omit<Partial<FilePart>, 'type' | 'data'> & {
    readonly data?: unknown;
  };

function encodePart(item: InputPart, urlOf: ArtifactUrl): Part {
  if (item.type === 'text') return textPart(item.text ?? '');
  if (!isFileMode(item.type)) return dataPart(item.data);
  const more = { mediaType: item.media_type ?? '', filename: item.name ?? '' };
  if (item.artifact_id != null) return part({ $case: 'url', value: urlOf(item.artifact_id) }, more);
  if (item.url != null) return part({ $case: 'url', value: item.url }, more);
  return part({ $case: 'raw', value: Buffer.from(String(item.data), 'base64') }, more);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
