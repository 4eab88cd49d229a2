import type { ArtifactBody, BlobStore } from '#lib/domain';
import { newArtifactId } from '#lib/platform';

/** Units of UTF-16 that a preview keeps of what was moved to an artifact. */
const PREVIEW_LENGTH = 1_024;

export interface ArtifactSource {
  readonly kind: ArtifactBody['kind'];
  readonly name: string;
  readonly mediaType: string;
  readonly stepId?: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/** What an event keeps of content that was moved to an artifact. */
export interface Reference {
  readonly artifact_id: string;
  readonly size: number;
  readonly sha256: string;
  readonly preview: string;
}

/** Makes artifacts of one task: the bytes are durable before anything names them. */
export class ArtifactKeeper {
  constructor(
    private readonly blobs: BlobStore,
    private readonly owner: { readonly tenant: string; readonly origin: string },
  ) {}

  async keep({ kind, name, mediaType, stepId, content }: ArtifactSource): Promise<ArtifactBody> {
    const { sha256, size } = await this.blobs.put(this.owner.tenant, content);
    return {
      artifact_id: newArtifactId(),
      ...(stepId === undefined ? {} : { step_id: stepId }),
      kind,
      name,
      media_type: mediaType,
      size,
      sha256,
      origin: this.owner.origin,
    };
  }

  /** Moves text that is too large for an event. */
  async offload(text: string, name: string, mediaType: string): Promise<ArtifactBody> {
    return this.keep({ kind: 'offload', name, mediaType, content: oneChunk(text) });
  }
}

async function* oneChunk(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

/** The beginning of a text, never ending in half a character. */
export function preview(text: string, length = PREVIEW_LENGTH): string {
  const cut = text.slice(0, length);
  return cut.length < text.length && /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

export function refer({ artifact_id, size, sha256 }: ArtifactBody, text: string): Reference {
  return { artifact_id, size, sha256, preview: preview(text) };
}
