import { type AuditEntry, DomainError, type Scope, type TaskScope } from '#lib/domain';

/** Who is calling, as proved by a key. */
export interface Caller {
  readonly tenant: string;
  readonly principal: string;
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** When the token this caller came with is over, in ms since the epoch; the end of a key is asked of the store. */
  readonly expiresAtMs?: number;
}

/** The tasks a caller reaches: its own, or with `tasks:all` those of its tenant. */
export function taskScopeOf({ tenant, principal, scopes }: Caller): TaskScope {
  return scopes.has('tasks:all') ? { tenant } : { tenant, principal };
}

/** True for those who may see what runs behind agents, and change it. */
export function isOperator({ scopes }: Caller): boolean {
  return scopes.has('agents:write') && scopes.has('platform:admin');
}

/** For what a request turns out to ask beyond what its route does. @throws DomainError `forbidden` */
export function assertScopes({ scopes }: Pick<Caller, 'scopes'>, ...needed: readonly Scope[]): void {
  const missing = needed.filter((scope) => !scopes.has(scope));
  if (missing.length > 0) throw new DomainError('forbidden', `The credentials lack the scope ${missing.join(', ')}.`);
}

/** What a caller did, for the record. `details` hold no secrets. */
export interface Deed {
  readonly action: string;
  readonly target: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string;
}

export function auditOf({ tenant, principal, keyId }: Caller, { details, ...deed }: Deed): AuditEntry {
  return { tenant, principal, keyId, outcome: 'allowed', details: JSON.stringify(details), ...deed };
}
