import type { RunContext, RunnerItem, ToolDescription } from '../contract/index.js';
import { BudgetError } from '../contract/index.js';
import type { Conversation, PendingCall } from './conversation.js';
import { outputForModel } from './dialogue.mapping.js';
import type { Outbox } from './outbox.js';

/** Characters of a tool's output shown to the model. */
export const OUTPUT_LIMIT = 16_000;

/** A tool call that did not work, for the model to read; the run goes on. */
export class FailedCall extends Error {
  override readonly name = 'FailedCall';
}

interface Parts {
  readonly context: RunContext;
  readonly conversation: Conversation;
  readonly outbox: Outbox<RunnerItem>;
  readonly signal: AbortSignal;
  /** Tools whose outputs the result needs. */
  readonly collect: readonly string[];
}

/**
 * Makes the tool calls of a run and tells them as events. The framework shows no tool events of its own, so each call
 * is told here: announced and saved before it goes out, told and saved again when it is back.
 */
export class ToolCalls {
  private readonly tools: ReadonlyMap<string, ToolDescription>;
  private readonly ids = new Map<string, string>();
  private made = 0;
  private named = 0;
  private unsettled = false;

  constructor(private readonly parts: Parts) {
    this.tools = new Map(parts.context.tools.list.map((tool) => [tool.name, tool]));
  }

  /** True while a call that must not be made twice is not part of a finished turn. */
  get mayHaveEffects(): boolean {
    return this.unsettled;
  }

  /** Our id of a call of this turn: endpoints reuse theirs, and tools take ours for an idempotency key. */
  idOf(upstreamId: string): string {
    const known = this.ids.get(upstreamId);
    if (known !== undefined) return known;
    this.named += 1;
    const id = `call_${this.parts.context.runNo}_${this.named}`;
    this.ids.set(upstreamId, id);
    return id;
  }

  /** A call of an earlier run keeps the id it had there. */
  know(upstreamId: string, id: string): void {
    this.ids.set(upstreamId, id);
  }

  /** A new turn of the model begins; what it names are other calls. */
  beginTurn(): void {
    this.ids.clear();
  }

  /** The calls so far are part of a stored conversation. */
  settled(): void {
    this.unsettled = false;
  }

  /** Calls a tool for the model. Throws FailedCall when the model shall read of a failure, anything else ends the run. */
  make(toolName: string, args: unknown, upstreamId: string): Promise<unknown> {
    return this.makeCall({ id: this.idOf(upstreamId), upstreamId, toolName, args });
  }

  private async makeCall(call: PendingCall): Promise<unknown> {
    const { toolName, args } = call;
    this.spend();
    if (this.tools.get(toolName)?.idempotent !== true) this.unsettled = true;
    await this.announce(call);
    let output: unknown;
    try {
      output = await this.interruptible(this.parts.context.tools.call(toolName, args, call.id));
    } catch (error) {
      throw await this.failed(call, error);
    }
    const { value, omitted } = outputForModel(output, OUTPUT_LIMIT);
    this.parts.conversation.omit(omitted);
    if (this.parts.collect.includes(toolName)) this.parts.conversation.outputs.set(toolName, output);
    await this.completed({ ...call, outcome: { value } }, output);
    return value;
  }

  /** A call the model got wrong, so that it never went out. Whether a tool that is not offered exists is not said here. */
  async refuse(toolName: string, args: unknown, upstreamId: string): Promise<void> {
    if (!this.tools.has(toolName)) {
      await this.make(toolName, args, upstreamId).catch((error: unknown) => {
        if (!(error instanceof FailedCall)) throw error;
      });
      return;
    }
    this.spend();
    const call: PendingCall = { id: this.idOf(upstreamId), upstreamId, toolName, args };
    await this.announce(call);
    const message = 'The arguments are not JSON.';
    await this.failed(call, { name: 'ToolError', code: 'invalid_arguments', message });
  }

  /** A call whose run was lost: made again when that is harmless, else reported to the model as unknown. */
  async settle(call: PendingCall): Promise<{ readonly value: unknown } | { readonly error: string }> {
    if (call.outcome) return call.outcome;
    const message = 'The run was lost during this call; it is not known whether it was done.';
    const payload = { tool_call_id: call.id, tool_name: call.toolName };
    const error = { code: 'outcome_unknown', message };
    await this.parts.outbox.put({ kind: 'event', type: 'tool.failed', payload: { ...payload, error } });
    if (this.tools.get(call.toolName)?.idempotent !== true) return { error: message };
    try {
      const { toolName, args, id, repeats = id } = call;
      const upstreamId = `again-${id}`;
      return { value: await this.makeCall({ id: this.idOf(upstreamId), upstreamId, toolName, args, repeats }) };
    } catch (failure) {
      if (failure instanceof FailedCall) return { error: failure.message };
      throw failure;
    }
  }

  private spend(): void {
    this.made += 1;
    const most = this.parts.context.budgets.toolCalls;
    if (most !== undefined && this.made > most) throw new BudgetError(`The run may make ${most} tool calls.`);
  }

  private async announce(call: PendingCall): Promise<void> {
    const { conversation, outbox } = this.parts;
    conversation.note(call);
    await outbox.put(
      { kind: 'event', type: 'step.started', payload: { step_id: stepOf(call), step_name: call.toolName } },
      { kind: 'event', type: 'tool.invoked', payload: { ...told(call), arguments: call.args, ...repeated(call) } },
      { kind: 'checkpoint', data: conversation.checkpoint() },
    );
  }

  private async completed(call: PendingCall, output: unknown): Promise<void> {
    const { conversation, outbox } = this.parts;
    conversation.note(call);
    await outbox.put(
      { kind: 'event', type: 'tool.completed', payload: { ...told(call), output } },
      { kind: 'event', type: 'step.completed', payload: { step_id: stepOf(call), step_name: call.toolName } },
      { kind: 'checkpoint', data: conversation.checkpoint() },
    );
  }

  /** Tells a failure and answers what to throw: what is no ToolError is the platform's own trouble and ends the run. */
  private async failed(call: PendingCall, cause: unknown): Promise<unknown> {
    const error = toolErrorOf(cause);
    if (!error || this.parts.signal.aborted) return cause;
    const { conversation, outbox } = this.parts;
    conversation.note({ ...call, outcome: { error: error.message } });
    // The platform itself tells a denial.
    const denied = error.code === 'denied';
    if (!denied) await outbox.put({ kind: 'event', type: 'tool.failed', payload: { ...told(call), error } });
    await outbox.put(
      { kind: 'event', type: 'step.failed', payload: { step_id: stepOf(call), step_name: call.toolName, error } },
      { kind: 'checkpoint', data: conversation.checkpoint() },
    );
    return new FailedCall(error.message, { cause });
  }

  /** A tool that ignores the abort must not hold up the end of the run. */
  private interruptible<T>(call: Promise<T>): Promise<T> {
    const { signal } = this.parts;
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      call.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
      if (signal.aborted) abort();
    });
  }
}

function stepOf(call: PendingCall): string {
  return `step_${call.id}`;
}

function repeated({ repeats }: PendingCall): { repeats?: string } {
  return repeats === undefined ? {} : { repeats };
}

function told(call: PendingCall): { tool_call_id: string; tool_name: string; step_id: string } {
  return { tool_call_id: call.id, tool_name: call.toolName, step_id: stepOf(call) };
}

function toolErrorOf(error: unknown): { code: string; message: string } | undefined {
  if (typeof error !== 'object' || error === null || !('name' in error) || error.name !== 'ToolError') return undefined;
  const { code, message } = error as unknown as { code: string; message: string };
  return { code, message };
}
