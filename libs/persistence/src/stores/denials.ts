import type { AuditEntry } from '#lib/domain';

/** Distinct attempts of one principal that are kept apart within a period; those beyond become one record per action. */
const MAX_PER_PRINCIPAL = 100;
/** The same, of everybody together. */
const MAX_IN_ALL = 5_000;
/** Stands in for what differs among attempts that are too many to tell apart. */
const MANY = '*';

/** Equal attempts of one period. */
export interface Denial {
  readonly entry: AuditEntry;
  readonly firstMs: number;
  lastMs: number;
  count: number;
}

/** Attempts that were refused, equal ones counted together. Bounded, whatever anybody tries. */
export class Denials {
  private readonly kept = new Map<string, Denial>();
  private readonly perPrincipal = new Map<string, number>();

  add(entry: AuditEntry, nowMs: number): void {
    const known = this.kept.get(keyOf(entry));
    if (known) return again(known, nowMs);
    const owner = JSON.stringify([entry.tenant, entry.principal]);
    const own = this.perPrincipal.get(owner) ?? 0;
    if (this.kept.size >= MAX_IN_ALL) return this.addFolded({ ...entry, tenant: MANY, principal: MANY }, nowMs);
    if (own >= MAX_PER_PRINCIPAL) return this.addFolded(entry, nowMs);
    this.perPrincipal.set(owner, own + 1);
    this.kept.set(keyOf(entry), { entry, firstMs: nowMs, lastMs: nowMs, count: 1 });
  }

  /** What there is, to be recorded; nothing is left. */
  take(): readonly Denial[] {
    const denials = [...this.kept.values()];
    this.kept.clear();
    this.perPrincipal.clear();
    return denials;
  }

  /** Keeps what was taken and could not be recorded. */
  putBack(denials: readonly Denial[]): void {
    for (const denial of denials) {
      const key = keyOf(denial.entry);
      const known = this.kept.get(key);
      if (known) known.count += denial.count;
      else if (this.kept.size < MAX_IN_ALL) this.kept.set(key, denial);
    }
  }

  private addFolded(entry: AuditEntry, nowMs: number): void {
    const folded = { ...entry, keyId: MANY, target: MANY, requestId: MANY, details: JSON.stringify(codeOf(entry)) };
    const known = this.kept.get(keyOf(folded));
    if (known) again(known, nowMs);
    // The actions and codes of the product are few; should they not be, counting ends here and memory does not grow.
    else if (this.kept.size < 2 * MAX_IN_ALL) {
      this.kept.set(keyOf(folded), { entry: folded, firstMs: nowMs, lastMs: nowMs, count: 1 });
    }
  }
}

function again(denial: Denial, nowMs: number): void {
  denial.count += 1;
  denial.lastMs = nowMs;
}

function keyOf(entry: AuditEntry): string {
  const { tenant, principal, action, target } = entry;
  return JSON.stringify([tenant, principal, action, target, codeOf(entry)]);
}

function codeOf({ details }: AuditEntry): { readonly code?: unknown } {
  const { code } = detailsOf(details);
  return code === undefined ? {} : { code };
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
