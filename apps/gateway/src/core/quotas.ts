import { DomainError, type LimitStanding, type Logger, type Metrics, type UsageStore } from '#lib/domain';
import { ByteQuota } from './byte-quota.js';
import type { Caller } from './caller.js';
import type { LimitTable } from './limits.js';
import type { HeldKind, Meter } from './meter.js';
import { MeterBook } from './meter-book.js';
import { type TaskAdmission, TaskQuota } from './task-quota.js';
import { UsageExchange } from './usage-exchange.js';

/** When to come back where it is not known, in seconds. */
const RETRY_SECONDS = 2;
/** Bytes are freed by retention, once a task has been over for days. */
const RETRY_BYTES_SECONDS = 3_600;

export interface QuotasPorts {
  readonly limits: LimitTable;
  readonly usage: UsageStore;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Something a caller holds open; released once. */
export class Slot {
  private isHeld = true;

  constructor(
    private readonly kind: HeldKind,
    private readonly tenant: Meter,
    private readonly key: Meter,
  ) {}

  release(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.tenant.release(this.kind);
    this.key.release(this.kind);
  }
}

/**
 * What callers may use at once, per tenant and per key, over all gateways. Decided by what this process knows: no
 * request waits for a query or another process, but tasks of a tenant that is at its limit. Each method throws
 * DomainError `rate_limited`, which says which limit.
 */
export class Quotas {
  private readonly book: MeterBook;
  private readonly exchange: UsageExchange;
  private readonly tasks: TaskQuota;
  private readonly bytes: ByteQuota;

  constructor(
    private readonly ports: QuotasPorts,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    const { limits, usage, logger } = ports;
    this.book = new MeterBook(limits, nowMs);
    this.exchange = new UsageExchange(usage, this.book, logger);
    this.tasks = new TaskQuota(usage, limits, () => this.exchange.liveGateways, nowMs);
    this.bytes = new ByteQuota(usage, limits, nowMs);
  }

  /** Begins to tell the other gateways. */
  start(): void {
    this.exchange.start();
  }

  /** Tells the others now, and hears what they told. */
  synchronise(): Promise<void> {
    return this.exchange.exchange();
  }

  close(): Promise<void> {
    return this.exchange.close();
  }

  /** Counts a request. What it returns is for the caller to see: it has less than half left. */
  request(caller: Pick<Caller, 'tenant' | 'keyId'>): LimitStanding | undefined {
    const nowMs = this.nowMs();
    const tenant = this.book.ofTenant(caller.tenant);
    const key = this.book.ofKey(caller);
    if (!key.admits(nowMs)) throw this.refused(key.requests());
    if (!tenant.admits(nowMs)) throw this.refused(tenant.requests());
    key.spend();
    tenant.spend();
    if (key.isHalfSpent) return key.requests();
    return tenant.isHalfSpent ? tenant.requests() : undefined;
  }

  /** To be released when the stream, or the wait, is over. */
  hold(kind: HeldKind, caller: Caller): Slot {
    const tenant = this.book.ofTenant(caller.tenant);
    const key = this.book.ofKey(caller);
    const ofKey = key.hold(kind);
    if (ofKey) throw this.refused(ofKey);
    const ofTenant = tenant.hold(kind);
    if (!ofTenant) return new Slot(kind, tenant, key);
    key.release(kind);
    throw this.refused(ofTenant);
  }

  /** Before a task is stored; the result is called with whether it was. */
  async task(caller: Caller): Promise<TaskAdmission> {
    if (!this.bytes.isUnlimited(caller.tenant)) await this.takeRoom(caller, 0);
    const answer = this.tasks.admit(caller);
    const admission = typeof answer === 'function' ? answer : await answer;
    if (typeof admission === 'function') return admission;
    throw this.refused(admission);
  }

  /** Before bytes are taken in, as many as are announced; the result is called with how many were stored. */
  async room(caller: Caller, announced: number): Promise<(stored: number) => void> {
    const { tenant } = caller;
    if (this.bytes.isUnlimited(tenant)) return () => undefined;
    await this.takeRoom(caller, announced);
    return (stored) => this.bytes.add(tenant, stored - announced);
  }

  private async takeRoom({ tenant }: Caller, bytes: number): Promise<void> {
    const obstacle = await this.bytes.take(tenant, bytes);
    if (obstacle) throw this.refused(obstacle);
  }

  private refused(limit: LimitStanding): DomainError {
    const [scope = '', ...what] = limit.policy.split('-');
    this.ports.metrics.count('switchyard_limits_refused_total', { scope, limit: what.join('_') });
    const { policy, quota, unit } = limit;
    const retryAfterSeconds = limit.resetSeconds ?? (unit === 'bytes' ? RETRY_BYTES_SECONDS : RETRY_SECONDS);
    return new DomainError('rate_limited', `The limit ${policy} is reached: ${quota} ${unitText(limit)}.`, {
      retryAfterSeconds,
      limit,
    });
  }
}

function unitText({ unit, windowSeconds }: LimitStanding): string {
  const words = unit === 'concurrent-requests' ? 'at once' : unit;
  return windowSeconds === undefined ? words : `${words} in ${windowSeconds} s`;
}
