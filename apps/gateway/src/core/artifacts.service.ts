import {
  type ArtifactRecord,
  type BlobRange,
  type BlobStore,
  DomainError,
  isArtifactId,
  isTaskId,
  type Logger,
  type Page,
  type PageRequest,
  type TaskStore,
} from '#lib/domain';
import { type Caller, taskScopeOf } from './caller.js';
import { contentDisposition } from './content-disposition.js';

/** An artifact with a link that needs no other credential. */
export interface LinkedArtifact extends ArtifactRecord {
  readonly downloadUrl: string;
  readonly downloadExpiresAtMs: number;
}

/** A signed link as it came back to us. */
export interface ContentRequest {
  readonly method: string;
  /** Path of the request without its query. */
  readonly path: string;
  readonly artifactId: string;
  readonly exp: string;
  readonly sig: string;
}

/** Bytes that may go out, with the headers that keep a browser from running them. */
export interface ArtifactContent {
  readonly headers: Readonly<Record<string, string>>;
  /** In bytes. */
  readonly size: number;
  /** A strong tag, in its quotes. */
  readonly etag: string;
  /** All of it or a part. Its first bytes are read before this resolves. @throws DomainError `not_found`, CorruptBlobError */
  read(range?: BlobRange): Promise<AsyncIterable<Uint8Array>>;
}

interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly exp: string;
}

/** Where links lead and who signs them. */
export interface Links {
  /** Where callers reach this gateway, without a slash at its end. */
  readonly publicUrl: () => string;
  readonly signer: {
    sign(request: SignedRequest): string;
    verify(request: SignedRequest, sig: string, nowMs: number): boolean;
  };
}

export interface ArtifactsPorts {
  readonly tasks: TaskStore;
  readonly blobs: BlobStore;
  readonly logger: Logger;
}

const LIFE_SECONDS = 600;

/** What tasks produced. An artifact that is unknown or out of reach is DomainError `not_found`. */
export class ArtifactsService {
  constructor(
    private readonly ports: ArtifactsPorts,
    private readonly links: Links,
    private readonly nowMs: () => number = Date.now,
  ) {}

  async list(caller: Caller, taskId: string, page: PageRequest): Promise<Page<LinkedArtifact>> {
    const task = isTaskId(taskId) ? await this.ports.tasks.snapshot(taskScopeOf(caller), taskId) : undefined;
    if (!task) throw new DomainError('not_found', 'There is no such task.');
    const { items, nextCursor } = await this.ports.tasks.artifacts(task.taskKey, page);
    return { items: items.map((artifact) => this.link(artifact)), nextCursor };
  }

  async get(caller: Caller, taskId: string, artifactId: string): Promise<LinkedArtifact> {
    const scope = taskScopeOf(caller);
    if (!isTaskId(taskId) || !isArtifactId(artifactId)) throw unknownArtifact();
    const [task, artifact] = await Promise.all([
      this.ports.tasks.snapshot(scope, taskId),
      this.ports.tasks.artifact(scope, artifactId),
    ]);
    if (!task || artifact?.taskKey !== task.taskKey) throw unknownArtifact();
    return this.link(artifact);
  }

  /** @throws DomainError `forbidden` for a link that is not ours, was changed or is over. */
  async open({ method, path, artifactId, exp, sig }: ContentRequest): Promise<ArtifactContent> {
    // A link to get something is also one to ask for its headers.
    const request = { method: method === 'HEAD' ? 'GET' : method, path, exp };
    if (!this.links.signer.verify(request, sig, this.nowMs())) {
      throw new DomainError('forbidden', 'The link is not valid or has expired.');
    }
    const artifact = isArtifactId(artifactId) ? await this.ports.tasks.linkedArtifact(artifactId) : undefined;
    if (!artifact) throw unknownArtifact();
    return this.contentOf(artifact);
  }

  /** The bytes of an artifact of a task in reach. */
  async content(caller: Caller, taskId: string, artifactId: string): Promise<ArtifactContent> {
    return this.contentOf(await this.get(caller, taskId, artifactId));
  }

  private contentOf(artifact: ArtifactRecord): ArtifactContent {
    const read = (range?: BlobRange): Promise<AsyncIterable<Uint8Array>> => this.read(artifact, range);
    return { headers: headersOf(artifact), size: artifact.size, etag: `"${artifact.sha256}"`, read };
  }

  /** With a link that was signed now. */
  link(artifact: ArtifactRecord): LinkedArtifact {
    const expSeconds = Math.floor(this.nowMs() / 1000) + LIFE_SECONDS;
    const downloadUrl = this.signedUrl(artifact.artifact_id, expSeconds);
    return { ...artifact, downloadUrl, downloadExpiresAtMs: expSeconds * 1000 };
  }

  /** Where callers reach this installation, without a slash at its end. */
  get baseUrl(): string {
    return this.links.publicUrl();
  }

  /** Where the bytes of an artifact are, which this caller has seen: a link that was signed now. */
  urlOf(artifactId: string): string {
    return this.signedUrl(artifactId, Math.floor(this.nowMs() / 1000) + LIFE_SECONDS);
  }

  private signedUrl(artifactId: string, expSeconds: number): string {
    const path = `/v1/artifacts/${artifactId}/content`;
    const exp = String(expSeconds);
    const sig = this.links.signer.sign({ method: 'GET', path, exp });
    return `${this.baseUrl}${path}?exp=${exp}&sig=${encodeURIComponent(sig)}`;
  }

  private async read(artifact: ArtifactRecord, range?: BlobRange): Promise<AsyncIterable<Uint8Array>> {
    const { tenant, sha256, artifact_id } = artifact;
    const bytes = await this.ports.blobs.open(tenant, sha256, range);
    if (!bytes) {
      this.ports.logger.error('the bytes of an artifact are missing', { artifactId: artifact_id, sha256 });
      throw unknownArtifact();
    }
    return begun(this.watched(bytes, artifact));
  }

  /** Tells the operator of bytes that have changed: the reader only sees a connection that breaks. */
  private async *watched(bytes: AsyncIterable<Uint8Array>, artifact: ArtifactRecord): AsyncIterable<Uint8Array> {
    try {
      yield* bytes;
    } catch (error) {
      const { artifact_id, sha256 } = artifact;
      this.ports.logger.error('the bytes of an artifact cannot be read', { artifactId: artifact_id, sha256, error });
      throw error;
    }
  }
}

/**
 * The same bytes, the first of them already read: what is wrong from the start is known before a status goes out. No
 * generator: one that was never started would not pass on that its reader has left.
 */
async function begun(bytes: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = bytes[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> | undefined = await iterator.next();
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    const read = first ?? (await iterator.next());
    first = undefined;
    return read;
  };
  const leave = async (): Promise<IteratorResult<Uint8Array>> => {
    await iterator.return?.();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
}

/** `nosniff` and a sandbox: what a runner made must never run in our origin. */
function headersOf(artifact: ArtifactRecord): Readonly<Record<string, string>> {
  return {
    'Content-Type': MEDIA_TYPE.test(artifact.media_type) ? artifact.media_type : 'application/octet-stream',
    'Content-Disposition': contentDisposition(artifact.name),
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cache-Control': 'private, max-age=600',
    // Who has the link may show it: pages of callers live in other origins.
    'Cross-Origin-Resource-Policy': 'cross-origin',
  };
}

/** A media type comes from a runner: one that could break out of its header is not shown. */
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:; ?[\w-]{1,50}=[\w.+-]{1,100}){0,4}$/;

function unknownArtifact(): DomainError {
  return new DomainError('not_found', 'There is no such artifact.');
}
