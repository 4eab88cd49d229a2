import type { AuditEntry } from '../audit-entry.js';
import type { ArtifactId } from '../ids.js';
import type { BlobReference } from './blob-store.js';
import type { ArtifactRecord, Page, PageRequest, TaskScope } from './task-store.js';

/** Bytes a caller has sent ahead of the task that uses them. */
export interface Upload extends BlobReference {
  readonly artifactId: ArtifactId;
  readonly tenant: string;
  readonly principal: string;
  readonly name: string;
  readonly mediaType: string;
  readonly audit: AuditEntry;
}

/** Artifacts without a task; they are read by id like any other (`TaskStore.artifact`). */
export abstract class UploadStore {
  /** Stores it with its audit record, in one transaction. */
  abstract add(upload: Upload): Promise<ArtifactRecord>;
  /** Oldest first. @throws DomainError `invalid_request` for a cursor that is not ours. */
  abstract list(scope: TaskScope, page: PageRequest): Promise<Page<ArtifactRecord>>;
}
