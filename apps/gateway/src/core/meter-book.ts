import type { OpenUse, UsagePeriod } from '#lib/domain';
import type { Caller } from './caller.js';
import type { LimitTable } from './limits.js';
import { Meter } from './meter.js';

/** Of more than these the busiest are told: a row that every gateway reads each second must stay small. */
const MAX_TOLD = 2_000;

/** The meters of the tenants and keys that are busy. */
export class MeterBook {
  private readonly tenants = new Map<string, Meter>();
  private readonly keys = new Map<string, Meter>();

  constructor(
    private readonly table: LimitTable,
    private readonly nowMs: () => number,
  ) {}

  ofTenant(tenant: string): Meter {
    let meter = this.tenants.get(tenant);
    if (!meter) {
      meter = new Meter('tenant', this.table.ofTenant(tenant), this.nowMs());
      this.tenants.set(tenant, meter);
    }
    return meter;
  }

  ofKey({ keyId }: Pick<Caller, 'keyId'>): Meter {
    let meter = this.keys.get(keyId);
    if (!meter) {
      meter = new Meter('key', this.table.ofKey(keyId), this.nowMs());
      this.keys.set(keyId, meter);
    }
    return meter;
  }

  /** Requests since this was asked last, by subject. */
  takeSpent(): UsagePeriod['requests'] {
    const spent: [string, number][] = [];
    for (const [subject, meter] of this.all()) {
      const count = meter.takeSpent();
      if (count > 0) spent.push([subject, count]);
    }
    return busiest(spent, ([, count]) => count);
  }

  open(): readonly OpenUse[] {
    const open: OpenUse[] = [];
    for (const [subject, { streams, waits }] of this.all())
      if (streams + waits > 0) open.push([subject, streams, waits]);
    return busiest(open, ([, streams, waits]) => streams + waits);
  }

  /** What the other gateways let through lately, and what they hold open now. */
  hear(periods: readonly UsagePeriod[], open: readonly OpenUse[]): void {
    for (const { requests } of periods) for (const [subject, count] of requests) this.of(subject)?.owe(count);
    const sums = new Map<string, [streams: number, waits: number]>();
    for (const [subject, streams, waits] of open) {
      const sum = sums.get(subject) ?? [0, 0];
      sums.set(subject, [sum[0] + streams, sum[1] + waits]);
      this.of(subject);
    }
    for (const [subject, meter] of this.all()) meter.hear(...(sums.get(subject) ?? [0, 0]));
    this.forget(sums);
  }

  /** A meter that says nothing is made again when it is asked for. */
  private forget(heard: ReadonlyMap<string, unknown>): void {
    const nowMs = this.nowMs();
    for (const [prefix, meters] of [['t:', this.tenants] as const, ['k:', this.keys] as const])
      for (const [name, meter] of meters) if (!heard.has(prefix + name) && meter.isAtRest(nowMs)) meters.delete(name);
  }

  private of(subject: string): Meter | undefined {
    const name = subject.slice(2);
    return subject.startsWith('t:') ? this.ofTenant(name) : this.ofKey({ keyId: name });
  }

  private *all(): Iterable<readonly [subject: string, meter: Meter]> {
    for (const [name, meter] of this.tenants) yield [`t:${name}`, meter];
    for (const [name, meter] of this.keys) yield [`k:${name}`, meter];
  }
}

function busiest<T>(items: readonly T[], weight: (item: T) => number): readonly T[] {
  if (items.length <= MAX_TOLD) return items;
  return [...items].sort((a, b) => weight(b) - weight(a)).slice(0, MAX_TOLD);
}
