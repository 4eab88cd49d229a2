import {
  type ArtifactRecord,
  type BlobStore,
  DomainError,
  isArtifactId,
  type Page,
  type PageRequest,
  type TaskStore,
  type UploadStore,
} from '#lib/domain';
import { newArtifactId } from '#lib/platform';
import type { ArtifactsService, LinkedArtifact } from './artifacts.service.js';
import { auditOf, type Caller, taskScopeOf } from './caller.js';
import type { Quotas } from './quotas.js';
import { type ByteLimits, receivedBytes } from './received-bytes.js';

/** Bytes on their way in. */
export interface UploadRequest extends Pick<ByteLimits, 'expected'> {
  readonly name: string;
  readonly mediaType: string;
  /** What its sender says; absent: it does not. */
  readonly announcedBytes?: number | undefined;
  readonly content: AsyncIterable<Uint8Array>;
  readonly requestId: string;
}

export interface UploadsPorts {
  readonly uploads: UploadStore;
  readonly tasks: TaskStore;
  readonly blobs: BlobStore;
  readonly quotas: Pick<Quotas, 'room'>;
}

/** What callers send ahead of the tasks that use it. */
export class UploadsService {
  constructor(
    private readonly ports: UploadsPorts,
    private readonly artifacts: ArtifactsService,
    /** The largest upload in bytes. */
    readonly maxBytes: number,
  ) {}

  /** Streams to storage, then names what is there. @throws what `receivedBytes` does, or `rate_limited`; nothing is kept then. */
  async upload(caller: Caller, request: UploadRequest): Promise<LinkedArtifact> {
    const settle = await this.ports.quotas.room(caller, request.announcedBytes ?? 0);
    let stored: ArtifactRecord | undefined;
    try {
      stored = await this.store(caller, request);
      return this.artifacts.link(stored);
    } finally {
      settle(stored?.size ?? 0);
    }
  }

  private async store(caller: Caller, request: UploadRequest): Promise<ArtifactRecord> {
    const { name, mediaType, content, expected, requestId } = request;
    const { tenant, principal } = caller;
    const limits = { maxBytes: this.maxBytes, expected };
    const blob = await this.ports.blobs.put(tenant, receivedBytes(content, limits));
    const artifactId = newArtifactId();
    const deed = { action: 'artifact.upload', target: artifactId, details: { ...blob }, requestId };
    const audit = auditOf(caller, deed);
    return this.ports.uploads.add({ artifactId, tenant, principal, name, mediaType, ...blob, audit });
  }

  /** Oldest first. */
  async list(caller: Caller, page: PageRequest): Promise<Page<LinkedArtifact>> {
    const { items, nextCursor } = await this.ports.uploads.list(taskScopeOf(caller), page);
    return { items: items.map((artifact) => this.artifacts.link(artifact)), nextCursor };
  }

  /** An upload, or an artifact of a task in reach. @throws DomainError `not_found` */
  async get(caller: Caller, artifactId: string): Promise<LinkedArtifact> {
    const artifact = isArtifactId(artifactId)
      ? await this.ports.tasks.artifact(taskScopeOf(caller), artifactId)
      : undefined;
    if (!artifact) throw new DomainError('not_found', 'There is no such artifact.');
    return this.artifacts.link(artifact);
  }
}
