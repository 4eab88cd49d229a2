import { stepCountIs, streamText, type ModelMessage } from 'ai';
import type { UsageBody } from '#lib/domain';
import { BudgetError, type RunContext, type RunnerEvent, type RunnerItem, textInputOf } from '../contract/index.js';
import { AwaitedCalls } from './awaited-calls.js';
import { callerInstructions } from './caller-messages.js';
import { CallOrder } from './call-order.js';
import { Conversation } from './conversation.js';
import type { DialogueModel } from './dialogue.client.js';
import { createAdapterError, toAdapterError } from './dialogue.errors.js';
import { addUsage, parseOptions, resultItem, usageOf, type DialogueOptions, type Part } from './dialogue.mapping.js';
import { Narration } from './narration.js';
import { Outbox } from './outbox.js';
import { FailedCall, OUTPUT_LIMIT, ToolCalls } from './tool-calls.js';
import { toolSet } from './tool-set.js';
import { clientCallEvents, pauseOf, type WaitingCall } from './waiting.js';

/** The local model reads no more than this: it follows instructions, it does not understand texts. */
const LOCAL_INPUT_LIMIT = 4000;
/** Characters a session remembers at most: as JSON in UTF-8 it has to pass the platform's bound. */
const HISTORY_LIMIT = 200_000;

/** One run of a dialogue: drives the framework's loop and turns what it shows into the run's stream. */
export class DialogueRun {
  private readonly options: DialogueOptions;
  private readonly outbox = new Outbox<RunnerItem>();
  private readonly stop = new AbortController();
  private readonly conversation: Conversation;
  private readonly lostTurn: ReturnType<typeof Conversation.restore>['turn'];
  private readonly calls: ToolCalls;
  private readonly narration: Narration;
  private readonly order = new CallOrder();
  private readonly awaited: AwaitedCalls;
  private readonly ours = new Set<string>();
  /** Of this run: a budget bounds one run. */
  private usage: UsageBody | undefined;
  private executing = 0;
  private finishReason: string | undefined;
  private silence: NodeJS.Timeout | undefined;

  constructor(
    private readonly context: RunContext,
    private readonly model: DialogueModel,
    private readonly aborted: AbortSignal,
  ) {
    this.options = parseOptions(context.options);
    const { inputLimit, conversationLimit, collect } = this.options;
    const input = Math.min(inputLimit, model.provider === 'local' ? LOCAL_INPUT_LIMIT : Infinity);
    const history = Math.min(conversationLimit / 2, HISTORY_LIMIT);
    const limits = { input, output: OUTPUT_LIMIT, messages: conversationLimit, history };
    const { conversation, turn } =
      context.checkpoint === undefined
        ? { conversation: Conversation.begin(textInputOf(context), limits, context), turn: [] }
        : Conversation.restore(context.checkpoint, limits);
    this.conversation = conversation;
    this.lostTurn = turn;
    const { outbox } = this;
    this.calls = new ToolCalls({ context, conversation, outbox, signal: this.stop.signal, collect });
    const idOf = (upstreamId: string): string => this.calls.idOf(upstreamId);
    this.narration = new Narration(context.detail, context.runNo, model.modelId, idOf);
    const clientTools = new Set(context.clientTools.map(({ name }) => name));
    this.awaited = new AwaitedCalls((name) => clientTools.has(name), idOf);
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
    await this.takeUpAnswer();
    await this.takeUpLostTurn();
    const { temperature } = this.options;
    const { messages } = this.conversation;
    const stream = streamText({
      model: this.model,
      messages,
      tools: toolSet(this.context, (name, args, upstreamId) => this.execute(name, args, upstreamId)),
      stopWhen: stepCountIs(this.mostModelCalls()),
      abortSignal: this.stop.signal,
      maxRetries: 0,
      prepareStep: (step) => this.prepareTurn(step.messages, messages.length),
      onError: () => undefined,
      ...this.system(),
      ...(temperature === undefined ? {} : { temperature }),
      experimental_include: { requestBody: false },
    });
    for await (const part of stream.fullStream) await this.take(part);
    clearTimeout(this.silence);
    const waiting = this.waiting();
    const all = async (): Promise<ModelMessage[]> => [...messages, ...(await stream.response).messages];
    if (waiting.length > 0) return this.pause(await all(), waiting);
    this.checkEnd();
    const missing = await this.collectMissing();
    await this.outbox.put(
      resultItem(this.conversation, this.narration.answer(), {
        model: this.model.modelId,
        collect: this.options.collect,
        missing,
        finishReason: this.finishReason,
        ...(this.context.sessionId === undefined ? {} : { history: this.conversation.history(await all()) }),
      }),
    );
  }

  /** The answer to a pause: the calls it is about keep the ids they were shown under. */
  private async takeUpAnswer(): Promise<void> {
    const events = this.conversation.takeAnswer(this.context.answer);
    for (const { id, upstreamId } of this.conversation.approved) {
      this.calls.know(upstreamId, id);
      this.order.pass(upstreamId);
    }
    if (events.length > 0) await this.outbox.put(...events.map(itemOf), this.checkpoint());
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

  private system(): { system?: string } {
    const { instructions } = this.options;
    const { turns, exchanges } = this.conversation.omitted;
    const { callerConversation } = this.context;
    const lines = [
      ...(instructions === undefined ? [] : [instructions]),
      ...(callerConversation ? callerInstructions(callerConversation) : []),
      ...(exchanges === 0 ? [] : [`The first ${exchanges} requests of this conversation are left out.`]),
      ...(turns === 0 ? [] : [`The first ${turns} turns of this conversation are left out.`]),
    ];
    return lines.length === 0 ? {} : { system: lines.join('\n\n') };
  }

  private async execute(toolName: string, args: unknown, upstreamId: string): Promise<unknown> {
    this.executing += 1;
    clearTimeout(this.silence);
    try {
      await this.order.reached(upstreamId);
      this.ours.add(upstreamId);
      return await this.calls.make(toolName, args, upstreamId);
    } catch (error) {
      if (!(error instanceof FailedCall)) this.fail(error);
      throw error;
    } finally {
      this.executing -= 1;
    }
  }

  /** `known`: messages the run began with. The first turn has no more, unless approved calls came before it. */
  private async prepareTurn(messages: readonly ModelMessage[], known: number): Promise<object | undefined> {
    if (messages.length === known) return undefined;
    const { tokens } = this.context.budgets;
    if (tokens !== undefined && this.usage && this.usage.input_tokens + this.usage.output_tokens > tokens) {
      this.fail(new BudgetError(`The run may use ${tokens} tokens.`));
    }
    await this.endTurn(messages);
    return { messages: this.conversation.messages, ...this.system() };
  }

  private async endTurn(messages: readonly ModelMessage[], waiting: readonly WaitingCall[] = []): Promise<void> {
    const { turns } = this.conversation.omitted;
    this.conversation.endTurn(messages, waiting);
    const leftOut = this.conversation.omitted.turns - turns;
    if (leftOut > 0) await this.outbox.put(...this.narration.trimmed(leftOut).map(itemOf));
    await this.saveTurn();
  }

  private async saveTurn(): Promise<void> {
    await this.outbox.put(this.checkpoint());
    this.calls.settled();
  }

  private checkpoint(): RunnerItem {
    return { kind: 'checkpoint', data: this.conversation.checkpoint() };
  }

  private async take(part: Part): Promise<void> {
    clearTimeout(this.silence);
    if (part.type === 'error') throw part.error;
    if (part.type === 'start-step') this.calls.beginTurn();
    if (part.type === 'finish-step') {
      const usage = usageOf(part.usage);
      this.usage = addUsage(this.usage, usage);
      this.conversation.spend(usage);
      this.finishReason = part.rawFinishReason === undefined ? 'missing' : part.finishReason;
    }
    await this.outbox.put(...this.narration.take(part).map(itemOf));
    this.awaited.take(part);
    await this.takeCall(part);
    this.watch(part);
  }

  private async takeCall(part: Part): Promise<void> {
    if (part.type === 'tool-call') this.order.pass(part.toolCallId);
    if (part.type !== 'tool-result' && part.type !== 'tool-error') return;
    if (this.ours.delete(part.toolCallId) || part.type === 'tool-result') return;
    this.order.forget(part.toolCallId);
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

  /** The calls this run ends with; an answer that broke off asks for nothing. */
  private waiting(): WaitingCall[] {
    this.stop.signal.throwIfAborted();
    return this.finishReason === 'tool-calls' || this.finishReason === 'stop' ? this.awaited.list() : [];
  }

  private async pause(messages: readonly ModelMessage[], waiting: readonly WaitingCall[]): Promise<void> {
    await this.outbox.put(...[...this.narration.close(), ...clientCallEvents(waiting)].map(itemOf));
    await this.endTurn(messages, waiting);
    await this.outbox.put(pauseOf(waiting));
  }

  private checkEnd(): void {
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

  /** The data of the result is promised whatever the model chose to call; answers what could not be kept of that. */
  private async collectMissing(): Promise<readonly string[]> {
    const { tools } = this.context;
    const missing = this.options.collect.filter((name) => !this.conversation.outputs.has(name));
    for (const name of missing) {
      // What is to be confirmed is not called behind the back of those who confirm.
      const offered = tools.list.find((tool) => tool.name === name);
      if (!offered || (offered.policy === 'confirm' && tools.verdictOn?.(name, {}) !== 'allow')) continue;
      await this.calls.make(name, {}, `collect-${name}`).catch((error: unknown) => {
        if (!(error instanceof FailedCall)) throw error;
      });
    }
    return missing.filter((name) => !this.conversation.outputs.has(name));
  }
}

function itemOf(event: RunnerEvent): RunnerItem {
  return { kind: 'event', ...event };
}

function isBudgetError(error: unknown): error is BudgetError {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'BudgetError';
}
