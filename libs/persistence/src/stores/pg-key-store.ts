import {
  type AuditEntry,
  type KeyFilter,
  type KeyRecord,
  KeyStore,
  MAX_LIVE_SECRETS,
  type NewKey,
  type Page,
  type PageRequest,
  type Rotation,
  type Scope,
} from '#lib/domain';
import type { DataSource, Repository } from 'typeorm';
import { ApiKeyRow } from '../entities/access.row.js';
import { orUnavailable } from '../unavailable.js';
import { auditValues, insertAuditValues } from './audit.columns.js';
import { cut, decodeCursor } from './page.js';

/** API keys in Postgres. */
export class PgKeyStore extends KeyStore {
  constructor(private readonly source: DataSource) {
    super();
  }

  override async find(id: string): Promise<KeyRecord | undefined> {
    const row = await orUnavailable(this.keys().findOneBy({ id }));
    return row ? decodeKey(row) : undefined;
  }

  override async lapsed(ids: readonly string[]): Promise<readonly string[]> {
    const rows = await orUnavailable(this.keys().query<{ id: string }[]>(LAPSED, [ids]));
    return rows.map(({ id }) => id);
  }

  override async list({ tenant, principal }: KeyFilter, page: PageRequest): Promise<Page<KeyRecord>> {
    const query = this.keys()
      .createQueryBuilder('k')
      .orderBy({ 'k.createdAt': 'ASC', 'k.id': 'ASC' })
      .limit(page.limit + 1);
    if (tenant !== undefined) query.andWhere('k.tenant = :tenant', { tenant });
    if (principal !== undefined) query.andWhere('k.principal = :principal', { principal });
    const after = decodeCursor(page, CURSOR)?.split(' ');
    if (after) {
      const at = new Date(Number(after[0]));
      query.andWhere('(k.created_at, k.id) > (:at::timestamptz, :id)', { at, id: after[1] });
    }
    const keys = (await orUnavailable(query.getMany())).map(decodeKey);
    return cut(keys, page, ({ createdAtMs, id }) => `${createdAtMs} ${id}`);
  }

  override async put({ expiresAtMs, ...key }: NewKey, audit: AuditEntry): Promise<void> {
    const expiresAt = expiresAtMs === null ? null : new Date(expiresAtMs);
    const { id, secretHash, tenant, principal, scopes, label } = key;
    await this.write(PUT, [id, Buffer.from(secretHash), tenant, principal, scopes, label, expiresAt], audit);
  }

  override async any(): Promise<boolean> {
    return orUnavailable(this.keys().exists());
  }

  override rotate({ id, secretHash, overlapMs }: Rotation, audit: AuditEntry): Promise<boolean> {
    return this.write(ROTATE, [id, Buffer.from(secretHash), overlapMs], audit);
  }

  override revoke(id: string, audit: AuditEntry): Promise<boolean> {
    return this.write(REVOKE, [id], audit);
  }

  override async markUsed(ids: readonly string[]): Promise<void> {
    await orUnavailable(this.source.query(MARK_USED, [ids]));
  }

  /** Whether it changed a key; only then there is a record of it. */
  private async write(text: string, values: readonly unknown[], audit: AuditEntry): Promise<boolean> {
    const query = this.source.query<unknown[]>(text, [...values, ...auditValues(audit)]);
    return (await orUnavailable(query)).length > 0;
  }

  private keys(): Repository<ApiKeyRow> {
    return this.source.getRepository(ApiKeyRow);
  }
}

/** When it was made, in ms since the epoch, and its id. */
const CURSOR = /^\d{1,15} [a-z0-9]{1,32}$/;

/** A statement that changes a key, the parameters of its record following its own. */
function audited(change: string, parameters: number): string {
  return `with changed as (${change} returning id), audited as (${insertAuditValues(parameters + 1, 'changed')}) select id from changed`;
}

const PUT = audited(
  `
insert into api_keys (id, secret_hash, tenant, principal, scopes, label, expires_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
on conflict (id) do update set secret_hash = excluded.secret_hash, tenant = excluded.tenant, principal = excluded.principal,
  scopes = excluded.scopes, label = excluded.label, expires_at = excluded.expires_at, created_at = excluded.created_at,
  retiring = '[]', rotated_at = null, revoked_at = null`,
  7,
);

const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
const STILL_RETIRING = `jsonb_array_elements(retiring) as r where (r ->> 'until')::bigint > ${NOW_MS}`;

/** The secret that was is added to those that retire; those whose time is over go. */
const ROTATE = audited(
  `
update api_keys set secret_hash = $2, rotated_at = clock_timestamp(),
  retiring = case when $3::bigint = 0 then '[]' else
    (select coalesce(jsonb_agg(r), '[]') from ${STILL_RETIRING})
      || jsonb_build_object('hash', encode(secret_hash, 'hex'), 'until', ${NOW_MS} + $3::bigint) end
where id = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
  and ($3::bigint = 0 or (select count(*) from ${STILL_RETIRING}) < ${MAX_LIVE_SECRETS - 1})`,
  3,
);

const LAPSED = `
select id from api_keys where id = any ($1) and (revoked_at is not null or expires_at <= clock_timestamp())`;

const REVOKE = audited(
  `update api_keys set revoked_at = clock_timestamp(), retiring = '[]' where id = $1 and revoked_at is null`,
  1,
);

/** Seldom enough to cost nothing, and in one order for all processes; a row that somebody changes is left for the next time. */
const MARK_USED = `
update api_keys k set last_used_at = clock_timestamp()
from (
  select id from api_keys
  where id = any ($1) and (last_used_at is null or last_used_at < clock_timestamp() - interval '4 minutes')
  order by id for no key update skip locked
) due
where k.id = due.id`;

function decodeKey(row: ApiKeyRow): KeyRecord {
  const timeOf = (time: Date | null): number | null => time?.getTime() ?? null;
  return {
    id: row.id,
    secretHash: row.secretHash,
    retiring: row.retiring.map(({ hash, until }) => ({ secretHash: Buffer.from(hash, 'hex'), untilMs: until })),
    tenant: row.tenant,
    principal: row.principal,
    scopes: row.scopes as Scope[],
    label: row.label,
    createdAtMs: row.createdAt.getTime(),
    rotatedAtMs: timeOf(row.rotatedAt),
    expiresAtMs: timeOf(row.expiresAt),
    revokedAtMs: timeOf(row.revokedAt),
    lastUsedAtMs: timeOf(row.lastUsedAt),
  };
}
