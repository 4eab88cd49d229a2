import { dynamicTool, jsonSchema, stepCountIs, streamText, type ModelMessage, type ToolSet } from 'ai';
import type { UsageBody } from '#lib/domain';
import { BudgetError, type RunContext, type RunnerItem } from '../contract/index.js';
import { Conversation } from './conversation.js';
import type { DialogueModel } from './dialogue.client.js';
import { createAdapterError, toAdapterError } from './dialogue.errors.js';
import { addUsage, mergeOutputs, parseOptions, usageOf, type DialogueOptions, type Part } from './dialogue.mapping.js';
import { Narration } from './narration.js';
import { Outbox } from './outbox.js';
import { FailedCall, ToolCalls } from './tool-calls.js';

/** The local model reads no more than this: it follows instructions, it does not understand texts. */
const LOCAL_INPUT_LIMIT = 4000;

/** One run of a dialogue: drives the framework's loop and turns what it shows into the run's stream. */
export class DialogueRun {
  private readonly options: DialogueOptions;
  private readonly outbox = new Outbox<RunnerItem>();
  private readonly stop = new AbortController();
  private readonly conversation: Conversation;
  private readonly lostTurn: ReturnType<typeof Conversation.restore>['turn'];
  private readonly calls: ToolCalls;
  private readonly narration: Narration;
  /** Calls the reader of the framework's stream has passed, and those waiting for that. */
  private readonly passed = new Map<string, { promise: Promise<void>; resolve: () => void }>();
  private readonly ours = new Set<string>();
  private usage: UsageBody | undefined;
  private executing = 0;
  private modelCalls = 0;
  private finishReason: string | undefined;
  private silence: NodeJS.Timeout | undefined;

  constructor(
    private readonly context: RunContext,
    private readonly model: DialogueModel,
    private readonly aborted: AbortSignal,
  ) {
    this.options = parseOptions(context.options);
    const limit = model.provider === 'local' ? LOCAL_INPUT_LIMIT : Infinity;
    const { conversation, turn } =
      context.checkpoint === undefined
        ? { conversation: Conversation.begin(context.input, Math.min(limit, this.options.inputLimit)), turn: [] }
        : Conversation.restore(context.checkpoint);
    this.conversation = conversation;
    this.lostTurn = turn;
    const { outbox } = this;
    this.calls = new ToolCalls({
      context,
      conversation,
      outbox,
      signal: this.stop.signal,
      collect: this.options.collect,
    });
    this.narration = new Narration(context.detail, context.runNo, model.modelId, (id) => this.calls.idOf(id));
  }

  async *items(): AsyncGenerator<RunnerItem, void, undefined> {
    const cancel = (): void => this.fail(createAdapterError('cancelled', this.effects()));
    this.aborted.addEventListener('abort', cancel, { once: true });
    if (this.aborted.aborted) cancel();
    void this.converse().then(
      () => this.outbox.close(),
      (error: unknown) => this.fail(error),
    );
    try {
      yield* this.outbox.read();
    } finally {
      this.aborted.removeEventListener('abort', cancel);
      this.fail(createAdapterError('cancelled', this.effects()));
    }
  }

  /** Ends the run with this error, at once: nothing of the framework is waited for. */
  private fail(error: unknown): void {
    clearTimeout(this.silence);
    this.outbox.close(isBudgetError(error) ? error : toAdapterError(error, this.effects()));
    this.stop.abort();
  }

  private effects(): 'possible' | 'none' {
    return this.calls.mayHaveEffects ? 'possible' : 'none';
  }

  private async converse(): Promise<void> {
    await this.takeUpLostTurn();
    const { instructions, temperature } = this.options;
    const { fullStream } = streamText({
      model: this.model,
      messages: this.conversation.messages,
      tools: this.wrapTools(),
      stopWhen: stepCountIs(this.mostModelCalls()),
      abortSignal: this.stop.signal,
      maxRetries: 0,
      prepareStep: ({ stepNumber, messages }) => this.prepareTurn(stepNumber, messages),
      onError: () => undefined,
      ...(instructions === undefined ? {} : { system: instructions }),
      ...(temperature === undefined ? {} : { temperature }),
      experimental_include: { requestBody: false },
    });
    for await (const part of fullStream) await this.take(part);
    clearTimeout(this.silence);
    this.checkEnd();
    await this.collectMissing();
    await this.outbox.put(this.result());
  }

  private async takeUpLostTurn(): Promise<void> {
    if (this.lostTurn.length === 0) return;
    const settled = [];
    for (const call of this.lostTurn) {
      const outcome = await this.calls.settle(call);
      settled.push({ toolCallId: call.upstreamId, toolName: call.toolName, args: call.args, outcome });
    }
    this.conversation.adopt(settled);
    await this.saveTurn();
  }

  private wrapTools(): ToolSet {
    const wrapped: ToolSet = {};
    for (const { name, description, parameters } of this.context.tools.list) {
      wrapped[name] = dynamicTool({
        description,
        inputSchema: jsonSchema(parameters),
        execute: (args, { toolCallId }) => this.execute(name, args, toolCallId),
      });
    }
    return wrapped;
  }

  private async execute(toolName: string, args: unknown, upstreamId: string): Promise<unknown> {
    this.executing += 1;
    clearTimeout(this.silence);
    try {
      await this.passing(upstreamId).promise;
      this.passed.delete(upstreamId);
      this.ours.add(upstreamId);
      return await this.calls.make(toolName, args, upstreamId);
    } catch (error) {
      if (!(error instanceof FailedCall)) this.fail(error);
      throw error;
    } finally {
      this.executing -= 1;
    }
  }

  /** What came before a call in the model's stream is told before the call. */
  private passing(upstreamId: string): { promise: Promise<void>; resolve: () => void } {
    let entry = this.passed.get(upstreamId);
    if (!entry) {
      let resolve = (): void => undefined;
      const promise = new Promise<void>((done) => (resolve = done));
      entry = { promise, resolve };
      this.passed.set(upstreamId, entry);
    }
    return entry;
  }

  private async prepareTurn(turn: number, messages: readonly ModelMessage[]): Promise<undefined> {
    this.modelCalls += 1;
    if (turn === 0) return;
    const { tokens } = this.context.budgets;
    if (tokens !== undefined && this.usage && this.usage.input_tokens + this.usage.output_tokens > tokens) {
      this.fail(new BudgetError(`The run may use ${tokens} tokens.`));
    }
    this.conversation.endTurn(messages);
    await this.saveTurn();
  }

  private async saveTurn(): Promise<void> {
    await this.outbox.put({ kind: 'checkpoint', data: this.conversation.checkpoint() });
    this.calls.settled();
  }

  private async take(part: Part): Promise<void> {
    clearTimeout(this.silence);
    if (part.type === 'error') throw part.error;
    if (part.type === 'start-step') this.calls.beginTurn();
    if (part.type === 'finish-step') {
      this.usage = addUsage(this.usage, usageOf(part.usage));
      this.finishReason = part.rawFinishReason === undefined ? 'missing' : part.finishReason;
    }
    await this.outbox.put(...this.narration.take(part).map((event) => ({ kind: 'event' as const, ...event })));
    await this.takeCall(part);
    this.watch(part);
  }

  private async takeCall(part: Part): Promise<void> {
    if (part.type === 'tool-call') this.passing(part.toolCallId).resolve();
    if (part.type !== 'tool-result' && part.type !== 'tool-error') return;
    if (this.ours.delete(part.toolCallId) || part.type === 'tool-result') return;
    this.passed.delete(part.toolCallId);
    await this.calls.refuse(part.toolName, part.input, part.toolCallId);
  }

  /** Only the model's silence counts, not the time a tool or the reader of this run takes. */
  private watch(part: Part): void {
    clearTimeout(this.silence);
    if (this.executing > 0 || ['finish-step', 'finish', 'abort'].includes(part.type)) return;
    this.silence = setTimeout(() => this.fail(createAdapterError('timeout', this.effects())), this.options.idleMs);
  }

  private mostModelCalls(): number {
    return Math.min(this.options.maxModelCalls, this.context.budgets.modelCalls ?? Infinity);
  }

  private checkEnd(): void {
    this.stop.signal.throwIfAborted();
    if (this.finishReason === 'tool-calls') {
      throw new BudgetError(`The run may call the model ${this.mostModelCalls()} times.`);
    }
    if (this.finishReason === 'content-filter') {
      throw createAdapterError('rejected', this.effects(), { message: 'The model declined to answer.' });
    }
    if (this.finishReason === 'missing' || this.finishReason === 'error') {
      throw createAdapterError('protocol', this.effects(), { message: 'The answer of the model broke off.' });
    }
  }

  /** The data of the result is promised whatever the model chose to call. */
  private async collectMissing(): Promise<void> {
    const offered = new Set(this.context.tools.list.map(({ name }) => name));
    for (const name of this.options.collect) {
      if (!offered.has(name) || this.conversation.outputs.has(name)) continue;
      await this.calls.make(name, {}, `collect-${name}`).catch((error: unknown) => {
        if (!(error instanceof FailedCall)) throw error;
      });
    }
  }

  private result(): RunnerItem {
    const { text, messageId } = this.narration.answer();
    const { collect } = this.options;
    const collected = new Map([...this.conversation.outputs].filter(([name]) => collect.includes(name)));
    const { omitted } = this.conversation;
    return {
      kind: 'result',
      result: {
        text,
        ...(collect.length === 0 ? {} : { data: mergeOutputs(collected) }),
        metadata: {
          model: this.model.modelId,
          model_calls: this.modelCalls,
          ...(this.finishReason === 'length' ? { finish_reason: 'length' } : {}),
          ...(omitted === 0 ? {} : { trimmed_characters: omitted }),
        },
      },
      ...(messageId === undefined ? {} : { messageId }),
      ...(this.usage === undefined ? {} : { usage: this.usage }),
    };
  }
}

function isBudgetError(error: unknown): error is BudgetError {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'BudgetError';
}
