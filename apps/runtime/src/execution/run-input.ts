import { AdapterError, type InputFile } from '#lib/adapters/contract';
import {
  type ArtifactBody,
  type ArtifactId,
  type BlobStore,
  type Claim,
  type FilePart,
  filePartsOf,
  isTextual,
  type PlacedPart,
  withTexts,
} from '#lib/domain';
import type { FetchInput } from './input.fetcher.js';

/** The input of a run, parsed once from the text as it was sent. */
export interface RunInput {
  readonly value: unknown;
  /** With small text files in place of the parts that name them. */
  readonly readable: unknown;
  readonly files: readonly InputFile[];
}

/** Bytes of text files that are read ahead, together; what is beyond stays a file for who can read it piece by piece. */
const MAX_READABLE_BYTES = 4_194_304;
const OCTETS = 'application/octet-stream';

type InputOwner = Pick<Claim, 'tenant' | 'input' | 'inputArtifacts'>;

/** Where the bytes of an input come from. */
export interface InputSources {
  readonly blobs: BlobStore;
  readonly fetch: FetchInput;
}

/** At once for an input without files. @throws AdapterError when bytes it needs are gone or cannot be fetched. */
export function readRunInput(claim: InputOwner, sources: InputSources): RunInput | Promise<RunInput> {
  const value = withGiven(JSON.parse(claim.input), claim.inputArtifacts);
  const parts = filePartsOf(value);
  return parts.length === 0 ? { value, readable: value, files: [] } : readFiles(value, parts, { claim, sources });
}

/** What was given to the task after its input, as parts behind those it has. */
function withGiven(input: unknown, artifacts: readonly ArtifactBody[]): unknown {
  const named = new Set(filePartsOf(input).map(({ part }) => part.artifact_id));
  const given = artifacts.filter(({ artifact_id }) => !named.has(artifact_id as ArtifactId));
  if (given.length === 0) return input;
  return [...partsOf(input), ...given.map(({ artifact_id }) => ({ type: 'file', artifact_id }))];
}

function partsOf(input: unknown): readonly unknown[] {
  if (Array.isArray(input)) return input as unknown[];
  if (typeof input !== 'string') return [{ type: 'data', data: input }];
  return input === '' ? [] : [{ type: 'text', text: input }];
}

async function readFiles(
  value: unknown,
  parts: readonly PlacedPart[],
  { claim, sources: { blobs, fetch } }: { readonly claim: InputOwner; readonly sources: InputSources },
): Promise<RunInput> {
  const files: InputFile[] = [];
  for (const placed of parts) {
    const { artifact_id, url } = placed.part;
    const named = claim.inputArtifacts.find((artifact) => artifact.artifact_id === artifact_id);
    const artifact = url == null ? named : await fetch(placed);
    files.push(fileOf(placed, { artifact, tenant: claim.tenant, blobs }));
  }
  return { value, readable: withTexts(value, await textsOf(files)), files };
}

interface Stored {
  readonly artifact: ArtifactBody | undefined;
  readonly tenant: string;
  readonly blobs: BlobStore;
}

function fileOf({ index, part }: PlacedPart, { artifact, tenant, blobs }: Stored): InputFile {
  const name = part.name ?? artifact?.name;
  const mediaType = part.media_type ?? artifact?.media_type ?? OCTETS;
  const common = { index, type: part.type, mediaType, ...(name === undefined ? {} : { name }) };
  if (artifact) return { ...common, size: artifact.size, open: () => storedBytes(tenant, artifact, blobs) };
  const bytes = bytesOf(part);
  return { ...common, size: bytes.length, open: () => oneChunk(bytes) };
}

function bytesOf({ data }: FilePart): Uint8Array {
  if (data == null) throw new AdapterError('rejected', 'A part of the input holds no bytes.', { effects: 'none' });
  return Buffer.from(data, 'base64');
}

async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function* storedBytes(tenant: string, artifact: ArtifactBody, blobs: BlobStore): AsyncIterable<Uint8Array> {
  const content = await blobs.open(tenant, artifact.sha256);
  if (!content) {
    const message = `The bytes of the artifact ${artifact.artifact_id} are not there any more.`;
    throw new AdapterError('rejected', message, { effects: 'none' });
  }
  yield* content;
}

async function textsOf(files: readonly InputFile[]): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  let left = MAX_READABLE_BYTES;
  for (const file of files) {
    if (!isTextual(file.mediaType) || file.size > left) continue;
    left -= file.size;
    const text = await textOf(file);
    if (text !== undefined) texts.set(file.index, text);
  }
  return texts;
}

/** Undefined when the bytes are no text of the character set they say they are. */
async function textOf(file: InputFile): Promise<string | undefined> {
  const decoder = decoderOf(file.mediaType);
  if (!decoder) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.open()) chunks.push(chunk);
  try {
    return decoder.decode(Buffer.concat(chunks));
  } catch {
    return undefined;
  }
}

function decoderOf(mediaType: string): InstanceType<typeof TextDecoder> | undefined {
  const charset = /;\s*charset=([\w.:-]+)/i.exec(mediaType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    return undefined;
  }
}
