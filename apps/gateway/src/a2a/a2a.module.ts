import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata, Provider } from '@nestjs/common';
import { AgentDirectory } from '../core/agent.directory.js';
import { AgentsService } from '../core/agents.service.js';
import { AnswersService } from '../core/answers.service.js';
import { ArtifactsService } from '../core/artifacts.service.js';
import { CancellationsService } from '../core/cancellations.service.js';
import { PushesService } from '../core/pushes.service.js';
import { StreamsService } from '../core/streams.service.js';
import { SubmissionsService } from '../core/submissions.service.js';
import { TasksService } from '../core/tasks.service.js';
import { ErrorWires } from '../http/error.wires.js';
import type { A2aOptions } from './a2a.options.js';
import { A2aCalls } from './calls.js';
import { Cards } from './cards.js';
import { CardsController } from './cards.controller.js';
import { MessagesService } from './messages.service.js';
import { A2aServices } from './operations.js';
import { PushController } from './push.controller.js';
import { Push03Controller } from './push03.controller.js';
import { PushOperations } from './push.operations.js';
import { Rest03Controller } from './rest03.controller.js';
import { RestController } from './rest.controller.js';
import { RpcController } from './rpc.controller.js';
import { TaskLists } from './task.lists.js';
import { TaskReader } from './task.reader.js';
import { encodeA2aError } from './wire.js';

/** A2A 1.0 and 0.3, `/a2a`. */
@Module({
  controllers: [CardsController, RpcController, RestController, PushController, Rest03Controller, Push03Controller],
})
export class A2aModule {
  constructor(wires: ErrorWires) {
    wires.add('/a2a', encodeA2aError);
  }

  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], options: A2aOptions): DynamicModule {
    const providers = [...agentProviders(), ...taskProviders(options)];
    return { module: A2aModule, imports: modules, providers };
  }
}

function agentProviders(): Provider[] {
  return [
    {
      provide: A2aCalls,
      useFactory: (directory: AgentDirectory) => new A2aCalls(directory),
      inject: [AgentDirectory],
    },
    {
      provide: Cards,
      useFactory: (directory: AgentDirectory, agents: AgentsService, artifacts: ArtifactsService) =>
        new Cards(directory, agents, () => artifacts.baseUrl),
      inject: [AgentDirectory, AgentsService, ArtifactsService],
    },
  ];
}

function taskProviders(options: A2aOptions): Provider[] {
  return [
    {
      provide: TaskReader,
      useFactory: (tasks: TasksService, streams: StreamsService, artifacts: ArtifactsService) =>
        new TaskReader({ tasks, streams, artifacts }, options),
      inject: [TasksService, StreamsService, ArtifactsService],
    },
    {
      provide: PushOperations,
      useFactory: (pushes: PushesService, reader: TaskReader) => new PushOperations(pushes, reader),
      inject: [PushesService, TaskReader],
    },
    {
      provide: MessagesService,
      useFactory: (
        ...[submissions, answers, tasks, streams, reader, pushes]: [
          SubmissionsService,
          AnswersService,
          TasksService,
          StreamsService,
          TaskReader,
          PushOperations,
        ]
      ) => new MessagesService({ submissions, answers, tasks, streams }, reader, pushes),
      inject: [SubmissionsService, AnswersService, TasksService, StreamsService, TaskReader, PushOperations],
    },
    {
      provide: TaskLists,
      useFactory: (tasks: TasksService, reader: TaskReader) => new TaskLists(tasks, reader, options),
      inject: [TasksService, TaskReader],
    },
    {
      provide: A2aServices,
      useFactory: (
        ...[reader, lists, messages, pushes, streams, cancellations, cards]: [
          TaskReader,
          TaskLists,
          MessagesService,
          PushOperations,
          StreamsService,
          CancellationsService,
          Cards,
        ]
      ): A2aServices => ({ options, reader, lists, messages, pushes, streams, cancellations, cards }),
      inject: [TaskReader, TaskLists, MessagesService, PushOperations, StreamsService, CancellationsService, Cards],
    },
  ];
}
