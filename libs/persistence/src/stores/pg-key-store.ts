import { type KeyRecord, KeyStore, type Scope } from '#lib/domain';
import { type DataSource, IsNull, type Repository } from 'typeorm';
import { ApiKeyRow } from '../entities/access.row.js';
import { orUnavailable } from '../unavailable.js';

/** API keys in Postgres. */
export class PgKeyStore extends KeyStore {
  constructor(private readonly source: DataSource) {
    super();
  }

  override async find(id: string): Promise<KeyRecord | undefined> {
    const row = await orUnavailable(this.keys().findOneBy({ id }));
    return row ? decodeKey(row) : undefined;
  }

  override async list(): Promise<readonly KeyRecord[]> {
    return (await orUnavailable(this.keys().find({ order: { createdAt: 'ASC', id: 'ASC' } }))).map(decodeKey);
  }

  override async put(key: Omit<KeyRecord, 'createdAtMs' | 'revokedAtMs'>): Promise<void> {
    const { id, tenant, principal, expiresAtMs } = key;
    await orUnavailable(
      this.keys().upsert(
        {
          id,
          tenant,
          principal,
          secretHash: Buffer.from(key.secretHash),
          scopes: [...key.scopes],
          expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs),
          createdAt: () => 'clock_timestamp()',
          revokedAt: null,
        },
        ['id'],
      ),
    );
  }

  override async any(): Promise<boolean> {
    return orUnavailable(this.keys().exists());
  }

  override async revoke(id: string): Promise<boolean> {
    const { affected } = await orUnavailable(
      this.keys().update({ id, revokedAt: IsNull() }, { revokedAt: () => 'clock_timestamp()' }),
    );
    return affected === 1;
  }

  private keys(): Repository<ApiKeyRow> {
    return this.source.getRepository(ApiKeyRow);
  }
}

function decodeKey(row: ApiKeyRow): KeyRecord {
  return {
    id: row.id,
    secretHash: row.secretHash,
    tenant: row.tenant,
    principal: row.principal,
    scopes: row.scopes as Scope[],
    createdAtMs: row.createdAt.getTime(),
    expiresAtMs: row.expiresAt?.getTime() ?? null,
    revokedAtMs: row.revokedAt?.getTime() ?? null,
  };
}
