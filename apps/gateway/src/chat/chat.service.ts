import {
  type AgentRecord,
  type ArtifactBody,
  DomainError,
  isDomainError,
  type SeenState,
  type TaskSnapshot,
} from '#lib/domain';
import type { AnswerHead, ChatRequest } from '#lib/protocol/openai-chat';
import type { AgentDirectory } from '../core/agent.directory.js';
import type { AnswersService } from '../core/answers.service.js';
import type { ArtifactsService } from '../core/artifacts.service.js';
import { assertScopes, type Caller } from '../core/caller.js';
import type { RepeatsService } from '../core/repeats.service.js';
import type { ResultsService } from '../core/results.service.js';
import type { StreamsService } from '../core/streams.service.js';
import type { SubmissionsService } from '../core/submissions.service.js';
import type { TasksService } from '../core/tasks.service.js';
import type { Watcher, WatchersService } from '../core/watchers.service.js';
import { headOf, type Retried, submissionOf, withPlaces } from './chat.mapping.js';
import type { ChatOptions } from './chat.options.js';
import { type Continuations, isTooLate } from './continuations.js';
import { decodeConversation, textOf } from './conversation.mapping.js';
import { asksQuestion, APPROVAL_TOOL, denialOf, type Manner, type Pause } from './pauses.js';
import { ReplyStream } from './reply.stream.js';

/** A request, and what goes with it. */
export interface Ask extends Retried {
  readonly caller: Caller;
  readonly request: ChatRequest;
  readonly requestId: string;
}

/** The answer to one request, as it comes. */
export interface Reply {
  readonly head: AnswerHead;
  readonly task: Pick<SeenState, 'taskKey' | 'taskId'>;
  readonly parts: ReplyStream;
  /** To be called when the client has left before its end, with how long it may take to come back. */
  readonly leave: (graceMs: number) => void;
}

/** A task and where in its log the answer begins. */
interface Place {
  readonly task: SeenState;
  readonly afterSeq: number;
  readonly watcher: Watcher;
  /** The task is this request's: it is for nobody once its client has left. */
  readonly isOwn: boolean;
}

export interface ChatServices {
  readonly agents: AgentDirectory;
  readonly submissions: SubmissionsService;
  readonly tasks: TasksService;
  readonly streams: StreamsService;
  readonly answers: AnswersService;
  readonly artifacts: ArtifactsService;
  readonly results: ResultsService;
  readonly repeats: RepeatsService;
  readonly watchers: WatchersService;
}

/** Agents as models: a request begins a task or goes on with one, and is answered by what the task says until it stops. */
export class ChatService {
  constructor(
    private readonly services: ChatServices,
    private readonly continuations: Continuations,
    private readonly options: ChatOptions,
  ) {}

  /**
   * Resolves when the request has its task. @throws DomainError `unknown_agent`, `not_found`, `invalid_request`,
   * `idempotency_conflict` and whatever a submission or an answer throws
   */
  async open(ask: Ask): Promise<Reply> {
    const model = this.agentOf(ask);
    const named = await this.namedTask(ask);
    const agent = named ? (this.services.agents.find(named.agentId) ?? model) : model;
    const manner = this.mannerOf(agent, ask.request);
    const place =
      (await this.goOn(ask, { agentId: named?.agentId ?? agent.id, manner })) ??
      (named ? await this.pickUp(ask, named) : await this.begin(ask, agent));
    return this.reply(ask, place, { agent, manner });
  }

  /** The agent a model's name means: `id`, or `id@version` while that is the version in use. */
  private agentOf({ caller, request: { model } }: Ask): AgentRecord {
    const [id = '', version] = model.split('@');
    const agent = this.services.agents.find(id, caller.tenant);
    if (agent && (version === undefined || version === String(agent.version))) return agent;
    throw new DomainError('unknown_agent', 'There is no such model.');
  }

  private async namedTask({ caller, request: { metadata } }: Ask): Promise<TaskSnapshot | undefined> {
    const { task_id } = metadata;
    if (task_id === undefined) return undefined;
    assertScopes(caller, 'tasks:read');
    return this.services.tasks.snapshot(caller, task_id);
  }

  private mannerOf({ chat }: AgentRecord, { tools }: ChatRequest): Manner {
    return {
      onInterrupt: chat?.onInterrupt ?? this.options.onInterrupt,
      canApprove: tools.some(({ name }) => name === APPROVAL_TOOL),
    };
  }

  private async goOn(
    { caller, request: { messages, metadata }, requestId }: Ask,
    { agentId, manner }: { readonly agentId: string; readonly manner: Manner },
  ): Promise<Place | undefined> {
    const segment = await this.continuations.take(caller, { agentId, messages, manner, requestId });
    if (!segment) return undefined;
    const watcher = await this.services.watchers.watch(segment.task);
    return { ...segment, watcher, isOwn: metadata['task_id'] === undefined };
  }

  /** The answer of a task, or what it says from now on, or what it says to an answer. */
  private async pickUp({ caller, request: { messages }, requestId }: Ask, task: TaskSnapshot): Promise<Place> {
    const watcher = await this.services.watchers.watch(task);
    const pause = await this.continuations.currentPause(task);
    const last = messages.at(-1);
    if (pause && asksQuestion(pause) && last?.role === 'user') {
      assertScopes(caller, 'tasks:decide');
      const answer = { decisions: [], results: [], input: textOf(last.content) };
      await this.services.answers.resume(caller, task.taskId, { waitId: pause.waitId, answer, requestId });
      return { task: { ...task, state: 'running' }, afterSeq: pause.seq, watcher, isOwn: false };
    }
    // What was said last of all is in the one before the last event.
    const afterSeq = pause ? pause.seq - 1 : task.lastSeq - (OFFSETS[task.state] ?? 0);
    return { task, afterSeq: Math.max(0, afterSeq), watcher, isOwn: false };
  }

  private async begin(ask: Ask, agent: AgentRecord): Promise<Place> {
    const { submissions, watchers } = this.services;
    const { caller, request } = ask;
    const conversation = decodeConversation(request.messages, { takesInstructions: agent.callerInstructions === true });
    const idempotencyKey = await this.keyOf(ask);
    const submission = submissionOf(ask, {
      agentId: agent.id,
      conversation,
      idempotencyKey,
      clientToolMode: this.options.toolMode,
    });
    const submitted = await submissions.submit(caller, submission).catch((error: unknown) => {
      throw isDomainError(error) ? withPlaces(error, conversation.places) : error;
    });
    const watcher = submitted.created ? undefined : await watchers.watch(submitted);
    return { task: submitted, afterSeq: 0, watcher, isOwn: true };
  }

  /** Clients repeat requests by themselves and say no more of it than that they do. */
  private async keyOf({ caller, body, key, isRetry }: Ask): Promise<string> {
    const { repeats } = this.services;
    if (key !== undefined) return `chat key ${key}`;
    const earlier =
      isRetry && this.options.attachesRetries ? await repeats.earlierKey(caller, 'chat', body) : undefined;
    return earlier ?? repeats.firstKey('chat', body);
  }

  private async reply(
    { caller, request, requestId }: Ask,
    { task, afterSeq, watcher, isOwn }: Place,
    { agent, manner }: { readonly agent: AgentRecord; readonly manner: Manner },
  ): Promise<Reply> {
    const { streams, watchers, results, tasks } = this.services;
    const { taskKey, taskId } = task;
    const parts = new ReplyStream(await streams.openSeenEvents(task, afterSeq), {
      ...manner,
      task: { taskKey, taskId },
      isLive: request.isStream,
      showsThoughts: agent.chat?.reasoning === true,
      whole: async () => results.textOf(await tasks.snapshot(caller, taskId)),
      valueOf: (told) => results.valueOf({ taskKey, tenant: caller.tenant }, told),
      deny: (pause) => this.deny(caller, pause, { requestId, isOwn }),
      describe: (artifacts) => this.describe(caller, taskId, artifacts),
    });
    const leave = (graceMs: number): void => {
      if (isOwn && this.options.onDisconnect === 'cancel')
        watchers.leave({ caller, task, watcher, requestId }, graceMs);
    };
    return { head: headOf(task, request.model), task: { taskKey, taskId }, parts, leave };
  }

  /** In a task of this request on nobody's behalf, without a right to decide; in any other somebody may be about to approve. */
  private async deny(
    caller: Caller,
    pause: Pause,
    { requestId, isOwn }: { readonly requestId: string; readonly isOwn: boolean },
  ): Promise<void> {
    if (!isOwn) assertScopes(caller, 'tasks:decide');
    const answer = denialOf(pause);
    try {
      await this.services.answers.resume(caller, pause.taskId, { waitId: pause.waitId, answer, requestId });
    } catch (error) {
      if (!isTooLate(error)) throw error;
    }
  }

  private async describe(
    caller: Caller,
    taskId: string,
    artifacts: readonly ArtifactBody[],
  ): Promise<readonly object[]> {
    const linked = await Promise.all(
      artifacts.slice(0, MAX_LINKS).map(({ artifact_id }) => this.services.artifacts.get(caller, taskId, artifact_id)),
    );
    return linked.map(({ artifact_id, name, media_type, size, downloadUrl }) => ({
      artifactId: artifact_id,
      name,
      mediaType: media_type,
      size,
      url: downloadUrl,
    }));
  }
}

/** Artifacts that one answer names, at most; the native contract lists all. */
const MAX_LINKS = 50;

/** How far before its end the answer of a task that has ended begins. */
const OFFSETS: Readonly<Record<string, number>> = { succeeded: 2, failed: 1, cancelled: 1 };
