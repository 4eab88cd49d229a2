import type { Logger, Metrics } from '#lib/domain';
import { createSweeps, type EventWriter, type SessionAdvancer, SweepLoop } from '#lib/execution';
import type { Readiness } from '#lib/platform';
import type { ToolDirectory } from '#lib/tools';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { RuntimeConfig } from './config.js';
import type { AdapterHost } from './execution/adapter.host.js';
import type { JobIntake } from './execution/job.intake.js';
import type { LiveRuns } from './execution/live-runs.js';
import { removeLeftovers } from './execution/workspace.leftovers.js';
import type { Infrastructure } from './infrastructure.js';

/** How long runs that are handed over may take to stop. */
const HAND_OVER_MS = 2_000;

export interface RuntimeParts {
  readonly infrastructure: Infrastructure;
  readonly adapters: AdapterHost;
  readonly tools: ToolDirectory;
  readonly writer: EventWriter;
  readonly advancer: SessionAdvancer;
  readonly live: LiveRuns;
  readonly intake: JobIntake;
  readonly readiness: Readiness;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Starts and stops a runtime, each thing before those that need it and after those that use it. */
export class RuntimeLifecycle {
  private readonly sweeps: SweepLoop;
  /** Resolves with what makes it impossible to go on. */
  readonly broken: Promise<Error>;

  constructor(
    private readonly parts: RuntimeParts,
    private readonly config: RuntimeConfig,
  ) {
    const { live, logger, metrics } = parts;
    this.sweeps = new SweepLoop(logger, metrics);
    metrics.gauge('switchyard_runs_open', () => [[{}, live.size]]);
    this.broken = new Promise((resolve) => parts.infrastructure.leases.onFailure(resolve));
  }

  async start(): Promise<void> {
    const { infrastructure, adapters, advancer, live, logger, metrics, intake, readiness, writer } = this.parts;
    const { messaging, partitions, runs, blobs, removals, retention } = infrastructure;
    await this.assertSchema();
    const leftovers = await removeLeftovers(this.config.workDir, hostname());
    if (leftovers.length > 0) logger.info('workspaces of runtimes that are gone were removed', { leftovers });
    await this.parts.tools.open();
    await live.start();
    this.sweeps.start(
      createSweeps(
        {
          runs,
          writer,
          advancer,
          logger,
          metrics,
          blobs,
          removals,
          retention,
          queue: messaging.queue,
          bus: messaging.bus,
        },
        {
          leaseMs: this.config.leaseMs,
          canResume: (runner) => adapters.canResume(runner),
          ensurePartitions: () => partitions.ensure(),
        },
      ),
    );
    await intake.open();
    readiness.become('serving');
    logger.info('the runtime takes runs', { kinds: adapters.kinds, slots: this.config.runSlots });
  }

  /** Lets runs finish within the drain time and hands over the rest. */
  async stop(): Promise<void> {
    const { adapters, advancer, infrastructure, intake, live, logger, readiness, writer } = this.parts;
    readiness.become('stopping');
    await intake.stop();
    await Promise.race([intake.idle(), delay(this.config.drainMs, undefined, { ref: false })]);
    if (live.size > 0) logger.info('runs that go on are handed over', { runs: live.size });
    live.stopAll('handover', HAND_OVER_MS);
    await intake.idle();
    await this.sweeps.stop();
    await writer.close();
    await advancer.close();
    await infrastructure.messaging.close();
    live.stop();
    await adapters.close();
    await this.parts.tools.close();
    await infrastructure.close();
  }

  private async assertSchema(): Promise<void> {
    const faults = await this.parts.infrastructure.health.faults();
    if (faults.includes('migrations')) {
      throw new Error('DATABASE_URL: the schema is not the one this version needs; run: npm run migrate');
    }
  }
}
