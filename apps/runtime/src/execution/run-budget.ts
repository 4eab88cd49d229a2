import { BudgetError, type RunnerEvent } from '#lib/adapters/contract';
import type { Budgets } from '#lib/domain';

/**
 * Counts what a run says it has used. Adapters keep to their budgets by themselves, and know more than they say; this
 * holds also those that do not. Time is kept by the clock of the runs.
 */
export class RunBudget {
  private modelCalls = 0;
  private toolCalls = 0;
  private tokens = 0;

  constructor(private readonly budgets: Budgets) {}

  /** @throws BudgetError with the event that passes a bound. */
  count(event: RunnerEvent): void {
    if (event.type === 'tool.invoked') {
      this.toolCalls += 1;
      assertWithin(this.toolCalls, this.budgets.toolCalls, 'make', 'tool calls');
    } else if (event.type === 'model.usage') {
      const { input_tokens, output_tokens } = event.payload.usage;
      this.modelCalls += 1;
      this.tokens += input_tokens + output_tokens;
      assertWithin(this.modelCalls, this.budgets.modelCalls, 'make', 'model calls');
      assertWithin(this.tokens, this.budgets.tokens, 'use', 'tokens');
    }
  }
}

function assertWithin(used: number, most: number | undefined, verb: string, what: string): void {
  if (most !== undefined && used > most) throw new BudgetError(`The run may ${verb} ${most} ${what}.`);
}
