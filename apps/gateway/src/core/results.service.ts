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

type ResultOwner = Pick<TaskSnapshot, 'taskKey' | 'tenant'>;

/** What tasks came to, for wires that carry all of it where ours has a reference. */
export class ResultsService {
  constructor(private readonly ports: ResultsPorts) {}

  /** The text of the result of a task that its caller was shown; one that was too long is read from its artifact. */
  async textOf({ taskKey, tenant, result }: TaskSnapshot): Promise<string> {
    const whole = (await this.read({ taskKey, tenant }, result?.metadata['artifact'])) as
      Partial<ResultBody> | undefined;
    return (typeof whole?.text === 'string' ? whole.text : undefined) ?? result?.text ?? '';
  }

  /** What an event says of a value; one that was too long is read from its artifact. */
  async valueOf(task: ResultOwner, told: unknown): Promise<unknown> {
    return (await this.read(task, told)) ?? told;
  }

  /** The JSON that a reference stands for; undefined when it is none. */
  private async read({ taskKey, tenant }: ResultOwner, reference: unknown): Promise<unknown> {
    const artifactId = artifactIdOf(reference);
    const artifact = artifactId && (await this.ports.tasks.artifact({ tenant }, artifactId));
    // The reference is in a place that runners can write to as well: only what the platform kept of this task is read.
    const isKept = artifact?.taskKey === taskKey && artifact.kind === 'offload' && artifact.size <= MAX_BYTES;
    const bytes = isKept ? await this.ports.blobs.open(tenant, artifact.sha256) : undefined;
    if (!bytes) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  }
}

function artifactIdOf(reference: unknown): ArtifactId | undefined {
  const id = (reference as { readonly artifact_id?: unknown } | null | undefined)?.artifact_id;
  return typeof id === 'string' && isArtifactId(id) ? id : undefined;
}
