import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { encodeError } from '#lib/protocol/agent-protocol';
import { AnswersService } from '../core/answers.service.js';
import { ReleasesService } from '../core/releases.service.js';
import { ResultsService } from '../core/results.service.js';
import { StreamsService } from '../core/streams.service.js';
import { TaskRecordsService } from '../core/task-records.service.js';
import { TasksService } from '../core/tasks.service.js';
import { ErrorWires } from '../http/error.wires.js';
import { AgentProtocolOptions } from './agent-protocol.options.js';
import { ArtifactsController } from './artifacts.controller.js';
import { StepsController } from './steps.controller.js';
import { StepsService } from './steps.service.js';
import { TasksController } from './tasks.controller.js';

/** Agent Protocol v1, and step-stream v1 on the same paths, `/ap/v1`. */
@Module({ controllers: [TasksController, StepsController, ArtifactsController] })
export class AgentProtocolModule {
  constructor(wires: ErrorWires) {
    wires.add('/ap/v1', (error) => {
      const { status, body } = encodeError(error);
      return { status, type: 'application/json', body: JSON.stringify(body) };
    });
  }

  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], options: AgentProtocolOptions): DynamicModule {
    const steps = {
      provide: StepsService,
      useFactory: (
        ...[tasks, streams, answers, releases, results, records]: [
          TasksService,
          StreamsService,
          AnswersService,
          ReleasesService,
          ResultsService,
          TaskRecordsService,
        ]
      ) => new StepsService({ tasks, streams, answers, releases, results, records }, options.stepWaitMs),
      inject: [TasksService, StreamsService, AnswersService, ReleasesService, ResultsService, TaskRecordsService],
    };
    return {
      module: AgentProtocolModule,
      imports: modules,
      providers: [steps, { provide: AgentProtocolOptions, useValue: options }],
    };
  }
}
