import {
  type BlobStore,
  type CallRequest,
  type CallTerms,
  DomainError,
  faulty,
  redactFields,
  type RunCalls,
  ToolError,
} from '#lib/domain';
import {
  type CallAnswer,
  type CallEnd,
  CallRecorder,
  type EventWriter,
  isProtocolError,
  type WriteOutcome,
} from '#lib/execution';
import { digestCall } from '#lib/platform';
import {
  type Allowed,
  decisionRecord,
  denied,
  type Denied,
  type OfferedTool,
  resultRecord,
  rightsOf,
  type ToolActor,
  type ToolCatalog,
  ToolGateway,
  type ToolResult,
} from '#lib/tools';
import { randomUUID } from 'node:crypto';
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
  /** Its `tool.invoked` is in the log already, from somebody who had it before. */
  readonly isAnnounced: boolean;
}

/** Makes tool calls for whoever has the token of a live run, through the tool gateway that runtimes use as well. */
export class ToolCallsService {
  constructor(private readonly ports: ToolCallPorts) {}

  /** The tools this token may call. @throws DomainError `run_over`, `unavailable` */
  async list(grant: LiveGrant): Promise<readonly OfferedTool[]> {
    return this.gateway(grant, await this.terms(grant), AbortSignal.abort()).list;
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
    const job = { grant, terms, request, reserved, recorder, isAnnounced };
    if (!isAnnounced || tool?.idempotent === true) return this.make(job);
    const audit = [
      resultRecord(actorOf(job), { call: request, tool, digest: reserved.digest }, { result: 'outcome_unknown' }),
    ];
    return settled(await recorder.failed(OUTCOME_UNKNOWN, { audit }));
  }

  private async make(job: Job): Promise<CallAnswer> {
    const { grant, terms, request } = job;
    const watch = new RunWatch(grant, this.ports.calls);
    const gateway = this.gateway(grant, terms, watch.signal);
    try {
      const { toolName, toolCallId, args } = request;
      // Whoever had this call before may have made it, with the approval it needs: then it is the same call again.
      const decision = gateway.decide({
        toolName,
        toolCallId,
        args,
        ...(job.isAnnounced ? { repeats: toolCallId } : {}),
      });
      if (decision.outcome === 'denied') throw await this.withdraw(job, decision);
      if (!job.isAnnounced) await this.announce(job, decision);
      return await this.perform(job, { decision, gateway, signal: watch.signal });
    } finally {
      watch.stop();
    }
  }

  /** A call goes out only once its `tool.invoked` is stored, with leave to make it. */
  private async announce(job: Job, decision: Allowed): Promise<void> {
    const { recorder, request } = job;
    const { digest, policyVersion, approval } = decision;
    const told = {
      arguments: redactFields(request.args, decision.tool.secretFields),
      digest,
      policy_version: policyVersion,
      ...(approval ? { approval: approval.place, approved_by: approval.approvedBy } : {}),
    };
    const outcome = await recorder.announced(told, [decisionRecord(actorOf(job), decision)]).catch(async (error) => {
      await this.ports.calls.release(job.reserved);
      if (!isProtocolError(error)) throw error;
      throw faulty('invalid_request', [
        { path: '/arguments', code: 'invalid_arguments', message: 'cannot be recorded' },
      ]);
    });
    // Of two calls that would use one approval the database lets one through.
    if (outcome.kind === 'refused' && approval) throw await this.withdraw(job, denied(decision, 'approval_used'));
    assertStored(outcome);
  }

  private async perform(
    job: Job,
    { decision, gateway, signal }: { decision: Allowed; gateway: ToolGateway; signal: AbortSignal },
  ): Promise<CallAnswer> {
    const { recorder } = job;
    const startedMs = performance.now();
    const end = (what: Pick<ToolResult, 'result' | 'code'>): CallEnd => {
      const durationMs = Math.round(performance.now() - startedMs);
      return { durationMs, audit: [resultRecord(actorOf(job), decision, { ...what, durationMs })] };
    };
    try {
      const output = await gateway.perform(decision);
      return settled(await recorder.completed(output, end({ result: 'completed' })));
    } catch (error) {
      if (signal.aborted) {
        // It may be open still, to be cancelled.
        const given = { code: 'failed', message: 'The run is over: the call was given up.' };
        await recorder.failed(given, end({ result: 'outcome_unknown' }));
        throw runOver();
      }
      // What a tool answers may be no event: that is the tool's failure.
      const known = isProtocolError(error) ? new ToolError('failed', error.message, { cause: error }) : error;
      if (!isToolError(known)) throw known;
      const { code, message } = known;
      const result = code === 'timeout' ? 'timed_out' : 'failed';
      return settled(await recorder.failed({ code, message }, end({ result, code })));
    }
  }

  /** What was not let out leaves its id as free as it was. */
  private async withdraw(job: Job, decision: Denied): Promise<DomainError> {
    await this.ports.calls.release(job.reserved);
    const { code, reason, digest, policyVersion } = decision;
    const refusal = refusalOf(decision);
    const told = { reason, code, digest, policy_version: policyVersion };
    const isSaid = refusal.code !== 'invalid_request';
    await job.recorder.denied(isSaid ? told : undefined, [decisionRecord(actorOf(job), decision)]);
    return refusal;
  }

  private gateway(grant: LiveGrant, terms: CallTerms, signal: AbortSignal): ToolGateway {
    const { tenant, taskId, allowedTools } = terms;
    const rights = rightsOf({ ...terms, allowedTools: allowedTools.filter((name) => grant.tools.includes(name)) });
    return new ToolGateway(rights, {
      catalog: this.ports.catalog,
      taskKey: grant.taskKey,
      run: { input: JSON.parse(terms.input) as unknown, signal, tenant, taskId },
    });
  }

  private async terms(grant: LiveGrant): Promise<CallTerms> {
    const terms = await this.ports.calls.terms(grant.taskKey);
    if (!terms) throw runOver();
    return terms;
  }
}

function actorOf({ grant, terms }: Job): ToolActor {
  const { tenant, createdBy: principal, agentId, taskId, backendVersion } = terms;
  const { taskKey, runNo, runtimeId } = grant;
  return { tenant, principal, agentId, runtimeId, taskKey, taskId, runNo, backendVersion };
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
