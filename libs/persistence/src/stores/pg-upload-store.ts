import {
  type ArtifactRecord,
  type Page,
  type PageRequest,
  type TaskScope,
  type Upload,
  UploadStore,
} from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { auditValues, insertAuditValues } from './audit.columns.js';
import { cut, decodeCursor } from './page.js';
import { ARTIFACT_COLUMNS, ARTIFACT_ID, type ArtifactRow, decodeArtifact } from './task.rows.js';

/** Uploaded artifacts in Postgres. */
export class PgUploadStore extends UploadStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async add({ audit, ...upload }: Upload): Promise<ArtifactRecord> {
    const [row] = await this.database.query<ArtifactRow>(ADD, [
      upload.artifactId,
      upload.tenant,
      upload.principal,
      upload.name,
      upload.mediaType,
      upload.size,
      upload.sha256,
      ...auditValues(audit),
    ]);
    return decodeArtifact(row as ArtifactRow);
  }

  override async list(scope: TaskScope, page: PageRequest): Promise<Page<ArtifactRecord>> {
    const after = decodeCursor(page, ARTIFACT_ID) ?? '';
    const values = [scope.tenant, scope.principal ?? null, after, page.limit + 1];
    const rows = await this.database.query<ArtifactRow>(LIST, values);
    return cut(rows.map(decodeArtifact), page, (artifact) => artifact.artifact_id);
  }
}

const ADD: Statement = {
  name: 'upload-store.add',
  text: `
with a as (
  insert into artifacts (artifact_id, tenant, created_by, kind, name, media_type, size, sha256, created_at)
  values ($1, $2, $3, 'input', $4, $5, $6, $7, clock_timestamp()) returning *
),
audited as (
  ${insertAuditValues(8)}
)
select ${ARTIFACT_COLUMNS} from a`,
};

const LIST: Statement = {
  name: 'upload-store.list',
  text: `select ${ARTIFACT_COLUMNS} from artifacts a
where a.tenant = $1 and a.task_key is null and ($2::text is null or a.created_by = $2) and a.artifact_id > $3
order by a.artifact_id limit $4`,
};
