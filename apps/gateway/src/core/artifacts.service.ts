import {
  type ArtifactRecord,
  type BlobStore,
  DomainError,
  isArtifactId,
  isTaskId,
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

/** Bytes on their way out, with the headers that keep a browser from running them. */
export interface ArtifactContent {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: AsyncIterable<Uint8Array>;
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

const LIFE_SECONDS = 600;

/** What tasks produced. An artifact that is unknown or out of reach is DomainError `not_found`. */
export class ArtifactsService {
  constructor(
    private readonly store: TaskStore,
    private readonly blobs: BlobStore,
    private readonly links: Links,
    private readonly nowMs: () => number = Date.now,
  ) {}

  async list(caller: Caller, taskId: string, page: PageRequest): Promise<Page<LinkedArtifact>> {
    const task = isTaskId(taskId) ? await this.store.snapshot(taskScopeOf(caller), taskId) : undefined;
    if (!task) throw new DomainError('not_found', 'There is no such task.');
    const { items, nextCursor } = await this.store.artifacts(task.taskKey, page);
    return { items: items.map((artifact) => this.link(artifact)), nextCursor };
  }

  async get(caller: Caller, taskId: string, artifactId: string): Promise<LinkedArtifact> {
    const scope = taskScopeOf(caller);
    if (!isTaskId(taskId) || !isArtifactId(artifactId)) throw unknownArtifact();
    const [task, artifact] = await Promise.all([
      this.store.snapshot(scope, taskId),
      this.store.artifact(scope, artifactId),
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
    const artifact = isArtifactId(artifactId) ? await this.store.linkedArtifact(artifactId) : undefined;
    if (!artifact) throw unknownArtifact();
    const headers = headersOf(artifact);
    if (method === 'HEAD') return { headers, bytes: nothing() };
    const bytes = await this.blobs.open(artifact.tenant, artifact.sha256);
    if (!bytes) throw unknownArtifact();
    return { headers, bytes };
  }

  private link(artifact: ArtifactRecord): LinkedArtifact {
    const path = `/v1/artifacts/${artifact.artifact_id}/content`;
    const expSeconds = Math.floor(this.nowMs() / 1000) + LIFE_SECONDS;
    const exp = String(expSeconds);
    const sig = this.links.signer.sign({ method: 'GET', path, exp });
    return {
      ...artifact,
      downloadUrl: `${this.links.publicUrl()}${path}?exp=${exp}&sig=${encodeURIComponent(sig)}`,
      downloadExpiresAtMs: expSeconds * 1000,
    };
  }
}

/** `nosniff` and a sandbox: what a runner made must never run in our origin. */
function headersOf(artifact: ArtifactRecord): Readonly<Record<string, string>> {
  return {
    'Content-Type': MEDIA_TYPE.test(artifact.media_type) ? artifact.media_type : 'application/octet-stream',
    'Content-Length': String(artifact.size),
    'Content-Disposition': contentDisposition(artifact.name),
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cache-Control': 'private, max-age=600',
    ETag: `"${artifact.sha256}"`,
  };
}

/** A media type comes from a runner: one that could break out of its header is not shown. */
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:; ?[\w-]{1,50}=[\w.+-]{1,100}){0,4}$/;

function unknownArtifact(): DomainError {
  return new DomainError('not_found', 'There is no such artifact.');
}

async function* nothing(): AsyncIterable<Uint8Array> {}
