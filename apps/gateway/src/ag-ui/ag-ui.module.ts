import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { Logger, ThreadStore } from '#lib/domain';
import { AnswersService } from '../core/answers.service.js';
import { CancellationsService } from '../core/cancellations.service.js';
import { StreamsService } from '../core/streams.service.js';
import { SubmissionsService } from '../core/submissions.service.js';
import { TasksService } from '../core/tasks.service.js';
import { WatchersService } from '../core/watchers.service.js';
import { ErrorWires } from '../http/error.wires.js';
import { EventStreams } from '../http/sse.js';
import type { AgUiOptions } from './ag-ui.options.js';
import { AgUiCapabilitiesController } from './capabilities.controller.js';
import { loadExtensions } from './extensions.js';
import { RunStreams } from './run.streams.js';
import { AgUiRunsController } from './runs.controller.js';
import { encodeAgUiError } from './runs.mapping.js';
import { RunsService } from './runs.service.js';
import { AgUiThreadsController } from './threads.controller.js';
import { ThreadsService } from './threads.service.js';

/** AG-UI, `/agui`. */
@Module({ controllers: [AgUiRunsController, AgUiThreadsController, AgUiCapabilitiesController] })
export class AgUiModule {
  constructor(wires: ErrorWires) {
    wires.add('/agui', encodeAgUiError);
  }

  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], options: AgUiOptions): DynamicModule {
    return {
      module: AgUiModule,
      imports: modules,
      providers: [
        {
          provide: ThreadsService,
          useFactory: (store: ThreadStore, tasks: TasksService, cancellations: CancellationsService) =>
            new ThreadsService(store, tasks, cancellations),
          inject: [ThreadStore, TasksService, CancellationsService],
        },
        {
          provide: RunsService,
          useFactory: (
            ...[service, threads, submissions, answers, cancellations]: [
              ThreadsService,
              ThreadStore,
              SubmissionsService,
              AnswersService,
              CancellationsService,
            ]
          ) => new RunsService(service, { threads, submissions, answers, cancellations }, options),
          inject: [ThreadsService, ThreadStore, SubmissionsService, AnswersService, CancellationsService],
        },
        {
          provide: RunStreams,
          useFactory: async (
            ...[streams, logs, tasks, cancellations, watchers, logger]: [
              EventStreams,
              StreamsService,
              TasksService,
              CancellationsService,
              WatchersService,
              Logger,
            ]
          ) => {
            const extensions = await loadExtensions(options.extensions);
            return new RunStreams({ streams, logs, tasks, cancellations, watchers, extensions, logger }, options);
          },
          inject: [EventStreams, StreamsService, TasksService, CancellationsService, WatchersService, Logger],
        },
      ],
    };
  }
}
