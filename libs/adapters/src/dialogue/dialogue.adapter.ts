import type { AdapterEnvironment, RunContext, RunnerAdapter, RunnerItem } from '../contract/index.js';
import { createModel, type DialogueModel } from './dialogue.client.js';
import { DialogueRun } from './dialogue.run.js';

/** Runs chat agents on the Vercel AI SDK. It keeps nothing between runs. */
class DialogueAdapter implements RunnerAdapter {
  constructor(private readonly model: DialogueModel) {}

  start(context: RunContext, signal: AbortSignal): AsyncIterable<RunnerItem> {
    return new DialogueRun(context, this.model, signal).items();
  }

  /** Asking the endpoint would cost a model call, so a configured one counts as reachable until a run says otherwise. */
  health(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export function createDialogueAdapter({ model }: AdapterEnvironment): RunnerAdapter {
  return new DialogueAdapter(createModel(model));
}
