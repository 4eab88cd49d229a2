import { type BlobStore, type CallRequest, type CallTerms, DomainError, type RunCalls } from '#lib/domain';
import { type CallAnswer, CallRecorder, digestCall, type EventWriter, type WriteOutcome } from '#lib/execution';
import { type OfferedTool, type ToolCatalog, ToolGateway } from '#lib/tools';
import { randomUUID } from 'node:crypto';
import { announcing } from './announcing.catalog.js';
import { isApproved } from './approved-call.js';
import { RunWatch } from './run-watch.js';
import type { LiveGrant } from './task-token.authenticator.js';
import { isToolError, refusalOf } from './tool-refusals.js';

/** A call as its maker asks for it. */
export interface OutsideCallRequest {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly args: unknown;
}

export interface ToolCallPorts {
  readonly calls: RunCalls;
  readonly writer: EventWriter;
  readonly blobs: BlobStore;
  readonly catalog: ToolCatalog;
}

/** Calls that one run may make with its token when its agent sets no bound. */
const MOST_CALLS = 1_000;
/** What a call may take beside the time of its tool, in ms: until then nobody takes it over. */
const MARGIN_MS = 30_000;
const OUTCOME_UNKNOWN = {
  code: 'outcome_unknown',
  message: 'Whoever made this call is gone: it may have been made, and is not made again.',
};

/** A call that is ours to make. */
interface Job {
  readonly grant: LiveGrant;
  readonly terms: CallTerms;
  readonly request: OutsideCallRequest;
  readonly reserved: CallRequest;
  readonly recorder: CallRecorder;
  /** Its `tool.invoked` is in the log. */
  isAnnounced: boolean;
}

/** Makes tool calls for whoever has the token of a live run, through the tool gateway that runtimes use as well. */
export class ToolCallsService {
  constructor(private readonly ports: ToolCallPorts) {}

  /** The tools this token may call. @throws DomainError `run_over`, `unavailable` */
  async list(grant: LiveGrant): Promise<readonly OfferedTool[]> {
    return this.gateway(grant, await this.terms(grant), { signal: AbortSignal.abort() }).list;
  }

  /**
   * Makes a call, or answers what came of it before; that it did not work is an answer too.
   * @throws DomainError `tool_denied`, `approval_required`, `invalid_request`, `idempotency_conflict`, `call_in_progress`,
   * `run_over`, `unavailable`
   */
  async invoke(grant: LiveGrant, request: OutsideCallRequest): Promise<CallAnswer> {
    const terms = await this.terms(grant);
    const tool = this.ports.catalog.find(request.toolName, grant.tenant);
    const { taskKey, runNo } = grant;
    const { toolName, toolCallId, args } = request;
    const reserved = {
      ...{ taskKey, runNo, toolCallId, toolName, owner: randomUUID() },
      digest: digestCall(toolName, args),
      holdMs: (tool?.timeoutMs ?? 0) + MARGIN_MS,
      most: terms.policy.budgets.toolCalls ?? MOST_CALLS,
    };
    const reservation = await this.ports.calls.reserve(reserved);
    if (reservation.kind === 'answered') return JSON.parse(reservation.answer) as CallAnswer;
    if (reservation.kind !== 'taken') throw REFUSALS[reservation.kind]();
    const recorder = new CallRecorder({ ...terms, ...reserved }, this.ports);
    const { wasAnnounced: isAnnounced } = reservation;
    if (isAnnounced && tool?.idempotent !== true) return settled(await recorder.failed(OUTCOME_UNKNOWN));
    return this.make({ grant, terms, request, reserved, recorder, isAnnounced });
  }

  private async make(job: Job): Promise<CallAnswer> {
    const { grant, terms, request, recorder } = job;
    const watch = new RunWatch(grant, this.ports.calls);
    const gateway = this.gateway(grant, terms, { signal: watch.signal, job });
    try {
      const output = await gateway.call(request.toolName, request.args, request.toolCallId);
      return settled(await recorder.completed(output));
    } catch (error) {
      if (!job.isAnnounced) throw await this.withdraw(job, error, gateway);
      if (watch.signal.aborted) {
        // It may be open still, to be cancelled.
        await recorder.failed({ code: 'failed', message: 'The run is over: the call was given up.' });
        throw runOver();
      }
      if (!isToolError(error)) throw error;
      const { code, message } = error;
      return settled(await recorder.failed({ code, message }));
    } finally {
      watch.stop();
    }
  }

  /** What was not let out leaves its id as free as it was. */
  private async withdraw({ reserved, recorder }: Job, error: unknown, { list }: ToolGateway): Promise<unknown> {
    await this.ports.calls.release(reserved);
    if (!isToolError(error)) return error;
    if (error.code === 'denied') await recorder.denied(error.message);
    const needsApproval = list.some(({ name, policy }) => name === reserved.toolName && policy === 'confirm');
    return refusalOf(error, needsApproval);
  }

  private gateway(
    grant: LiveGrant,
    terms: CallTerms,
    { signal, job }: { signal: AbortSignal; job?: Job },
  ): ToolGateway {
    const { catalog } = this.ports;
    const { tenant, taskId, policy, asked } = terms;
    const allowed = terms.allowedTools.filter((name) => grant.tools.includes(name));
    return new ToolGateway(
      {
        allowed,
        takeApproval: (toolName, args) =>
          job !== undefined && isApproved(asked, { toolName, args, toolCallId: job.request.toolCallId }),
        ...(policy.toolPolicy ? { policy: policy.toolPolicy } : {}),
      },
      {
        catalog: job ? announcing(catalog, () => announce(job)) : catalog,
        taskKey: grant.taskKey,
        run: { input: JSON.parse(terms.input) as unknown, signal, tenant, taskId },
      },
    );
  }

  private async terms(grant: LiveGrant): Promise<CallTerms> {
    const terms = await this.ports.calls.terms(grant.taskKey);
    if (!terms) throw runOver();
    return terms;
  }
}

/** A call goes out only once its `tool.invoked` is stored. */
async function announce(job: Job): Promise<void> {
  if (job.isAnnounced) return;
  const { args } = job.request;
  assertStored(await job.recorder.announced({ arguments: args, digest: job.reserved.digest }));
  job.isAnnounced = true;
}

function settled({ answer, outcome }: { answer: CallAnswer; outcome: WriteOutcome }): CallAnswer {
  assertStored(outcome);
  return answer;
}

function assertStored(outcome: WriteOutcome): void {
  if (outcome.kind === 'fenced') throw runOver();
  if (outcome.kind === 'refused') throw new Error('an event of a tool call was refused', { cause: outcome.cause });
  if (outcome.kind === 'unavailable')
    throw new DomainError('unavailable', 'The call could not be recorded now.', { retryAfterSeconds: 1 });
}

function runOver(): DomainError {
  return new DomainError('run_over', 'The run is over, or is to end.');
}

const REFUSALS: Readonly<Record<'busy' | 'conflict' | 'exhausted' | 'over', () => DomainError>> = {
  busy: () => new DomainError('call_in_progress', 'A call of this id is being made.', { retryAfterSeconds: 1 }),
  conflict: () => new DomainError('idempotency_conflict', 'The id was used for another call of this task.'),
  exhausted: () => new DomainError('tool_denied', 'The run has made as many calls as it may.'),
  over: runOver,
};
