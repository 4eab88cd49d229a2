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
import type { Database, Statement } from '../database.js';
import { auditValues, insertAuditValues } from './audit.columns.js';
import { cut, decodeCursor } from './page.js';

/** API keys in Postgres. */
export class PgKeyStore extends KeyStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async find(id: string): Promise<KeyRecord | undefined> {
    const [row] = await this.database.query<ApiKeyRow>(FIND, [id]);
    return row && decodeKey(row);
  }

  override async lapsed(ids: readonly string[]): Promise<readonly string[]> {
    const rows = await this.database.query<{ id: string }>(LAPSED, [ids]);
    return rows.map(({ id }) => id);
  }

  override async list({ tenant, principal }: KeyFilter, page: PageRequest): Promise<Page<KeyRecord>> {
    const [createdAtMs, id] = decodeCursor(page, CURSOR)?.split(' ') ?? [];
    const after = createdAtMs === undefined ? null : new Date(Number(createdAtMs));
    const values = [tenant ?? null, principal ?? null, after, id ?? null, page.limit + 1];
    const keys = (await this.database.query<ApiKeyRow>(LIST, values)).map(decodeKey);
    return cut(keys, page, (key) => `${key.createdAtMs} ${key.id}`);
  }

  override async put({ expiresAtMs, ...key }: NewKey, audit: AuditEntry): Promise<void> {
    const expiresAt = expiresAtMs === null ? null : new Date(expiresAtMs);
    const { id, secretHash, tenant, principal, scopes, label } = key;
    await this.write(PUT, [id, Buffer.from(secretHash), tenant, principal, scopes, label, expiresAt], audit);
  }

  override async any(): Promise<boolean> {
    const [row] = await this.database.query<{ any: boolean }>(ANY, []);
    return row?.any ?? false;
  }

  override rotate({ id, secretHash, overlapMs }: Rotation, audit: AuditEntry): Promise<boolean> {
    return this.write(ROTATE, [id, Buffer.from(secretHash), overlapMs], audit);
  }

  override revoke(id: string, audit: AuditEntry): Promise<boolean> {
    return this.write(REVOKE, [id], audit);
  }

  override async markUsed(ids: readonly string[]): Promise<void> {
    await this.database.query(MARK_USED, [ids]);
  }

  /** Whether it changed a key; only then there is a record of it. */
  private async write(change: Statement, values: readonly unknown[], audit: AuditEntry): Promise<boolean> {
    return (await this.database.query(change, [...values, ...auditValues(audit)])).length > 0;
  }
}

interface ApiKeyRow {
  readonly id: string;
  readonly secret_hash: Buffer;
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly retiring: readonly { readonly hash: string; readonly until: number }[];
  readonly label: string | null;
  readonly rotated_at: Date | null;
  readonly last_used_at: Date | null;
}

/** When it was made, in ms since the epoch, and its id. */
const CURSOR = /^\d{1,15} [a-z0-9]{1,32}$/;

/** A statement that changes a key, the parameters of its record following its own. */
function audited(name: string, change: string, parameters: number): Statement {
  const text = `with changed as (${change} returning id), audited as (${insertAuditValues(parameters + 1, 'changed')}) select id from changed`;
  return { name: `key-store.${name}`, text };
}

const PUT = audited(
  'put',
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
  'rotate',
  `
update api_keys set secret_hash = $2, rotated_at = clock_timestamp(),
  retiring = case when $3::bigint = 0 then '[]' else
    (select coalesce(jsonb_agg(r), '[]') from ${STILL_RETIRING})
      || jsonb_build_object('hash', encode(secret_hash, 'hex'), 'until', ${NOW_MS} + $3::bigint) end
where id = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
  and ($3::bigint = 0 or (select count(*) from ${STILL_RETIRING}) < ${MAX_LIVE_SECRETS - 1})`,
  3,
);

const FIND: Statement = { name: 'key-store.find', text: 'select * from api_keys where id = $1' };

const ANY: Statement = { name: 'key-store.any', text: 'select exists (select from api_keys) as any' };

const LIST: Statement = {
  name: 'key-store.list',
  text: `select * from api_keys
where ($1::text is null or tenant = $1) and ($2::text is null or principal = $2)
  and ($3::timestamptz is null or (created_at, id) > ($3, $4::text))
order by created_at, id limit $5`,
};

const LAPSED: Statement = {
  name: 'key-store.lapsed',
  text: `
select id from api_keys where id = any ($1) and (revoked_at is not null or expires_at <= clock_timestamp())`,
};

const REVOKE = audited(
  'revoke',
  `update api_keys set revoked_at = clock_timestamp(), retiring = '[]' where id = $1 and revoked_at is null`,
  1,
);

/** Seldom enough to cost nothing, and in one order for all processes; a row that somebody changes is left for the next time. */
const MARK_USED: Statement = {
  name: 'key-store.mark-used',
  text: `
update api_keys k set last_used_at = clock_timestamp()
from (
  select id from api_keys
  where id = any ($1) and (last_used_at is null or last_used_at < clock_timestamp() - interval '4 minutes')
  order by id for no key update skip locked
) due
where k.id = due.id`,
};

function decodeKey(row: ApiKeyRow): KeyRecord {
  const timeOf = (time: Date | null): number | null => time?.getTime() ?? null;
  return {
    id: row.id,
    secretHash: row.secret_hash,
    retiring: row.retiring.map(({ hash, until }) => ({ secretHash: Buffer.from(hash, 'hex'), untilMs: until })),
    tenant: row.tenant,
    principal: row.principal,
    scopes: row.scopes as Scope[],
    label: row.label,
    createdAtMs: row.created_at.getTime(),
    rotatedAtMs: timeOf(row.rotated_at),
    expiresAtMs: timeOf(row.expires_at),
    revokedAtMs: timeOf(row.revoked_at),
    lastUsedAtMs: timeOf(row.last_used_at),
  };
}
