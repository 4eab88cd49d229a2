import type { AuditEntry } from '../audit-entry.js';

/**
 * The audit trail, for deeds and attempts that have no transaction of their own. What changes something is recorded by
 * its store, in the transaction of the change.
 */
export abstract class AuditTrail {
  /** Writes them in a transaction of their own, all or none. @throws DomainError `unavailable` */
  abstract record(entries: readonly AuditEntry[]): Promise<void>;
  /**
   * Notes an attempt that was refused. Never throws, never waits. Those that agree in tenant, principal, action, target and
   * `code` become one record every 10 s, with their `count`; a process that is killed loses those of its last 10 s.
   */
  abstract denied(entry: AuditEntry): void;
}
