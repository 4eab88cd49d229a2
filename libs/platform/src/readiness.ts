import type { DatabaseHealth, EventBus } from '#lib/domain';
import { within } from './within.js';

/** What an operator should know of a process, in words such as `postgres`, `migrations`, `partitions`, `bus`. */
export interface ReadinessReport {
  /** Without these the process cannot do its work: not ready. */
  readonly missing: readonly string[];
  /** Without these everything works, only later: ready. */
  readonly degraded: readonly string[];
  /** What works and is not as it should be. */
  readonly notes: readonly string[];
}

const LIMIT_MS = 1_500;

/**
 * Whether a process can do its work: while it serves and the database does. Without the bus, submissions still commit,
 * streams go on by the tail check and runs by the outbox.
 */
export class Readiness {
  private state: 'starting' | 'serving' | 'stopping' = 'starting';

  constructor(
    private readonly database: DatabaseHealth,
    private readonly bus: EventBus,
    private readonly notes: () => readonly string[] = () => [],
  ) {}

  /** A process that is stopping is not ready, so that no new work is sent to it. */
  become(state: 'serving' | 'stopping'): void {
    this.state = state;
  }

  /** Never rejects, and answers within two seconds. */
  async check(): Promise<ReadinessReport> {
    const [faults, hasBus] = await Promise.all([this.databaseFaults(), answers(this.bus.ping())]);
    const missing = this.state === 'serving' ? faults : [this.state, ...faults];
    return { missing, degraded: hasBus ? [] : ['bus'], notes: this.notes() };
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
