import type { LimitStanding, UsageStore } from '#lib/domain';
import type { LimitTable } from './limits.js';

/** A sum is believed this long, in ms: it reads every artifact of the tenant from an index. */
const TRUST_MS = 10_000;
/** Summing takes at most this part of a connection's time. */
const MAX_LOAD = 1 / 50;
/** Tenants whose sum is kept. */
const MAX_TENANTS = 10_000;

interface Sum {
  readonly stored: number;
  readonly atMs: number;
  readonly tookMs: number;
}

/** Decides whether a tenant may store more. */
export class ByteQuota {
  private readonly sums = new Map<string, Sum>();
  private readonly summing = new Map<string, Promise<Sum>>();
  /** What came through this gateway since the last sum. */
  private readonly added = new Map<string, number>();

  constructor(
    private readonly store: UsageStore,
    private readonly table: LimitTable,
    private readonly nowMs: () => number,
  ) {}

  /** True when the tenant has no such limit: nobody needs to ask further. */
  isUnlimited(tenant: string): boolean {
    return this.table.ofTenant(tenant).artifactBytes === Infinity;
  }

  /**
   * Counts so many bytes in, unless they are too many; none: says whether the limit is passed.
   *
   * @throws DomainError `unavailable`
   */
  async take(tenant: string, bytes: number): Promise<LimitStanding | undefined> {
    const quota = this.table.ofTenant(tenant).artifactBytes;
    const { stored } = await this.sum(tenant);
    const left = quota - stored - (this.added.get(tenant) ?? 0);
    if (bytes === 0 ? left > 0 : bytes <= left) {
      this.add(tenant, bytes);
      return undefined;
    }
    return { policy: 'tenant-artifact-bytes', quota, unit: 'bytes', remaining: Math.max(0, left) };
  }

  /** So many bytes are stored, or about to be; fewer than 0: they are not after all. */
  add(tenant: string, bytes: number): void {
    this.added.set(tenant, (this.added.get(tenant) ?? 0) + bytes);
  }

  private sum(tenant: string): Sum | Promise<Sum> {
    const known = this.sums.get(tenant);
    if (!known) return this.renewed(tenant);
    if (this.nowMs() - known.atMs > Math.max(TRUST_MS, known.tookMs / MAX_LOAD))
      this.renewed(tenant).catch(() => undefined);
    return known;
  }

  private renewed(tenant: string): Promise<Sum> {
    let summing = this.summing.get(tenant);
    if (!summing) {
      summing = this.read(tenant).finally(() => this.summing.delete(tenant));
      this.summing.set(tenant, summing);
    }
    return summing;
  }

  private async read(tenant: string): Promise<Sum> {
    const startedAtMs = this.nowMs();
    const before = this.added.get(tenant) ?? 0;
    const stored = await this.store.storedBytes(tenant);
    const sum = { stored, atMs: this.nowMs(), tookMs: this.nowMs() - startedAtMs };
    // What was added while it was read may be in it or not: it stays on top.
    this.added.set(tenant, (this.added.get(tenant) ?? 0) - before);
    this.sums.set(tenant, sum);
    const [oldest] = this.sums.keys();
    if (this.sums.size > MAX_TENANTS && oldest !== undefined) {
      this.sums.delete(oldest);
      this.added.delete(oldest);
    }
    return sum;
  }
}
