import {
  admitsMediaType,
  type AgentDeclaration,
  type ArtifactBody,
  type ArtifactId,
  type ArtifactRecord,
  type Fault,
  faulty,
  type FileMode,
  filePartsOf,
  type InputMode,
  type PlacedPart,
} from '#lib/domain';
import { compileSchema, type SchemaCheck } from '#lib/tools';
import { article, bytesOfBase64, faultsOfInput, isOfMode, MAX_INLINE_BYTES } from './input-parts.check.js';

/** Artifacts that one input may name, at most: each is looked up. */
const MAX_ARTIFACTS = 16;
/** URLs that one input may name, at most: the run fetches each before it begins. */
const MAX_REMOTE = 16;

/** An input whose form is right, before it is known which agent it goes to. */
export interface ReadInput {
  readonly value: unknown;
  /** The modes it uses, and where. */
  readonly modes: readonly { readonly mode: InputMode; readonly path: string }[];
  readonly files: readonly PlacedPart[];
}

/** @throws DomainError `invalid_request` with every fault, `payload_too_large` for bytes that have to be uploaded first. */
export function readInput(value: unknown): ReadInput {
  const faults = faultsOfInput(value);
  if (faults.length > 0) throw faulty('invalid_request', faults);
  const files = filePartsOf(value);
  const large = files.filter(({ part }) => part.data != null && bytesOfBase64(part.data) > MAX_INLINE_BYTES);
  if (large.length > 0) {
    const message = `holds more than ${MAX_INLINE_BYTES} bytes: upload it and name it by artifact_id`;
    throw faulty(
      'payload_too_large',
      large.map(({ index }) => ({ path: `/input/${index}/data`, code: 'max_length', message })),
    );
  }
  return { value, modes: modesOf(value), files };
}

/**
 * Refuses input that the agent does not declare to take.
 * @throws DomainError `unsupported_input` with the path, `invalid_request` for too much that would have to be fetched.
 */
export function checkInput(agent: AgentDeclaration, { value, modes, files }: ReadInput): void {
  const refused = modes.filter(({ mode }) => !agent.inputModes.includes(mode));
  if (refused.length > 0) {
    throw faulty(
      'unsupported_input',
      refused.map(({ mode, path }) => ({ path, code: 'unsupported_mode', message: takesNo(agent, mode) })),
    );
  }
  const foreign = files.filter(({ part }) => part.media_type != null && !admits(agent, part.media_type));
  if (foreign.length > 0)
    throw faulty(
      'unsupported_input',
      foreign.map(({ index }) => mediaFault(agent, index)),
    );
  checkRemote(agent, files);
  checkSchema(agent, value);
}

/**
 * Refuses a file that comes after the input, as a part of it would be.
 * @throws DomainError `unsupported_input`
 */
export function checkFile(agent: AgentDeclaration, mediaType: string): void {
  if (!agent.inputModes.includes('file')) {
    throw faulty('unsupported_input', [{ path: '/file', code: 'unsupported_mode', message: takesNo(agent, 'file') }]);
  }
  if (!admits(agent, mediaType)) throw faulty('unsupported_input', [{ ...mediaFault(agent, 0), path: '/file' }]);
}

/** Nothing is asked of their hosts here: a submission waits for nobody else's server. The run fetches them. */
function checkRemote(agent: AgentDeclaration, files: readonly PlacedPart[]): void {
  const remote = files.filter(({ part }) => part.url != null);
  if (remote.length > MAX_REMOTE) {
    const message = `must name at most ${MAX_REMOTE} URLs`;
    throw faulty('invalid_request', [{ path: '/input', code: 'array_max_size', message }]);
  }
  const untyped = remote.filter(({ part }) => agent.mediaTypes !== undefined && part.media_type == null);
  if (untyped.length === 0) return;
  const message = `is required beside url: the agent ${agent.id} takes ${agent.mediaTypes?.join(', ')}`;
  throw faulty(
    'unsupported_input',
    untyped.map(({ index }) => ({ path: `/input/${index}/media_type`, code: 'required', message })),
  );
}

/** Finds an artifact in reach of the caller. */
export type FindArtifact = (artifactId: ArtifactId) => Promise<ArtifactRecord | undefined>;

/**
 * The artifacts an input names, in order of their first mention.
 * @throws DomainError `invalid_request` when there are too many, `unsupported_input` when one is not there or not what
 * its part takes it for.
 */
export async function findInputArtifacts(
  agent: AgentDeclaration,
  { files }: ReadInput,
  find: FindArtifact,
): Promise<readonly ArtifactBody[]> {
  const ids = [...new Set(files.flatMap(({ part }) => part.artifact_id ?? []))];
  if (ids.length === 0) return [];
  if (ids.length > MAX_ARTIFACTS) {
    const message = `must name at most ${MAX_ARTIFACTS} artifacts`;
    throw faulty('invalid_request', [{ path: '/input', code: 'array_max_size', message }]);
  }
  const found = new Map((await Promise.all(ids.map(find))).flatMap((one) => (one ? [[one.artifact_id, one]] : [])));
  const faults = files.flatMap((file) => artifactFaults(agent, file, found));
  if (faults.length > 0) throw faulty('unsupported_input', faults);
  return Array.from(found.values(), bodyOf);
}

/** What the runs of a task keep of an artifact its input names. */
function bodyOf({ artifact_id, kind, name, media_type, size, sha256 }: ArtifactRecord): ArtifactBody {
  return { artifact_id, kind, name, media_type, size, sha256 };
}

function artifactFaults(
  agent: AgentDeclaration,
  { index, part }: PlacedPart,
  found: ReadonlyMap<string, ArtifactRecord>,
): readonly Fault[] {
  if (part.artifact_id == null) return [];
  const path = `/input/${index}/artifact_id`;
  const artifact = found.get(part.artifact_id);
  if (!artifact) return [{ path, code: 'not_found', message: 'is no artifact of yours' }];
  const mediaType = part.media_type ?? artifact.media_type;
  if (!isOfMode(part.type, mediaType)) return [{ path, code: 'invalid', message: `is not ${article(part.type)}` }];
  return admits(agent, mediaType) ? [] : [mediaFault(agent, index)];
}

function modesOf(input: unknown): ReadInput['modes'] {
  if (typeof input === 'string') return [{ mode: 'text', path: '/input' }];
  if (!Array.isArray(input)) return [{ mode: 'data', path: '/input' }];
  return (input as { readonly type: 'text' | 'data' | FileMode }[]).map(({ type }, index) => ({
    mode: type,
    path: `/input/${index}`,
  }));
}

function takesNo({ id }: AgentDeclaration, mode: InputMode): string {
  return `is refused: the agent ${id} takes no ${mode} input`;
}

function admits({ mediaTypes }: AgentDeclaration, mediaType: string): boolean {
  return mediaTypes === undefined || admitsMediaType(mediaTypes, mediaType);
}

function mediaFault({ id, mediaTypes = [] }: AgentDeclaration, index: number): Fault {
  const message = `is refused: the agent ${id} takes ${mediaTypes.join(', ')}`;
  return { path: `/input/${index}`, code: 'unsupported_media_type', message };
}

/** Compiled schemas, for as long as the declaration is in use. */
const checks = new WeakMap<AgentDeclaration, SchemaCheck>();

function checkSchema(agent: AgentDeclaration, input: unknown): void {
  if (!agent.inputSchema || typeof input === 'string' || Array.isArray(input)) return;
  const faults = schemaOf(agent, agent.inputSchema)(input);
  if (faults.length === 0) return;
  throw faulty(
    'unsupported_input',
    faults.map(({ path, message }) => ({ path: `/input${path}`, code: 'schema', message })),
  );
}

function schemaOf(agent: AgentDeclaration, schema: Readonly<Record<string, unknown>>): SchemaCheck {
  const known = checks.get(agent) ?? compiled(schema);
  checks.set(agent, known);
  return known;
}

/** References that a check of a whole input may follow: it is much longer than arguments are. */
const INPUT_STEPS = 1_000_000;

/** A schema that was declared when more was taken than today refuses everything, rather than nothing. */
function compiled(schema: object): SchemaCheck {
  try {
    return compileSchema(schema, { all: true, steps: INPUT_STEPS });
  } catch (error) {
    const { message } = error as Error;
    return () => [{ path: '', message: `cannot be checked: the schema of the agent ${message}`.slice(0, 500) }];
  }
}
