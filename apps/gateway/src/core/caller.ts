import type { Scope, TaskScope } from '#lib/domain';

/** Who is calling, as proved by a key. */
export interface Caller {
  readonly tenant: string;
  readonly principal: string;
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** The tasks a caller reaches: its own, or with `tasks:all` those of its tenant. */
export function taskScopeOf({ tenant, principal, scopes }: Caller): TaskScope {
  return scopes.has('tasks:all') ? { tenant } : { tenant, principal };
}
