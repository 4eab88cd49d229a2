/** What one gateway lets callers do, as it tells the others: by the name of what is counted, for tenants and keys apart. */
export interface GatewayUsage {
  /** The last few periods, oldest first; a reader takes those whose number it has not seen. */
  readonly periods: readonly UsagePeriod[];
  readonly open: readonly OpenUse[];
}

/** Requests between two exchanges. `number` counts the exchanges of the gateway. */
export interface UsagePeriod {
  readonly number: number;
  readonly requests: readonly (readonly [subject: string, count: number])[];
}

/** What somebody holds open at a gateway. */
export type OpenUse = readonly [subject: string, streams: number, waits: number];

/** Tasks of one principal that have not ended. */
export interface OpenTasks {
  readonly principal: string;
  readonly queued: number;
  /** Started: running or waiting for an answer. */
  readonly started: number;
}

/** What limits are measured against beyond one process. @throws DomainError `unavailable` */
export abstract class UsageStore {
  /** Tells the other gateways and learns what those alive have told, by their id. */
  abstract exchange(gatewayId: string, usage: GatewayUsage): Promise<ReadonlyMap<string, GatewayUsage>>;
  /** A gateway that stops takes what it told with it. */
  abstract leave(gatewayId: string): Promise<void>;
  /** Looks at no more than `atMost` of the tenant's tasks that have not ended, the oldest of them. */
  abstract openTasks(tenant: string, atMost: number): Promise<readonly OpenTasks[]>;
  /** Bytes of the artifacts and saved workspaces of a tenant; bytes that several of them name count each time. */
  abstract storedBytes(tenant: string): Promise<number>;
}
