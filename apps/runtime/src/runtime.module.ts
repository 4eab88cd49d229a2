import type { RegisteredAdapter } from '#lib/adapters/contract';
import { REGISTRY } from '#lib/adapters/registry';
import type { Logger, Metrics } from '#lib/domain';
import { EventWriter, RunClaimer, SessionAdvancer } from '#lib/execution';
import { PromMetrics, Readiness } from '#lib/platform';
import { ToolDirectory } from '#lib/tools';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RuntimeConfig } from './config.js';
import { AdapterHost } from './execution/adapter.host.js';
import { isReservedName, promoteAttributes } from './execution/context-customisers.js';
import { JobIntake } from './execution/job.intake.js';
import { LiveRuns } from './execution/live-runs.js';
import { tokensOf } from './execution/run-tokens.js';
import { StallWatch } from './execution/stall.watch.js';
import { TaskExecutor } from './execution/task.executor.js';
import { TaskProcessor } from './execution/task.processor.js';
import { secretFieldsOf, toolsOf } from './execution/tools.source.js';
import { Workspaces } from './execution/workspaces.js';
import { HealthController } from './health/health.controller.js';
import { MetricsController } from './health/metrics.controller.js';
import { Infrastructure } from './infrastructure.js';
import { RuntimeLifecycle } from './runtime.lifecycle.js';

/** The parts of a runtime and how they are put together. */
@Module({ controllers: [HealthController, MetricsController] })
export class RuntimeModule {
  static create(config: RuntimeConfig, logger: Logger): DynamicModule {
    const metrics = new PromMetrics('runtime');
    const watch = { logger, metrics };
    return {
      module: RuntimeModule,
      providers: [
        { provide: PromMetrics, useValue: metrics },
        { provide: Infrastructure, useFactory: () => Infrastructure.open(config, watch) },
        { provide: AdapterHost, useFactory: () => hostAdapters(config) },
        ...writing(watch),
        tools(config, watch),
        ...running(config, watch),
        taking(config, logger),
        {
          provide: Readiness,
          useFactory: ({ health, messaging: { bus } }: Infrastructure) => new Readiness(health, bus),
          inject: [Infrastructure],
        },
        {
          provide: RuntimeLifecycle,
          useFactory: (
            infrastructure: Infrastructure,
            adapters: AdapterHost,
            tools: ToolDirectory,
            writer: EventWriter,
            advancer: SessionAdvancer,
            live: LiveRuns,
            intake: JobIntake,
            readiness: Readiness,
          ) =>
            new RuntimeLifecycle(
              { infrastructure, adapters, tools, writer, advancer, live, intake, readiness, ...watch },
              config,
            ),
          inject: [
            Infrastructure,
            AdapterHost,
            ToolDirectory,
            EventWriter,
            SessionAdvancer,
            LiveRuns,
            JobIntake,
            Readiness,
          ],
        },
      ],
    };
  }
}

/** What a process tells those who watch it through. */
interface Watch {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

function writing(watch: Watch): Provider[] {
  return [
    {
      provide: EventWriter,
      useFactory: ({ log, messaging: { bus } }: Infrastructure) => new EventWriter({ log, bus, ...watch }),
      inject: [Infrastructure],
    },
    {
      provide: SessionAdvancer,
      useFactory: ({ sessions, messaging: { bus, queue } }: Infrastructure, writer: EventWriter) =>
        new SessionAdvancer({ sessions, writer, queue, bus, logger: watch.logger }),
      inject: [Infrastructure, EventWriter],
    },
    { provide: StallWatch, useFactory: (writer: EventWriter) => new StallWatch(writer), inject: [EventWriter] },
  ];
}

function tools({ tools: options, runtimeId }: RuntimeConfig, watch: Watch): Provider {
  return {
    provide: ToolDirectory,
    useFactory: ({ tools: store, outbound, messaging: { bus } }: Infrastructure) =>
      new ToolDirectory({
        ...{ store, outbound, bus, ...watch, ...options },
        watcher: `runtime:${runtimeId}`,
        isWatching: true,
      }),
    inject: [Infrastructure],
  };
}

function running(config: RuntimeConfig, watch: Watch): Provider[] {
  const { runtimeId, leaseMs, workDir, workspaceMaxBytes, contextAttributes } = config;
  const { logger } = watch;
  const reserved = contextAttributes.filter(isReservedName);
  if (reserved.length > 0)
    logger.warn('CONTEXT_ATTRIBUTES has names that frameworks keep for themselves', { reserved });
  return [
    {
      provide: LiveRuns,
      useFactory: ({ leases, messaging: { bus } }: Infrastructure, stalls: StallWatch) =>
        new LiveRuns({ leases, bus, stalls, logger }, { runtimeId, leaseMs }),
      inject: [Infrastructure, StallWatch],
    },
    {
      provide: TaskExecutor,
      useFactory: (
        { blobs, outbound, tokens }: Infrastructure,
        adapters: AdapterHost,
        writer: EventWriter,
        stalls: StallWatch,
        live: LiveRuns,
        catalog: ToolDirectory,
      ) => {
        const workspaces = new Workspaces({ root: workDir, maxBytes: workspaceMaxBytes }, blobs);
        const customisers = [promoteAttributes(contextAttributes)];
        const tools = toolsOf(catalog, runtimeId);
        const ports = { adapters, writer, blobs, outbound, live, stalls, workspaces, tools, customisers, logger };
        const secretFields = secretFieldsOf(catalog);
        return new TaskExecutor({ ...ports, secretFields, tokens: (run) => tokensOf(tokens, run, { runtimeId }) });
      },
      inject: [Infrastructure, AdapterHost, EventWriter, StallWatch, LiveRuns, ToolDirectory],
    },
    {
      provide: TaskProcessor,
      useFactory: (
        { runs, messaging: { bus, queue } }: Infrastructure,
        executor: TaskExecutor,
        live: LiveRuns,
        stalls: StallWatch,
      ) => {
        const claimer = new RunClaimer({ runs, bus, ...watch }, { id: runtimeId, leaseMs });
        return new TaskProcessor({ claimer, executor, live, stalls, queue, logger });
      },
      inject: [Infrastructure, TaskExecutor, LiveRuns, StallWatch],
    },
  ];
}

function taking({ pools, runSlots: slots }: RuntimeConfig, logger: Logger): Provider {
  return {
    provide: JobIntake,
    useFactory: ({ messaging: { queue }, health }: Infrastructure, adapters: AdapterHost, processor: TaskProcessor) =>
      new JobIntake(
        { queue, database: health, logger, handle: (job) => processor.handle(job) },
        { pools: pools ?? adapters.kinds, slots },
      ),
    inject: [Infrastructure, AdapterHost, TaskProcessor],
  };
}

async function hostAdapters(config: RuntimeConfig): Promise<AdapterHost> {
  const { databaseUrl, executeModelCode, model } = config;
  const extra = config.extraAdapters === undefined ? [] : await loadAdapters(config.extraAdapters);
  return new AdapterHost([...REGISTRY, ...extra], { databaseUrl, executeModelCode, model });
}

async function loadAdapters(file: string): Promise<readonly RegisteredAdapter[]> {
  const module = (await import(pathToFileURL(path.resolve(file)).href)) as {
    readonly adapters: readonly RegisteredAdapter[];
  };
  return module.adapters;
}
