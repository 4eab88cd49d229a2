import {
  type AuditEntry,
  type KeyFilter,
  type KeyRecord,
  KeyStore,
  keyStateOf,
  MAX_LIVE_SECRETS,
  type NewKey,
  type Page,
  type PageRequest,
  type Rotation,
} from '#lib/domain';

/** Keys in memory, with the records of what was done to them; passes what the store in Postgres does. */
export class MemoryKeyStore extends KeyStore {
  readonly rows = new Map<string, KeyRecord>();
  readonly records: AuditEntry[] = [];
  readonly used: string[][] = [];

  constructor(private readonly nowMs: () => number = Date.now) {
    super();
  }

  override async find(id: string): Promise<KeyRecord | undefined> {
    return this.rows.get(id);
  }

  override async lapsed(ids: readonly string[]): Promise<readonly string[]> {
    return ids.filter((id) => {
      const key = this.rows.get(id);
      return key !== undefined && keyStateOf(key, this.nowMs()) !== 'live';
    });
  }

  override async list({ tenant, principal }: KeyFilter, { limit, cursor }: PageRequest): Promise<Page<KeyRecord>> {
    const wanted = [...this.rows.values()].filter(
      (key) => (tenant ?? key.tenant) === key.tenant && (principal ?? key.principal) === key.principal,
    );
    const from = cursor === undefined ? 0 : Number(cursor);
    const next = from + limit < wanted.length ? { nextCursor: String(from + limit) } : {};
    return { items: wanted.slice(from, from + limit), ...next };
  }

  override async put(key: NewKey, audit: AuditEntry): Promise<void> {
    const fresh = { retiring: [], rotatedAtMs: null, revokedAtMs: null };
    const lastUsedAtMs = this.rows.get(key.id)?.lastUsedAtMs ?? null;
    this.rows.set(key.id, { ...key, ...fresh, createdAtMs: this.nowMs(), lastUsedAtMs });
    this.records.push(audit);
  }

  override async any(): Promise<boolean> {
    return this.rows.size > 0;
  }

  override async rotate({ id, secretHash, overlapMs }: Rotation, audit: AuditEntry): Promise<boolean> {
    const nowMs = this.nowMs();
    const key = this.rows.get(id);
    if (!key || keyStateOf(key, nowMs) !== 'live') return false;
    const retiring = key.retiring.filter(({ untilMs }) => untilMs > nowMs);
    if (overlapMs > 0 && retiring.length >= MAX_LIVE_SECRETS - 1) return false;
    const ending = { secretHash: key.secretHash, untilMs: nowMs + overlapMs };
    this.rows.set(id, { ...key, secretHash, rotatedAtMs: nowMs, retiring: overlapMs > 0 ? [...retiring, ending] : [] });
    this.records.push(audit);
    return true;
  }

  override async revoke(id: string, audit: AuditEntry): Promise<boolean> {
    const key = this.rows.get(id);
    if (!key || key.revokedAtMs !== null) return false;
    this.rows.set(id, { ...key, revokedAtMs: this.nowMs(), retiring: [] });
    this.records.push(audit);
    return true;
  }

  override async markUsed(ids: readonly string[]): Promise<void> {
    this.used.push([...ids]);
  }
}
