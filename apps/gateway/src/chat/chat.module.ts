import { Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import type { Request } from 'express';
import { type DomainError, Logger } from '#lib/domain';
import { encodeError, type Missing } from '#lib/protocol/openai-chat';
import { AgentDirectory } from '../core/agent.directory.js';
import { AnswersService } from '../core/answers.service.js';
import { ArtifactsService } from '../core/artifacts.service.js';
import { Quotas } from '../core/quotas.js';
import { RepeatsService } from '../core/repeats.service.js';
import { ResultsService } from '../core/results.service.js';
import { StreamsService } from '../core/streams.service.js';
import { SubmissionsService } from '../core/submissions.service.js';
import { TasksService } from '../core/tasks.service.js';
import { WatchersService } from '../core/watchers.service.js';
import { type WireError, ErrorWires } from '../http/error.wires.js';
import { EventStreams } from '../http/sse.js';
import { ChatController } from './chat.controller.js';
import type { ChatOptions } from './chat.options.js';
import { ChatService } from './chat.service.js';
import { Continuations } from './continuations.js';
import { ModelsController } from './models.controller.js';
import { Replies } from './replies.js';

const MODELS = '/v1/models';
/** What clients of this protocol may ask, and is not here, is refused in their words too. */
const PREFIXES = ['/v1/chat', MODELS, '/v1/completions', '/v1/responses'];

/** OpenAI Chat Completions, `/v1/chat/completions` and `/v1/models`. */
@Module({})
export class ChatModule {
  constructor(wires: ErrorWires) {
    for (const prefix of PREFIXES) wires.add(prefix, encodeWireError);
  }

  /** `modules` offer the core services, and the errors and streams of `http`. */
  static over(modules: ModuleMetadata['imports'], options: ChatOptions): DynamicModule {
    return {
      module: ChatModule,
      imports: modules,
      controllers: [ChatController, ModelsController],
      providers: [
        {
          provide: Continuations,
          useFactory: (tasks: TasksService, streams: StreamsService, answers: AnswersService) =>
            new Continuations(tasks, streams, answers),
          inject: [TasksService, StreamsService, AnswersService],
        },
        {
          provide: ChatService,
          useFactory: (...injected: Injected) => new ChatService(servicesOf(injected), injected[0], options),
          inject: [Continuations, ...SERVICES],
        },
        {
          provide: Replies,
          useFactory: (chat: ChatService, tasks: TasksService, streams: EventStreams, quotas: Quotas, logger: Logger) =>
            new Replies(chat, { tasks, streams, quotas, logger }, options),
          inject: [ChatService, TasksService, EventStreams, Quotas, Logger],
        },
      ],
    };
  }
}

const SERVICES = [
  AgentDirectory,
  SubmissionsService,
  TasksService,
  StreamsService,
  AnswersService,
  ArtifactsService,
  ResultsService,
  RepeatsService,
  WatchersService,
] as const;

type Injected = [
  Continuations,
  AgentDirectory,
  SubmissionsService,
  TasksService,
  StreamsService,
  AnswersService,
  ArtifactsService,
  ResultsService,
  RepeatsService,
  WatchersService,
];

function servicesOf(injected: Injected): ConstructorParameters<typeof ChatService>[0] {
  const [, agents, submissions, tasks, streams, answers, artifacts, results, repeats, watchers] = injected;
  return { agents, submissions, tasks, streams, answers, artifacts, results, repeats, watchers };
}

function encodeWireError(error: DomainError, request: Request): WireError {
  const { status, error: body } = encodeError(error, missingOf(request));
  return { status, type: 'application/json', body: JSON.stringify({ error: body }) };
}

/** What is not there, where something is not: a path that leads nowhere, else what the route is about. */
function missingOf(request: Request): Missing {
  if (request.route === undefined) return 'url';
  return request.originalUrl.startsWith(MODELS) ? 'model' : 'task';
}
