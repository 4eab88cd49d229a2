import {
  type ArtifactId,
  type BlobStore,
  isArtifactId,
  type ResultBody,
  type TaskSnapshot,
  type TaskStore,
} from '#lib/domain';

/** Beyond this a result is shown by its preview: it is read into memory. */
const MAX_BYTES = 8_388_608;

export interface ResultsPorts {
  readonly tasks: Pick<TaskStore, 'artifact'>;
  readonly blobs: Pick<BlobStore, 'open'>;
}

/** What tasks came to, for wires that carry all of it where ours has a reference. */
export class ResultsService {
  constructor(private readonly ports: ResultsPorts) {}

  /** The text of the result of a task that its caller was shown; one that was too long is read from its artifact. */
  async textOf({ taskKey, tenant, result }: TaskSnapshot): Promise<string> {
    const artifactId = result ? artifactIdOf(result) : undefined;
    const artifact = artifactId && (await this.ports.tasks.artifact({ tenant }, artifactId));
    // The reference is in a place that runners can write to as well: only what the platform kept of this task is read.
    const isKept = artifact?.taskKey === taskKey && artifact.kind === 'offload' && artifact.size <= MAX_BYTES;
    const whole = isKept ? await this.read(tenant, artifact.sha256) : undefined;
    return whole ?? result?.text ?? '';
  }

  private async read(tenant: string, sha256: string): Promise<string | undefined> {
    const bytes = await this.ports.blobs.open(tenant, sha256);
    if (!bytes) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    const { text } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Partial<ResultBody>;
    return typeof text === 'string' ? text : undefined;
  }
}

function artifactIdOf({ metadata }: ResultBody): ArtifactId | undefined {
  const id = (metadata['artifact'] as { readonly artifact_id?: unknown } | null | undefined)?.artifact_id;
  return typeof id === 'string' && isArtifactId(id) ? id : undefined;
}
