/** Whose limit it is. A key's limits on tasks count the tasks of its principal. */
export type LimitScope = 'tenant' | 'key';

/** What one tenant or one key may do. `Infinity` where there is no limit. */
export interface Limits {
  /** Sustained. */
  readonly requestsPerSecond: number;
  /** At once, after a time of rest. */
  readonly requestBurst: number;
  /** Accepted and not started. */
  readonly queuedTasks: number;
  /** Started and not ended; waiting for an answer counts. */
  readonly runningTasks: number;
  readonly openStreams: number;
  /** Long polls and submissions in sync mode. */
  readonly openWaits: number;
  /** Of stored artifacts. */
  readonly artifactBytes: number;
}

export type LimitName = keyof Limits;

/** Without a burst of its own a rate allows this many seconds' worth of requests at once. */
const BURST_SECONDS = 10;

export const UNLIMITED: Limits = Object.freeze({
  requestsPerSecond: Infinity,
  requestBurst: Infinity,
  queuedTasks: Infinity,
  runningTasks: Infinity,
  openStreams: Infinity,
  openWaits: Infinity,
  artifactBytes: Infinity,
});

/** For every tenant that nobody says otherwise of: they stop what runs away, and nothing else. */
export const DEFAULT_TENANT_LIMITS: Limits = Object.freeze({
  requestsPerSecond: 10_000,
  requestBurst: 100_000,
  queuedTasks: 100_000,
  runningTasks: 100_000,
  openStreams: 20_000,
  openWaits: 20_000,
  artifactBytes: Infinity,
});

/** Limits that say otherwise; a rate without a burst gets one that fits it. */
export type LimitChanges = Partial<Limits>;

export function limitsWith(base: Limits, changes: LimitChanges): Limits {
  const { requestsPerSecond, requestBurst } = changes;
  const burst =
    requestsPerSecond !== undefined && requestBurst === undefined
      ? { requestBurst: Math.max(1, Math.ceil(requestsPerSecond * BURST_SECONDS)) }
      : {};
  return Object.freeze({ ...base, ...changes, ...burst });
}

/** What is declared, and who it holds for. */
export class LimitTable {
  constructor(
    private readonly everyTenant: Limits = DEFAULT_TENANT_LIMITS,
    private readonly everyKey: Limits = UNLIMITED,
    private readonly tenants: ReadonlyMap<string, Limits> = new Map(),
    private readonly keys: ReadonlyMap<string, Limits> = new Map(),
  ) {}

  ofTenant(tenant: string): Limits {
    return this.tenants.get(tenant) ?? this.everyTenant;
  }

  ofKey(keyId: string): Limits {
    return this.keys.get(keyId) ?? this.everyKey;
  }
}
