import type { DatabaseHealth, EventBus } from '#lib/domain';
import { within } from './within.js';

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

const LIMIT_MS = 1_500;

/** Ready while the database serves: without the bus, submissions still commit and streams go on by the tail check. */
export class GatewayReadiness extends Readiness {
  private isStopping = false;

  constructor(
    private readonly database: DatabaseHealth,
    private readonly bus: EventBus,
  ) {
    super();
  }

  /** From now on not ready, so that no new requests are sent here. */
  stop(): void {
    this.isStopping = true;
  }

  override async check(): Promise<ReadinessReport> {
    const [missing, hasBus] = await Promise.all([this.databaseFaults(), answers(this.bus.ping())]);
    return { missing: this.isStopping ? ['stopping', ...missing] : missing, degraded: hasBus ? [] : ['bus'] };
  }

  private async databaseFaults(): Promise<readonly string[]> {
    const faults = await within(this.database.faults(), LIMIT_MS).catch(() => undefined);
    return faults ?? ['postgres'];
  }
}

async function answers(ping: Promise<void>): Promise<boolean> {
  const pong = ping.then(() => true);
  return (await within(pong, LIMIT_MS).catch(() => false)) ?? false;
}
