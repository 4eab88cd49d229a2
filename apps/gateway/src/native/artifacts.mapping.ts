import type { Page } from '#lib/domain';
import type { LinkedArtifact } from '../core/artifacts.service.js';
import type { ArtifactAnswer, ArtifactsAnswer } from './answer.dto.js';
import { encodeTime } from './tasks.mapping.js';

export function encodeArtifact(artifact: LinkedArtifact): ArtifactAnswer {
  const { artifact_id, step_id, kind, name, media_type, size, sha256, origin, relative_path } = artifact;
  return {
    artifact_id,
    step_id,
    kind,
    name,
    media_type,
    size,
    sha256,
    origin,
    relative_path,
    created_at: encodeTime(artifact.createdAtMs),
    download_url: artifact.downloadUrl,
    download_expires_at: encodeTime(artifact.downloadExpiresAtMs),
  };
}

export function encodeArtifacts({ items, nextCursor }: Page<LinkedArtifact>): ArtifactsAnswer {
  return { artifacts: items.map(encodeArtifact), next_cursor: nextCursor ?? null };
}

export function artifactPath({ artifact_id }: { readonly artifact_id: string }): string {
  return `/v1/artifacts/${artifact_id}`;
}
