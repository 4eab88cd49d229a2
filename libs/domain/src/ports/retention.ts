/** The removal of what is past its time. */
export abstract class Retention {
  /**
   * One bounded step; safe from any number of processes at once, of which one works.
   * @returns how much was removed; 0: nothing is left to do, or another process is at it.
   */
  abstract prune(maxRows: number): Promise<number>;
  /** The same of audit records that `AuditPruningLedger` has named. */
  abstract pruneAudit(maxRows: number): Promise<number>;
  /**
   * One bounded step of what only runs need, as tools gave it: the answers to calls by token of tasks that have ended.
   * @returns as above
   */
  abstract forgetCalls(maxRows: number): Promise<number>;
}
