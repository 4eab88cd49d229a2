import {
  type BackendVersion,
  type CallerConversation,
  canonicalJson,
  chooseBackend,
  type ClientToolMode,
  DomainError,
  encodeFrame,
  type EventDraft,
  type Fault,
  type Frame,
  isTaskId,
  parseDetail,
  pointOf,
  type Routed,
  routeTask,
  type SessionStrategy,
  type Submission,
  type SubmissionKeys,
  type SubmitOutcome,
  type TaskId,
  type TaskKey,
  type TaskState,
  type TaskStore,
  weightSeed,
} from '#lib/domain';
import { draftEvent } from '#lib/execution';
import { newTaskKey } from '#lib/platform';
import { hash } from 'node:crypto';
import type { AgentDirectory } from './agent.directory.js';
import type { CallbacksService } from './callbacks.service.js';
import { auditOf, type Caller, taskScopeOf } from './caller.js';
import { checkInstructions, readCallerConversation } from './caller-conversation.check.js';
import { checkInput, findInputArtifacts, type ReadInput, readInput } from './input.check.js';
import type { Quotas } from './quotas.js';
import type { RawJson } from './raw-json.js';
import type { RunEnqueuer } from './run.enqueuer.js';
import type { StreamHub } from './stream-hub.js';
import { readToolRequest, type ToolRequest, toolTermsOf, toolWarnings } from './tool-terms.js';

/** A task as a caller asks for it. */
export interface SubmitRequest {
  /** The caller's own name for the task. */
  readonly taskId?: string;
  readonly idempotencyKey?: string;
  readonly agentId?: string;
  readonly type?: string;
  /** Of the same agent and user; absent: the task stands for itself. */
  readonly sessionId?: string;
  /** What to do when the session has an unfinished task; absent: the agent's. */
  readonly sessionStrategy?: SessionStrategy;
  /** A string, an object, or an array of parts. */
  readonly input: RawJson;
  /**
   * An object; absent: `{}`. `user_id` and `attributes` in it take part in routing, `allow_tools` and `deny_rules` narrow the
   * tools, `caller_conversation` is what was said around the input.
   */
  readonly context?: RawJson;
  /** Tools the caller runs itself: an array. */
  readonly tools?: RawJson;
  /** Absent: `refuse`. */
  readonly clientToolMode?: ClientToolMode;
  /** 1 to 2,592,000; absent: the agent's. */
  readonly deadlineSeconds?: number;
  /** Where what becomes of it is to be told. */
  readonly callbackUrl?: string;
  /** 0 to 9; absent: 5. */
  readonly priority?: number;
  /** An unknown level means `status`; absent: the agent's. */
  readonly detail?: string;
  /** It waits to be released, so that it can be given files before it runs. */
  readonly isHeld?: boolean;
  /** The whole body as parsed: its canonical form tells a repeat from another request under the same key. */
  readonly body: unknown;
  /** The caller is going to watch the task: the stream is prepared while the task is stored. */
  readonly isFollowed?: boolean;
  readonly requestId: string;
}

/** A task that was just submitted, or that the same request had submitted before. */
export interface Submitted {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly state: TaskState;
  readonly lastSeq: number;
  /** False: the same request came before, and this is its task as it stands now. */
  readonly created: boolean;
  /** What was understood in another sense than it may have been meant. */
  readonly warnings: readonly Fault[];
}

const DEFAULT_PRIORITY = 5;
const NO_HASH = new Uint8Array(0);
const NO_CONTEXT: RawJson = { text: '{}', value: {} };

export interface SubmissionsPorts {
  readonly tasks: TaskStore;
  readonly quotas: Pick<Quotas, 'task'>;
  readonly callbacks: Pick<CallbacksService, 'prepare'>;
  /** How long a held task waits. */
  readonly heldMs: number;
}

/** Takes tasks in. */
export class SubmissionsService {
  constructor(
    private readonly ports: SubmissionsPorts,
    private readonly agents: AgentDirectory,
    private readonly enqueuer: RunEnqueuer,
    private readonly hub: StreamHub,
  ) {}

  /**
   * @throws DomainError `invalid_request`, `idempotency_conflict`, `gone`, `unknown_agent`, `agent_disabled`, `no_route`,
   * `unsupported_input`, `not_available`, `payload_too_large`, `forbidden`, `session_busy`, `rate_limited`
   */
  async submit(caller: Caller, request: SubmitRequest): Promise<Submitted> {
    const asked = readRequest(caller, request);
    const taskKey = newTaskKey();
    const keys = keysOf(caller, request, taskKey);
    // A repeat is answered before the agent may have changed its mind about such tasks.
    const isNamed = keys.ownTaskId || keys.idempotencyKey !== undefined;
    const known = isNamed ? await this.ports.tasks.find(keys) : undefined;
    if (known) return this.repeated(asked, known);
    const prepared = await this.prepare(asked, { ...keys, taskKey });
    await this.ports.callbacks.prepare(caller, request.callbackUrl);
    const { submission, outcome } = await this.store(caller, prepared, request.isFollowed ?? false);
    if (outcome.kind !== 'created') return this.repeated(asked, outcome);
    // Another process may start a task in line before we come to tell its first event; its reader looks into the log.
    if (request.isFollowed && outcome.turn === 'now') this.hub.begin(taskKey, firstFrame(submission, outcome.atMs));
    this.enqueuer.submitted(submission, outcome);
    const { taskId, agentId } = submission;
    return { taskKey, taskId, state: 'queued', lastSeq: 1, created: true, warnings: this.warnings(asked, agentId) };
  }

  /** Within the limits of the caller, which an answer to a repeat never asks. */
  private async store(caller: Caller, { backend, on }: Prepared, isFollowed: boolean): Promise<Stored> {
    const admission = await this.ports.quotas.task(caller);
    let outcome: SubmitOutcome | undefined;
    try {
      let submission = on(backend);
      if (isFollowed) this.hub.expect(submission);
      outcome = await this.ports.tasks.submit(submission);
      if (outcome.kind === 'elsewhere') {
        submission = on(outcome.backend);
        outcome = await this.ports.tasks.submit(submission);
      }
      return { submission, outcome };
    } finally {
      admission(outcome?.kind === 'created');
    }
  }

  private async repeated(asked: Asked, outcome: SubmitOutcome): Promise<Submitted> {
    if (outcome.kind === 'conflict') {
      throw new DomainError('idempotency_conflict', 'The key was used before, for another request.');
    }
    if (outcome.kind === 'foreign') {
      throw new DomainError('forbidden', 'The session belongs to another principal; joining it takes tasks:all.');
    }
    if (outcome.kind === 'busy') {
      throw new DomainError('session_busy', 'The session has a task that has not ended, and takes one at a time.');
    }
    // A session never leaves the backend it keeps.
    if (outcome.kind === 'elsewhere') throw new Error('a session has left its backend');
    if (outcome.kind === 'gone') throw removed();
    const { taskKey, taskId } = outcome;
    const task = await this.ports.tasks.snapshot({ tenant: asked.caller.tenant }, taskId);
    if (!task) throw removed();
    const { state, lastSeq, agentId } = task;
    return { taskKey, taskId, state, lastSeq, created: false, warnings: this.warnings(asked, agentId) };
  }

  private warnings({ tools }: Asked, agentId: string): readonly Fault[] {
    const agent = this.agents.all().find(({ id }) => id === agentId);
    return agent ? toolWarnings(tools, agent) : tools.warnings;
  }

  private async prepare(asked: Asked, keys: SubmissionKeys & { readonly taskKey: TaskKey }): Promise<Prepared> {
    const { caller, request, input, context, tools } = asked;
    const { sessionId } = request;
    const { tenant } = caller;
    const user = context.userId ?? caller.principal;
    const routed = routeTask(this.agents.all(), {
      tenant,
      user,
      agentId: request.agentId,
      type: request.type,
      context: context.members,
    });
    checkInput(routed.agent, input);
    checkInstructions(routed.agent, asked.conversation);
    const scope = taskScopeOf(caller);
    const inputArtifacts = await findInputArtifacts(routed.agent, input, (id) => this.ports.tasks.artifact(scope, id));
    const seed = weightSeed(routed, { tenant, user, sessionId, taskId: keys.taskId });
    const point = pointOf(hash('sha256', seed, 'buffer'));
    const backend = await this.agents.version(routed, chooseBackend(routed.route, point));
    const terms = termsOf(routed, request, this.ports.heldMs);
    const on = (chosen: Backend): Submission => ({
      ...keys,
      ...terms,
      ...toolTermsOf(tools, routed, {
        takesClientTools: this.agents.capabilitiesOf(chosen.runner)?.clientTools ?? false,
        mode: request.clientToolMode,
      }),
      agentId: routed.agent.id,
      type: request.type,
      userId: context.userId,
      sessionId,
      sessionStrategy: request.sessionStrategy ?? routed.agent.sessionStrategy,
      reachesOthers: scope.principal === undefined,
      backendVersionId: chosen.id,
      runner: chosen.runner,
      pool: chosen.pool,
      input: request.input.text,
      callbackUrl: request.callbackUrl,
      ...(inputArtifacts.length > 0 ? { inputArtifacts } : {}),
      context: context.text,
      created: draftCreated({ caller, request, routed, backend: chosen, terms }),
      audit: auditOf(caller, {
        action: 'task.submit',
        target: keys.taskId,
        details: { agent_id: routed.agent.id, runner: chosen.runner, backend_version: chosen.id },
        requestId: request.requestId,
      }),
    });
    return { backend, on };
  }
}

function removed(): DomainError {
  return new DomainError('gone', 'The task of this key was removed: the time it is kept for is over.');
}

type Backend = Pick<BackendVersion, 'id' | 'runner' | 'pool'>;

/** A submission but for its backend: the one its weights chose, unless its session keeps another. */
interface Prepared {
  readonly backend: Backend;
  readonly on: (backend: Backend) => Submission;
}

/** What was sent to the store, and what came of it. */
interface Stored {
  readonly submission: Submission;
  readonly outcome: SubmitOutcome;
}

function firstFrame({ taskId, created }: Submission, atMs: number): Frame {
  const { eventId, body, json } = created;
  return encodeFrame(taskId, { seq: 1, eventId, type: body.type, atMs, payload: json });
}

function keysOf({ tenant, principal }: Caller, request: SubmitRequest, taskKey: TaskKey): SubmissionKeys {
  const { taskId = taskKey, idempotencyKey, body } = request;
  if (!isTaskId(taskId)) {
    const message = 'must be 1 to 200 of A-Z a-z 0-9 . _ : - and not only dots';
    const faults = [{ path: '/task_id', code: 'invalid', message }];
    throw new DomainError('invalid_request', `/task_id: ${message}.`, { faults });
  }
  const ownTaskId = request.taskId !== undefined;
  // Without a key of the caller's the body can never be compared with another.
  const isNamed = ownTaskId || idempotencyKey !== undefined;
  const bodyHash = isNamed ? hash('sha256', canonicalJson(body), 'buffer') : NO_HASH;
  return { tenant, principal, taskId, ownTaskId, idempotencyKey, bodyHash };
}

/** A request with everything that can be read before it is known which agent it goes to. */
interface Asked {
  readonly caller: Caller;
  readonly request: SubmitRequest;
  readonly input: ReadInput;
  readonly context: ReadContext;
  readonly tools: ToolRequest;
  readonly conversation: CallerConversation | undefined;
}

interface ReadContext {
  readonly text: string;
  readonly userId: string | undefined;
  readonly members: Readonly<Record<string, unknown>>;
}

function readRequest(caller: Caller, request: SubmitRequest): Asked {
  const context = readContext(request.context ?? NO_CONTEXT);
  const input = readInput(request.input.value);
  const conversation = readCallerConversation(context.members);
  return { caller, request, input, context, conversation, tools: readToolRequest(context.members, request.tools) };
}

function readContext({ text, value }: RawJson): ReadContext {
  const members = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  const userId = Object.hasOwn(members, 'user_id') ? members['user_id'] : undefined;
  return { text, userId: typeof userId === 'string' && userId !== '' ? userId : undefined, members };
}

type Terms = Pick<Submission, 'detail' | 'priority' | 'deadlineAtMs' | 'heldUntilMs'>;

function termsOf({ agent }: Routed, request: SubmitRequest, heldMs: number): Terms {
  const deadlineSeconds = request.deadlineSeconds ?? agent.policy.deadlineSeconds;
  return {
    detail: parseDetail(request.detail ?? agent.detail),
    priority: request.priority ?? DEFAULT_PRIORITY,
    deadlineAtMs: Date.now() + deadlineSeconds * 1000,
    ...(request.isHeld ? { heldUntilMs: Date.now() + heldMs } : {}),
  };
}

interface Choice {
  readonly caller: Caller;
  readonly request: SubmitRequest;
  readonly routed: Routed;
  readonly backend: Backend;
}

function draftCreated({ caller, request, routed, backend, terms }: Choice & { readonly terms: Terms }): EventDraft {
  return draftEvent({
    type: 'task.created',
    payload: {
      agent_id: routed.agent.id,
      ...(request.type === undefined ? {} : { type: request.type }),
      ...(request.sessionId === undefined ? {} : { session_id: request.sessionId }),
      backend: { runner: backend.runner, version: backend.id },
      detail: terms.detail,
      priority: terms.priority,
      deadline_at: new Date(terms.deadlineAtMs).toISOString(),
      created_by: caller.principal,
      ...(terms.heldUntilMs === undefined ? {} : { held_until: new Date(terms.heldUntilMs).toISOString() }),
    },
  });
}
