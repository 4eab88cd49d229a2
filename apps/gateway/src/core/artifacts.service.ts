import type { ArtifactRecord, Page, PageRequest } from '#lib/domain';
import type { Caller } from './caller.js';

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

/** What tasks produced. An artifact that is unknown or out of reach is DomainError `not_found`. */
export abstract class ArtifactsService {
  abstract list(caller: Caller, taskId: string, page: PageRequest): Promise<Page<LinkedArtifact>>;
  abstract get(caller: Caller, taskId: string, artifactId: string): Promise<LinkedArtifact>;
  /** @throws DomainError `forbidden` for a link that is not ours, was changed or is over. */
  abstract open(request: ContentRequest): Promise<ArtifactContent>;
}
