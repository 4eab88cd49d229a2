import type { ArtifactBody, BlobStore, EventDraft } from '#lib/domain';
import { newArtifactId } from '#lib/platform';
import { createHash } from 'node:crypto';
import { draftEvent } from './admission.js';

/** Units of UTF-16 that a preview keeps of what was moved to an artifact. */
const PREVIEW_LENGTH = 1_024;
/** Units of UTF-16 that are encoded at once, so that a long text does not hold up everybody else. */
const PIECE_LENGTH = 32_768;

export interface ArtifactSource {
  readonly kind: ArtifactBody['kind'];
  readonly name: string;
  readonly mediaType: string;
  readonly stepId?: string;
  /** Absent: the runner. */
  readonly origin?: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/** What an event keeps of content that was moved to an artifact. */
export interface Reference {
  readonly artifact_id: string;
  readonly size: number;
  readonly sha256: string;
  readonly preview: string;
}

/** An artifact whose bytes are durable, and the events that make it known: none when the task has it already. */
export interface Kept {
  readonly artifact: ArtifactBody;
  readonly events: readonly EventDraft[];
}

export interface KeptFor {
  readonly tenant: string;
  readonly origin: string;
  /** What earlier runs of the task have kept. */
  readonly known: readonly ArtifactBody[];
}

/**
 * Makes artifacts of one task: the bytes are durable before anything names them. The same content under the same name
 * is one artifact, so that a run that does again what a lost one has done leaves nothing twice.
 */
export class ArtifactKeeper {
  private readonly known: Map<string, ArtifactBody>;

  constructor(
    private readonly blobs: BlobStore,
    private readonly owner: KeptFor,
  ) {
    this.known = new Map(owner.known.map((artifact) => [keyOf(artifact), artifact]));
  }

  async keep({ kind, name, mediaType, stepId, origin, content }: ArtifactSource): Promise<Kept> {
    const { sha256, size } = await this.blobs.put(this.owner.tenant, content);
    const artifact: ArtifactBody = {
      artifact_id: newArtifactId(),
      ...(stepId === undefined ? {} : { step_id: stepId }),
      kind,
      name,
      media_type: mediaType,
      size,
      sha256,
      origin: origin ?? this.owner.origin,
    };
    const known = this.known.get(keyOf(artifact));
    if (known) return { artifact: known, events: [] };
    this.known.set(keyOf(artifact), artifact);
    return { artifact, events: [draftEvent({ type: 'artifact.created', payload: { artifact } })] };
  }

  /** Keeps a file unless the task has one of the same content, under whatever name. The bytes are read twice. */
  async keepNew(
    source: Omit<ArtifactSource, 'content'>,
    read: () => Promise<AsyncIterable<Uint8Array>>,
  ): Promise<Kept | undefined> {
    const sha256 = await hashOf(await read());
    return this.hasFile(sha256) ? undefined : this.keep({ ...source, content: await read() });
  }

  /** Moves text that is too large for an event. */
  async offload(text: string, name: string, mediaType: string): Promise<Kept> {
    return this.keep({ kind: 'offload', name, mediaType, content: encoded(text) });
  }

  private hasFile(sha256: string): boolean {
    for (const artifact of this.known.values()) {
      if (artifact.sha256 === sha256 && artifact.kind !== 'offload') return true;
    }
    return false;
  }
}

async function hashOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content) hash.update(chunk);
  return hash.digest('hex');
}

function keyOf({ kind, step_id = '', name, sha256 }: ArtifactBody): string {
  return JSON.stringify([kind, step_id, name, sha256]);
}

async function* encoded(text: string): AsyncIterable<Uint8Array> {
  for (const piece of piecesOf(text, PIECE_LENGTH)) yield Buffer.from(piece);
}

/** A text cut into pieces of at most `length` units of UTF-16, none of which ends in half a character. */
export function* piecesOf(text: string, length: number): Iterable<string> {
  for (let from = 0; from < text.length;) {
    const piece = preview(text.slice(from, from + length + 1), length);
    yield piece;
    from += piece.length;
  }
}

/** The beginning of a text, never ending in half a character. */
export function preview(text: string, length = PREVIEW_LENGTH): string {
  const cut = text.slice(0, length);
  return cut.length < text.length && /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

/** What stands in an event for a text that was moved, with at most `length` units of UTF-16 of it. */
export function refer({ artifact_id, size, sha256 }: ArtifactBody, text: string, length = PREVIEW_LENGTH): Reference {
  return { artifact_id, size, sha256, preview: preview(text, Math.min(length, PREVIEW_LENGTH)) };
}
