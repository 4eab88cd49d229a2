import type { AuditEntry } from '#lib/domain';

/** Distinct attempts that are kept apart at once; those beyond become one record per action. */
const MAX_PER_PRINCIPAL = 100;
/** The same, of a tenant: its principals may be many. Those who are nobody are a tenant of this kind. */
const MAX_PER_TENANT = 1_000;
/** The same, of everybody together. */
const MAX_IN_ALL = 5_000;
/** What part of those allowances comes back with each period: whoever goes on gets few rows of their own. */
const COMES_BACK = 0.1;
/** Stands in for what differs among attempts that are too many to tell apart. */
const MANY = '*';

/** Equal attempts of one period. */
export interface Denial {
  readonly entry: AuditEntry;
  firstMs: number;
  lastMs: number;
  count: number;
}

/**
 * Attempts that were refused, equal ones counted together. Bounded, whatever anybody tries: what is too much to tell apart
 * is still counted, and nobody's attempts are folded for what others of another tenant do, up to the bound of all.
 */
export class Denials {
  private readonly kept = new Map<string, Denial>();
  private readonly taken = new Map<string, number>();

  add(entry: AuditEntry, nowMs: number): void {
    this.put({ entry, firstMs: nowMs, lastMs: nowMs, count: 1 });
  }

  /** What there is, to be recorded; nothing is left. */
  take(): readonly Denial[] {
    const denials = [...this.kept.values()];
    this.kept.clear();
    for (const [owner, places] of this.taken) {
      const left = places - COMES_BACK * maxOf(owner);
      if (left > 0) this.taken.set(owner, left);
      else this.taken.delete(owner);
    }
    return denials;
  }

  /** Keeps what was taken and could not be recorded. */
  putBack(denials: readonly Denial[]): void {
    for (const denial of denials) this.put(denial);
  }

  private put(denial: Denial): void {
    const known = this.kept.get(keyOf(denial.entry));
    if (known) return join(known, denial);
    const full = this.takePlace(denial.entry);
    if (full === undefined) this.kept.set(keyOf(denial.entry), { ...denial });
    else this.putFolded(denial, full);
  }

  /** Undefined when there was one, else what is full. */
  private takePlace({ tenant, principal }: AuditEntry): 'all' | 'tenant' | 'principal' | undefined {
    const owners = [[tenant], ...(principal === '' ? [] : [[tenant, principal]])].map((owner) => JSON.stringify(owner));
    const full = owners.filter((owner) => (this.taken.get(owner) ?? 0) > maxOf(owner) - 1);
    if (this.kept.size >= MAX_IN_ALL) return 'all';
    if (full.length > 0) return full[0] === owners[0] ? 'tenant' : 'principal';
    for (const owner of owners) this.taken.set(owner, (this.taken.get(owner) ?? 0) + 1);
    return undefined;
  }

  private putFolded(denial: Denial, full: 'all' | 'tenant' | 'principal'): void {
    const { entry } = denial;
    const folded = {
      ...entry,
      ...(full === 'all' && { tenant: MANY }),
      ...(full !== 'principal' && { principal: MANY }),
      ...{
        keyId: MANY,
        target: MANY,
        requestId: MANY,
        details: JSON.stringify({ code: detailsOf(entry.details)['code'] }),
      },
    };
    const known = this.kept.get(keyOf(folded));
    if (known) join(known, denial);
    // The actions and codes of the product are few; should they not be, counting ends here and memory does not grow.
    else if (this.kept.size < 2 * MAX_IN_ALL) this.kept.set(keyOf(folded), { ...denial, entry: folded });
  }
}

/** By what names an owner: a tenant, or a principal of one. */
function maxOf(owner: string): number {
  return (JSON.parse(owner) as unknown[]).length === 1 ? MAX_PER_TENANT : MAX_PER_PRINCIPAL;
}

function join(known: Denial, { firstMs, lastMs, count }: Denial): void {
  known.count += count;
  known.firstMs = Math.min(known.firstMs, firstMs);
  known.lastMs = Math.max(known.lastMs, lastMs);
}

/** Whoever comes with another key or from elsewhere is not hidden behind somebody who was refused the same. */
function keyOf({ tenant, principal, keyId, action, target, details }: AuditEntry): string {
  const { code, address } = detailsOf(details);
  return JSON.stringify([tenant, principal, keyId, action, target, code, address]);
}

/** The record of a denial. */
export function counted({ entry, count, firstMs, lastMs }: Denial): AuditEntry {
  const times = { first_at: new Date(firstMs).toISOString(), last_at: new Date(lastMs).toISOString() };
  return { ...entry, details: JSON.stringify({ ...detailsOf(entry.details), count, ...times }) };
}

function detailsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const details: unknown = JSON.parse(text);
    return typeof details === 'object' && details !== null ? (details as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
