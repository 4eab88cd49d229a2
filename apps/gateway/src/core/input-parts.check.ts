import {
  type Fault,
  type FilePart,
  INPUT_MODES,
  type InputMode,
  isArtifactId,
  isFileMode,
  pointerTo,
} from '#lib/domain';

/** Parts in one input, at most. */
const MAX_PARTS = 256;
/** Bytes that one part may bring along; larger ones are uploaded first. */
export const MAX_INLINE_BYTES = 1_048_576;

const FILE_NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u;
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:; ?[\w-]{1,50}=[\w.+-]{1,100}){0,4}$/;
const WEB_URL = /^https?:\/\/[^\s\p{Cc}\p{Cs}\\]{1,8000}$/iu;
const SOURCES = ['data', 'artifact_id', 'url'] as const;

const FIELDS: Readonly<Record<'text' | 'data' | 'file', readonly string[]>> = {
  text: ['type', 'text'],
  data: ['type', 'data'],
  file: ['type', 'name', 'media_type', ...SOURCES],
};

/** Faults of an input, by path from the root of the request; none when every agent could at least read its form. */
export function faultsOfInput(input: unknown): readonly Fault[] {
  if (typeof input === 'string') return [];
  if (typeof input !== 'object' || input === null)
    return [fault('/input', 'is_input', 'must be a string, an object or an array of parts')];
  if (!Array.isArray(input)) return [];
  if (input.length === 0) return [fault('/input', 'array_not_empty', 'must have at least one part')];
  if (input.length > MAX_PARTS) return [fault('/input', 'array_max_size', `must have at most ${MAX_PARTS} parts`)];
  return input.flatMap((part: unknown, index) => faultsOfPart(part, `/input/${index}`));
}

function faultsOfPart(part: unknown, path: string): readonly Fault[] {
  if (typeof part !== 'object' || part === null || Array.isArray(part))
    return [fault(path, 'is_object', 'must be a part')];
  const members = part as Readonly<Record<string, unknown>>;
  const type = own(members, 'type');
  if (!isInputMode(type)) return [fault(`${path}/type`, 'is_in', `must be one of ${INPUT_MODES.join(', ')}`)];
  const known = FIELDS[isFileMode(type) ? 'file' : type];
  const faults = Object.keys(members)
    .filter((key) => !known.includes(key))
    .map((key) => fault(path + pointerTo(key.slice(0, 100)), 'unknown_field', `is not a field of a ${type} part`));
  if (type === 'text' && typeof own(members, 'text') !== 'string')
    faults.push(fault(`${path}/text`, 'is_string', 'must be a string'));
  if (type === 'data' && !Object.hasOwn(members, 'data')) faults.push(fault(`${path}/data`, 'required', 'is required'));
  if (isFileMode(type)) faults.push(...faultsOfFile(members, path));
  return faults;
}

/** A field of a part with bytes: what it must be when it is there. */
const FILE_CHECKS: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  name: (value) => (matches(value, FILE_NAME) ? undefined : 'must be 1 to 255 characters'),
  media_type: (value) => (matches(value, MEDIA_TYPE) ? undefined : 'must be a media type'),
  data: (value) => (isBase64(value) ? undefined : 'must be base64 with its padding'),
  artifact_id: (value) =>
    typeof value === 'string' && isArtifactId(value) ? undefined : 'must be the id of an artifact',
  url: (value) => (isWebUrl(value) ? undefined : 'must be a URL of the web, without a user name'),
};

function faultsOfFile(members: Readonly<Record<string, unknown>>, path: string): readonly Fault[] {
  const given = SOURCES.filter((source) => own(members, source) != null);
  if (given.length !== 1) return [fault(path, 'one_source', `must have exactly one of ${SOURCES.join(', ')}`)];
  const faults = Object.entries(FILE_CHECKS).flatMap(([field, check]) => {
    const value = own(members, field);
    const message = value == null ? undefined : check(value);
    return message === undefined ? [] : [fault(`${path}/${field}`, 'invalid', message)];
  });
  if (faults.length > 0) return faults;
  return faultsOfBytes(members as unknown as FilePart, path);
}

function faultsOfBytes({ type, artifact_id, url, media_type }: FilePart, path: string): readonly Fault[] {
  if (artifact_id != null || (url != null && media_type == null)) return [];
  if (media_type == null) return [fault(`${path}/media_type`, 'required', 'is required beside data')];
  if (!isOfMode(type, media_type)) return [fault(`${path}/media_type`, 'invalid', `must be that of ${article(type)}`)];
  return [];
}

/** True when bytes of this media type can be a part of this type; a file can be anything. */
export function isOfMode(type: InputMode, mediaType: string): boolean {
  return type === 'file' || mediaType.toLowerCase().startsWith(`${type}/`);
}

/** The mode with its article, for messages. */
export function article(type: InputMode): string {
  return type === 'image' || type === 'audio' ? `an ${type}` : `a ${type}`;
}

/** How many bytes valid base64 stands for. */
export function bytesOfBase64(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** Canonical base64: what is decoded and encoded again is the same. */
function isBase64(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length % 4 === 0 && Buffer.from(value, 'base64').toString('base64') === value
  );
}

/** Whether its host may be asked is for the outbound guard to say, when the run does. */
function isWebUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !WEB_URL.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
}

function isInputMode(type: unknown): type is InputMode {
  return (INPUT_MODES as readonly unknown[]).includes(type);
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value);
}

function own(members: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(members, key) ? members[key] : undefined;
}

function fault(path: string, code: string, message: string): Fault {
  return { path, code, message };
}
