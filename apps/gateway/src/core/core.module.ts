import {
  AgentStore,
  type AuditReader,
  AuditTrail,
  BlobStore,
  type DatabaseHealth,
  EventBus,
  EventLog,
  Logger,
  OutboundClient,
  type RunCalls,
  RunQueue,
  type SessionStore,
  TaskStore,
  ThreadStore,
  type ToolStore,
  TaskTokens,
  type UploadStore,
  type UsageStore,
} from '#lib/domain';
import { EventWriter, SessionAdvancer } from '#lib/execution';
import { PromMetrics, Readiness } from '#lib/platform';
import { ToolDirectory, type ToolOptions } from '#lib/tools';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { AgentDirectory } from './agent.directory.js';
import { AgentEditsService } from './agent-edits.service.js';
import type { RunnerKind } from './agent.declaration.js';
import { AgentsService } from './agents.service.js';
import { AnswersService } from './answers.service.js';
import { AuditService, type PublishedKey } from './audit.service.js';
import { Authenticator } from './authenticator.js';
import { ArtifactsService, type Links } from './artifacts.service.js';
import { AwaitedStreams } from './awaited-streams.js';
import { CallbacksService } from './callbacks.service.js';
import { type CallerPorts, callerServices } from './callers.js';
import { CancellationsService } from './cancellations.service.js';
import type { LimitTable } from './limits.js';
import { Quotas } from './quotas.js';
import { clientServices } from './clients.js';
import { heldTaskServices, type HeldTaskPorts } from './held-tasks.js';
import { ResultsService } from './results.service.js';
import { RunEnqueuer } from './run.enqueuer.js';
import { RunTokensService } from './run-tokens.service.js';
import type { RunnerTraits } from './runner-traits.js';
import { StreamHub } from './stream-hub.js';
import { StreamsService } from './streams.service.js';
import { SubmissionsService } from './submissions.service.js';
import { SyncService } from './sync.service.js';
import { TaskTokenAuthenticator } from './task-token.authenticator.js';
import { ToolsService } from './tools.service.js';
import { TasksService } from './tasks.service.js';
import { ToolCallsService } from './tool-calls.service.js';
import { UploadsService } from './uploads.service.js';
import { type NoticePorts, webhookServices } from './webhook-services.js';

/** What the core stands on. */
export interface CorePorts extends CallerPorts, HeldTaskPorts, NoticePorts {
  readonly logger: Logger;
  readonly metrics: PromMetrics;
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  readonly log: EventLog;
  readonly agents: AgentStore;
  readonly toolStore: ToolStore;
  readonly threads: ThreadStore;
  readonly toolOptions: ToolOptions;
  readonly audit: AuditTrail;
  readonly auditReader: AuditReader;
  /** Those this gateway signs heads with, or has. */
  readonly auditKeys: readonly PublishedKey[];
  readonly blobs: BlobStore;
  readonly uploads: UploadStore;
  readonly usage: UsageStore;
  readonly limits: LimitTable;
  /** The largest upload, in bytes. */
  readonly maxUploadBytes: number;
  readonly syncWaitMs: number;
  readonly heldMs: number;
  readonly health: DatabaseHealth;
  /** What an operator should know although all works. */
  readonly notes: () => readonly string[];
  readonly queue: RunQueue;
  readonly bus: EventBus;
  readonly links: Links;
  readonly tokens: TaskTokens;
  readonly outbound: OutboundClient;
  readonly calls: RunCalls;
  readonly runners: readonly (RunnerKind & RunnerTraits)[];
}

/** The services every surface shares. */
@Module({})
export class CoreModule {
  static over(ports: CorePorts): DynamicModule {
    const providers = [...portProviders(ports), ...serviceProviders(ports)];
    return { module: CoreModule, providers, exports: providers.map((provider) => provider.provide) };
  }
}

type NamedProvider = Exclude<Provider, new (...args: never[]) => unknown>;

function portProviders(ports: CorePorts): readonly NamedProvider[] {
  return [
    { provide: Logger, useValue: ports.logger },
    { provide: PromMetrics, useValue: ports.metrics },
    { provide: TaskStore, useValue: ports.tasks },
    { provide: ThreadStore, useValue: ports.threads },
    { provide: EventLog, useValue: ports.log },
    { provide: AgentStore, useValue: ports.agents },
    { provide: AuditTrail, useValue: ports.audit },
    { provide: BlobStore, useValue: ports.blobs },
    { provide: TaskTokens, useValue: ports.tokens },
    { provide: RunQueue, useValue: ports.queue },
    { provide: EventBus, useValue: ports.bus },
    { provide: OutboundClient, useValue: ports.outbound },
  ];
}

/** What writes events and starts runs. */
function writingServices(ports: CorePorts): readonly NamedProvider[] {
  return [
    { provide: EventWriter, useFactory: () => new EventWriter(ports) },
    {
      provide: SessionAdvancer,
      useFactory: (writer: EventWriter) => new SessionAdvancer({ ...ports, writer }),
      inject: [EventWriter],
    },
    {
      provide: RunEnqueuer,
      useFactory: (advancer: SessionAdvancer) => new RunEnqueuer(ports.queue, ports.logger, advancer),
      inject: [SessionAdvancer],
    },
  ];
}

function serviceProviders(ports: CorePorts): readonly NamedProvider[] {
  return [
    ...writingServices(ports),
    ...callerServices(ports),
    ...sharedServices(ports),
    ...agentServices(ports),
    ...toolServices(ports),
    ...taskServices(ports),
    ...heldTaskServices(ports),
    ...clientServices(ports),
    ...artifactServices(ports),
    ...runServices(ports),
    ...webhookServices(ports),
  ];
}

function sharedServices(ports: CorePorts): readonly NamedProvider[] {
  return [
    {
      provide: AuditService,
      useFactory: () => new AuditService(ports.auditReader, ports.audit, ports.auditKeys),
    },
    { provide: Readiness, useFactory: () => new Readiness(ports.health, ports.bus, ports.notes) },
    { provide: StreamHub, useFactory: () => new StreamHub(ports) },
    { provide: Quotas, useFactory: () => new Quotas(ports) },
  ];
}

function agentServices(ports: CorePorts): readonly NamedProvider[] {
  return [
    {
      provide: AgentDirectory,
      useFactory: () => new AgentDirectory({ ...ports, store: ports.agents }),
    },
    {
      provide: AgentsService,
      useFactory: (directory: AgentDirectory, tools: ToolDirectory) =>
        new AgentsService(directory, ports.agents, tools),
      inject: [AgentDirectory, ToolDirectory],
    },
    {
      provide: AgentEditsService,
      useFactory: (directory: AgentDirectory) => new AgentEditsService(ports.agents, directory, ports.runners),
      inject: [AgentDirectory],
    },
  ];
}

function toolServices(ports: CorePorts): readonly NamedProvider[] {
  const { toolStore: store, toolOptions: options } = ports;
  return [
    {
      provide: ToolDirectory,
      useFactory: () => new ToolDirectory({ ...ports, ...options, store, watcher: 'gateway', isWatching: false }),
    },
    {
      provide: ToolsService,
      useFactory: (directory: ToolDirectory) => new ToolsService({ ...ports, store }, directory, options.stdio),
      inject: [ToolDirectory],
    },
  ];
}

function taskServices(ports: CorePorts): readonly NamedProvider[] {
  return [
    {
      provide: SubmissionsService,
      useFactory: (
        ...[directory, enqueuer, hub, quotas, callbacks]: [
          AgentDirectory,
          RunEnqueuer,
          StreamHub,
          Quotas,
          CallbacksService,
        ]
      ) => new SubmissionsService({ ...ports, quotas, callbacks }, directory, enqueuer, hub),
      inject: [AgentDirectory, RunEnqueuer, StreamHub, Quotas, CallbacksService],
    },
    {
      provide: TasksService,
      useFactory: (hub: StreamHub, quotas: Quotas, callers: Authenticator) =>
        new TasksService(ports.tasks, hub, quotas, callers),
      inject: [StreamHub, Quotas, Authenticator],
    },
    {
      provide: CancellationsService,
      useFactory: (tasks: TasksService, writer: EventWriter) => new CancellationsService(tasks, { ...ports, writer }),
      inject: [TasksService, EventWriter],
    },
    {
      provide: SyncService,
      useFactory: (tasks: TasksService) => new SyncService(tasks, ports.syncWaitMs),
      inject: [TasksService],
    },
    {
      provide: AnswersService,
      useFactory: (tasks: TasksService, writer: EventWriter, enqueuer: RunEnqueuer, tools: ToolDirectory) =>
        new AnswersService(tasks, ports.tasks, writer, { enqueuer, tools }),
      inject: [TasksService, EventWriter, RunEnqueuer, ToolDirectory],
    },
    {
      provide: StreamsService,
      useFactory: (tasks: TasksService, hub: StreamHub, quotas: Quotas) =>
        new StreamsService(tasks, hub, ports.log, quotas),
      inject: [TasksService, StreamHub, Quotas],
    },
    {
      provide: AwaitedStreams,
      useFactory: (streams: StreamsService) => new AwaitedStreams(ports, streams),
      inject: [StreamsService],
    },
  ];
}

/** What runs are served with their own tokens. */
function runServices(ports: CorePorts): readonly NamedProvider[] {
  return [
    {
      provide: TaskTokenAuthenticator,
      useFactory: (quotas: Quotas) => new TaskTokenAuthenticator({ ...ports, quotas }),
      inject: [Quotas],
    },
    {
      provide: RunTokensService,
      useFactory: (authenticator: TaskTokenAuthenticator) =>
        new RunTokensService(ports.tokens, authenticator, ports.audit),
      inject: [TaskTokenAuthenticator],
    },
    {
      provide: ToolCallsService,
      useFactory: (writer: EventWriter, catalog: ToolDirectory) => new ToolCallsService({ ...ports, writer, catalog }),
      inject: [EventWriter, ToolDirectory],
    },
  ];
}

function artifactServices(ports: CorePorts): readonly NamedProvider[] {
  return [
    { provide: ResultsService, useFactory: () => new ResultsService(ports) },
    { provide: ArtifactsService, useFactory: () => new ArtifactsService(ports, ports.links) },
    {
      provide: UploadsService,
      useFactory: (artifacts: ArtifactsService, quotas: Quotas) =>
        new UploadsService({ ...ports, quotas }, artifacts, ports.maxUploadBytes),
      inject: [ArtifactsService, Quotas],
    },
  ];
}
