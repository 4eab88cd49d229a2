import type { AuditEntry, ControlGuard, ErrorBody, EventBody, EventDraft, Payload, TaskId, TaskKey } from '#lib/domain';
import { draftEvent, OversizeError } from './admission.js';
import { ArtifactKeeper } from './artifact.keeper.js';
import { offloadEvent } from './oversize.js';
import type { RecorderPorts } from './run.recorder.js';
import { SecretArguments } from './secret-arguments.js';
import { asStreamed, storeOutput } from './tool-output.js';
import type { WriteOutcome } from './write-queue.js';

/** Units of UTF-16 of JSON: output that is longer becomes an artifact, and a reference stands for it. */
const ANSWER_LENGTH = 65_536;

/** A call that is made with the token of a run. `owner` has it reserved. */
export interface OutsideCall {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly runNo: number;
  readonly tenant: string;
  readonly runner: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly owner: string;
}

/** What came of a call. */
export type CallAnswer =
  { readonly status: 'completed'; readonly output: unknown } | { readonly status: 'failed'; readonly error: ErrorBody };

/** What came of a call, and of writing it down. */
export interface Answered {
  readonly answer: CallAnswer;
  readonly outcome: WriteOutcome;
}

/** How a call ended that went out. */
export interface CallEnd {
  readonly durationMs: number;
  /** Recorded in the statement that stores the end. */
  readonly audit: readonly AuditEntry[];
}

interface Writing {
  readonly guard?: ControlGuard;
  readonly answer?: string;
  readonly audit: readonly AuditEntry[];
}

/**
 * Writes the events of one call into the log of a run that is recorded elsewhere. They go in while that run is open and
 * its lease has not run out, by a guard which leaves the place of the run's own recorder alone: both write side by side,
 * and neither writes anything once the run is closed.
 */
export class CallRecorder {
  private readonly keeper: ArtifactKeeper;
  private readonly secrets: SecretArguments;

  constructor(
    private readonly call: OutsideCall,
    private readonly ports: RecorderPorts,
  ) {
    const { tenant, runner, toolName } = call;
    this.secrets = new SecretArguments({ tenant, allowedTools: [toolName] }, ports.secretFields);
    this.keeper = new ArtifactKeeper(ports.blobs, { tenant, origin: runner, known: [] });
  }

  /** The call goes out: not once a cancel was asked. */
  async announced(
    told: Omit<Payload<'tool.invoked'>, 'tool_call_id' | 'tool_name'>,
    audit: readonly AuditEntry[],
  ): Promise<WriteOutcome> {
    return this.write(await this.draft({ type: 'tool.invoked', payload: { ...this.named, ...told } }), {
      guard: { ...this.live, cancelRequested: false },
      audit,
    });
  }

  async completed(output: unknown, { durationMs, audit }: CallEnd): Promise<Answered> {
    const json = JSON.stringify(output) as string | undefined;
    const streamed =
      asStreamed(output) ?? ((json?.length ?? 0) > ANSWER_LENGTH ? asStreamed(Buffer.from(json!)) : undefined);
    const { value, kept } = streamed ? await storeOutput(streamed, this.keeper) : { value: output ?? null };
    const artifact = kept ? { artifact: kept.artifact } : {};
    const payload = { ...this.named, output: value, ...artifact, duration_ms: durationMs };
    const events = [...(kept?.events ?? []), ...(await this.draft({ type: 'tool.completed', payload }))];
    return this.answered({ status: 'completed', output: value }, events, audit);
  }

  async failed(error: ErrorBody, { durationMs, audit }: Partial<CallEnd> = {}): Promise<Answered> {
    const duration = durationMs === undefined ? {} : { duration_ms: durationMs };
    const events = await this.draft({ type: 'tool.failed', payload: { ...this.named, error, ...duration } });
    return this.answered({ status: 'failed', error }, events, audit);
  }

  /** It was not made, so the call stays as free as it was. `told`: absent when the log says nothing of it. */
  async denied(
    told: Omit<Payload<'tool.denied'>, 'tool_call_id' | 'tool_name'> | undefined,
    audit: readonly AuditEntry[],
  ): Promise<WriteOutcome> {
    const { taskKey, taskId } = this.call;
    const events = told ? await this.draft({ type: 'tool.denied', payload: { ...this.named, ...told } }) : [];
    return this.ports.writer.append({ taskKey, taskId, guard: this.live, events, audit });
  }

  private get named(): Pick<Payload<'tool.invoked'>, 'tool_call_id' | 'tool_name'> {
    return { tool_call_id: this.call.toolCallId, tool_name: this.call.toolName };
  }

  private get live(): ControlGuard {
    return { kind: 'control', from: ['running'], runOpen: true, runNo: this.call.runNo, leaseExpired: false };
  }

  private async answered(
    answer: CallAnswer,
    events: readonly EventDraft[],
    audit: readonly AuditEntry[] = [],
  ): Promise<Answered> {
    return { answer, outcome: await this.write(events, { answer: JSON.stringify(answer), audit }) };
  }

  private async draft(body: EventBody): Promise<readonly EventDraft[]> {
    try {
      return [draftEvent(this.secrets.without(body) ?? body)];
    } catch (error) {
      if (error instanceof OversizeError) return offloadEvent(error, this.keeper);
      throw error;
    }
  }

  private async write(
    events: readonly EventDraft[],
    { guard = this.live, answer, audit }: Writing,
  ): Promise<WriteOutcome> {
    const { taskKey, taskId, toolCallId, owner } = this.call;
    const call = { toolCallId, owner, ...(answer === undefined ? {} : { answer }) };
    const outcome = await this.ports.writer.append({ taskKey, taskId, guard, events, call, audit });
    if (outcome.kind === 'stored' && outcome.appended.stalled) this.recovered();
    return outcome;
  }

  /** The task counts as stalled, though it has just moved on. */
  private recovered(): void {
    const { taskKey, taskId } = this.call;
    const events = [draftEvent({ type: 'task.recovered', payload: {} })];
    this.ports.writer.write({ taskKey, taskId, guard: { ...this.live, stalled: true }, events });
  }
}
