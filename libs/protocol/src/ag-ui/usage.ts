import { EventType, type TokenUsage } from '@ag-ui/core';
import type { Payload, UsageBody } from '#lib/domain';
import type { AgUiEvent } from './contract.js';

interface Counts {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What the models of one run have used up. */
export class UsageMeter {
  private readonly byModel = new Map<string, Counts>();
  private total: Counts = { inputTokens: 0, outputTokens: 0 };
  private calls = 0;

  /** The custom event of one model call, as AgentScope's consumers know it. */
  called({ model, usage }: Payload<'model.usage'>): AgUiEvent[] {
    const delta = countsOf(usage);
    this.calls += 1;
    this.total = sum(this.total, delta);
    this.byModel.set(model, sum(this.byModel.get(model), delta));
    const value = { delta: shown(delta), cumulative: shown(this.total), modelCall: { replyId: `call_${this.calls}` } };
    return [{ type: EventType.CUSTOM, name: 'token_usage', value }];
  }

  /** Of the terminal event: by model, or what the task told as a whole; nothing when nobody has counted. */
  totals(told: UsageBody | undefined): { readonly usage?: TokenUsage[] } {
    const entries = [...this.byModel].map(([model, counts]): TokenUsage => ({ model, ...withTotal(counts) }));
    if (entries.length === 0 && told) entries.push(withTotal(countsOf(told)));
    return entries.length === 0 ? {} : { usage: entries };
  }
}

function countsOf({ input_tokens, output_tokens }: UsageBody): Counts {
  return { inputTokens: input_tokens, outputTokens: output_tokens };
}

function sum(one: Counts | undefined, other: Counts): Counts {
  return {
    inputTokens: (one?.inputTokens ?? 0) + other.inputTokens,
    outputTokens: (one?.outputTokens ?? 0) + other.outputTokens,
  };
}

function withTotal(counts: Counts): Counts & { readonly totalTokens: number } {
  return { ...counts, totalTokens: counts.inputTokens + counts.outputTokens };
}

/** The log tells neither cached tokens nor times. */
function shown(counts: Counts): object {
  return { ...withTotal(counts), cachedTokens: 0, time: 0 };
}
