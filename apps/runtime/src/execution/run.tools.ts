import { type ToolClient, ToolError } from '#lib/adapters/contract';
import type { AuditEntry, EventBody, Payload } from '#lib/domain';
import { type Addition, asStreamed, isProtocolError, type RunRecorder, type StreamedOutput } from '#lib/execution';
import { digestCall } from '#lib/platform';
import {
  type Allowed,
  decisionRecord,
  type Denied,
  errorOf,
  type OfferedTool,
  resultRecord,
  type ToolActor,
  type ToolDecision,
  type ToolGateway,
  type ToolResult,
} from '#lib/tools';
import type { LiveRun } from './live-run.js';
import type { LiveRuns } from './live-runs.js';

/** A run's tools, and who calls them. */
export interface ToolAccess {
  readonly gateway: ToolGateway;
  readonly actor: ToolActor;
}

interface RunParts {
  readonly run: LiveRun;
  readonly recorder: RunRecorder;
  readonly live: LiveRuns;
}

/** A call of this run: announced, perhaps decided about, perhaps out. */
interface Call {
  decision?: ToolDecision;
  /** When it went out, by `performance.now()`. */
  outAtMs?: number;
  result?: ToolResult;
  /** Records that wait for the event they belong to. */
  readonly records: AuditEntry[];
}

type ToldEnd = Pick<Payload<'tool.completed'>, 'tool_call_id' | 'tool_name'>;

/**
 * The way of a run's calls through the tool gateway. What is decided about a call is recorded with its `tool.invoked`, and
 * what became of it with its end: in the statement that stores the event. A call is held back until its `tool.invoked` is
 * in the log, with the checkpoint that knows of it, and the run is known to be live: fencing protects the log, not the
 * world.
 */
export class RunTools {
  private readonly calls = new Map<string, Call>();

  constructor(
    private readonly access: ToolAccess,
    private readonly parts: RunParts,
  ) {}

  /** What the adapter gets of it. */
  get client(): ToolClient {
    const { gateway } = this.access;
    return {
      get list(): readonly OfferedTool[] {
        return gateway.list;
      },
      verdictOn: (toolName, args) => gateway.verdictOn(toolName, args),
      call: (toolName, args, toolCallId) => this.call(toolName, args, toolCallId),
    };
  }

  /** What the platform adds to an event of the runner that is about a call. */
  readonly add = (event: EventBody): Addition | undefined => {
    if (event.type === 'tool.invoked') return this.announced(event.payload);
    if (event.type === 'tool.completed') return this.ended(event.payload);
    if (event.type === 'tool.failed') return this.ended(event.payload, event.payload.error.code);
    return undefined;
  };

  private async call(toolName: string, args: unknown, toolCallId: string): Promise<unknown> {
    const { run, recorder, live } = this.parts;
    const isStored = await Promise.race([recorder.isAnnounced(toolCallId), aborted(run.signal)]);
    if (!isStored || !live.isSafe(run)) throw over();
    const call = this.callOf(toolCallId);
    const decision = await this.decided(call, { toolName, args, toolCallId });
    if (decision.outcome === 'denied') throw this.denied(call, decision);
    call.outAtMs = performance.now();
    try {
      const output = await this.performed(decision);
      call.result = { result: 'completed', durationMs: sinceMs(call.outAtMs) };
      return output;
    } catch (cause) {
      const error = isProtocolError(cause) ? new ToolError('failed', cause.message, { cause }) : cause;
      call.result = { ...failureOf(error, run.signal), durationMs: sinceMs(call.outAtMs) };
      throw error;
    }
  }

  /** Records what is known of calls whose end the runner has not told and will not tell. */
  flush(): void {
    const records = [...this.calls.keys()].flatMap((toolCallId) => this.recordsOf(toolCallId).records);
    if (records.length > 0) void this.parts.recorder.audit(records);
  }

  /** A call is decided about when it is announced, so that leave is on record before it goes out. */
  private announced(payload: Payload<'tool.invoked'>): Addition | undefined {
    const { tool_call_id: toolCallId, tool_name: toolName, repeats } = payload;
    this.parts.run.calls.open(toolCallId, toolName);
    // What a runner calls elsewhere, or leaves to the caller, is not ours to decide.
    if (!this.access.gateway.has(toolName)) return undefined;
    const call: Call = { records: [] };
    this.calls.set(toolCallId, call);
    if (!('arguments' in payload)) return undefined;
    const wanted = { toolName, args: payload.arguments, toolCallId, ...(repeats === undefined ? {} : { repeats }) };
    call.decision = this.access.gateway.decide(wanted);
    return call.decision.outcome === 'allowed' ? this.leave(call.decision) : undefined;
  }

  private leave(decision: Allowed): Addition {
    const { digest, policyVersion, approval, isRepeat } = decision;
    return {
      fields: {
        digest,
        policy_version: policyVersion,
        ...(approval && !isRepeat ? { approval: approval.place } : {}),
        ...(approval ? { approved_by: approval.approvedBy } : {}),
      },
      audit: [decisionRecord(this.access.actor, decision)],
    };
  }

  private ended({ tool_call_id, tool_name }: ToldEnd, code?: string): Addition | undefined {
    const { calls } = this.parts.run;
    const isOurs = this.calls.has(tool_call_id);
    calls.close(tool_call_id);
    const waitingOn = calls.latest;
    const { records, durationMs } =
      !isOurs && code === 'outcome_unknown' ? this.unknown(tool_call_id, tool_name) : this.recordsOf(tool_call_id);
    if (waitingOn === undefined && records.length === 0) return undefined;
    return {
      fields: {
        ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
        ...(waitingOn === undefined ? {} : { waiting_on: waitingOn }),
      },
      audit: records,
    };
  }

  /** A call of an earlier run that ended before the call did. */
  private unknown(
    toolCallId: string,
    toolName: string,
  ): { readonly records: readonly AuditEntry[]; readonly durationMs?: number } {
    if (!this.access.gateway.has(toolName)) return { records: [] };
    const call = { toolName, toolCallId, args: undefined };
    return { records: [resultRecord(this.access.actor, { call }, { result: 'outcome_unknown' })] };
  }

  /** What was announced is what may be called. */
  private async decided(
    call: Call,
    wanted: { readonly toolName: string; readonly args: unknown; readonly toolCallId: string },
  ): Promise<ToolDecision> {
    const { gateway, actor } = this.access;
    if (!call.decision) {
      call.decision = gateway.decide(wanted);
      if (call.decision.outcome === 'denied') return call.decision;
      // It was announced without its arguments, so leave could not be recorded with that.
      if (!(await this.parts.recorder.audit([decisionRecord(actor, call.decision)]))) throw over();
    }
    const { decision } = call;
    const isSame = digestCall(wanted.toolName, wanted.args) === decision.digest;
    return isSame ? decision : gateway.changed(wanted);
  }

  private denied(call: Call, decision: Denied): ToolError {
    const { run, recorder } = this.parts;
    const { digest, policyVersion, code, reason } = decision;
    const { toolCallId, toolName } = decision.call;
    const record = decisionRecord(this.access.actor, decision);
    const error = errorOf(decision);
    if (error.code === 'denied') {
      run.calls.close(toolCallId);
      this.calls.delete(toolCallId);
      const waiting = run.calls.latest;
      recorder.deny(
        {
          tool_call_id: toolCallId,
          tool_name: toolName.slice(0, 200),
          reason,
          code,
          digest,
          policy_version: policyVersion,
          ...(waiting === undefined ? {} : { waiting_on: waiting }),
        },
        [record],
      );
    } else {
      // The runner tells of it, as of a call that failed.
      call.records.push(record);
    }
    return error;
  }

  private async performed(decision: Allowed): Promise<unknown> {
    const { run, recorder } = this.parts;
    const output = await this.access.gateway.perform(decision);
    const streamed = asStreamed(output);
    return streamed ? recorder.output(decision.call.toolCallId, untilAborted(streamed, run.signal)) : output;
  }

  /** Takes what there is to record of a call, once. */
  private recordsOf(toolCallId: string): { readonly records: readonly AuditEntry[]; readonly durationMs?: number } {
    const call = this.calls.get(toolCallId);
    if (!call) return { records: [] };
    this.calls.delete(toolCallId);
    const { decision, outAtMs, records } = call;
    if (outAtMs === undefined || decision?.outcome !== 'allowed') return { records };
    const result = call.result ?? { result: 'outcome_unknown', durationMs: sinceMs(outAtMs) };
    return {
      records: [...records, resultRecord(this.access.actor, decision, result)],
      durationMs: result.durationMs,
    };
  }

  private callOf(toolCallId: string): Call {
    const known = this.calls.get(toolCallId);
    if (known) return known;
    const call: Call = { records: [] };
    this.calls.set(toolCallId, call);
    return call;
  }
}

function over(): ToolError {
  return new ToolError('failed', 'The run is over: the call was not made.');
}

function sinceMs(startMs: number): number {
  return Math.round(performance.now() - startMs);
}

/** A call that was out when its run ended may have been made all the same. */
function failureOf(error: unknown, signal: AbortSignal): Omit<ToolResult, 'durationMs'> {
  const { name, code } = error as { readonly name?: unknown; readonly code?: unknown };
  if (name !== 'ToolError')
    return signal.aborted ? { result: 'outcome_unknown' } : { result: 'failed', code: 'internal' };
  return { result: code === 'timeout' ? 'timed_out' : 'failed', code: String(code) };
}

/** A tool that never goes on must not keep a run that is over. */
async function* untilAborted(output: StreamedOutput, signal: AbortSignal): StreamedOutput {
  const iterator = output[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextOf(iterator, signal);
      if (next === undefined) throw new ToolError('failed', 'The run is over: the output was not read to its end.');
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: it may be the very thing that hangs.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

/** The next piece; undefined when the run is over first. No race with one promise for all pieces: it would keep every one. */
function nextOf<T>(iterator: AsyncIterator<T>, signal: AbortSignal): Promise<IteratorResult<T> | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    iterator
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', leave));
  });
}

function aborted(signal: AbortSignal): Promise<false> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(false), { once: true }));
}
