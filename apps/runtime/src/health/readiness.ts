import type { DatabaseHealth, EventBus } from '#lib/domain';

/** `missing`: without these no run can be worked on. `degraded`: without these everything works, only later. */
export interface ReadinessReport {
  readonly missing: readonly string[];
  readonly degraded: readonly string[];
}

const LIMIT_MS = 1_500;

/** Whether this process takes runs. */
export class Readiness {
  private state: 'starting' | 'serving' | 'stopping' = 'starting';

  constructor(
    private readonly database: DatabaseHealth,
    private readonly bus: EventBus,
  ) {}

  become(state: 'serving' | 'stopping'): void {
    this.state = state;
  }

  /** Never rejects, and answers within two seconds. */
  async check(): Promise<ReadinessReport> {
    const [faults, pong] = await Promise.all([
      within(this.database.faults().catch(() => ['postgres'])),
      within(
        this.bus.ping().then(
          () => true,
          () => false,
        ),
      ),
    ]);
    const missing = [...(this.state === 'serving' ? [] : [this.state]), ...(faults ?? ['postgres'])];
    return { missing, degraded: pong === true ? [] : ['bus'] };
  }
}

/** Undefined when there is no answer in time. */
async function within<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, LIMIT_MS, undefined)));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
