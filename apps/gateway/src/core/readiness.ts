/** What an operator should know of this process, in words such as `postgres`, `migrations`, `partitions`, `bus`. */
export interface ReadinessReport {
  /** Without these no request can be served: not ready. */
  readonly missing: readonly string[];
  /** Without these everything works, only later: ready. */
  readonly degraded: readonly string[];
}

/** Whether this process can serve requests. */
export abstract class Readiness {
  /** Never rejects, and answers within two seconds. */
  abstract check(): Promise<ReadinessReport>;
}
