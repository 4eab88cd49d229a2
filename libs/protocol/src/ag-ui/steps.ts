import { EventType } from '@ag-ui/core';
import type { AgUiEvent } from './contract.js';

/** Steps of one run (step events). The wire knows a step by its name alone: of two that are open the second gets a number. */
export class Steps {
  /** By id. */
  private readonly open = new Map<string, string>();
  private readonly names = new Map<string, string>();

  started(stepId: string, name = this.names.get(stepId) ?? stepId): AgUiEvent[] {
    if (this.open.has(stepId)) return [];
    const taken = new Set(this.open.values());
    let stepName = name;
    for (let n = 2; taken.has(stepName); n += 1) stepName = `${name}#${n}`;
    this.names.set(stepId, name);
    this.open.set(stepId, stepName);
    return [{ type: EventType.STEP_STARTED, stepName }];
  }

  finished(stepId: string): AgUiEvent[] {
    const stepName = this.open.get(stepId);
    if (stepName === undefined) return [];
    this.open.delete(stepId);
    return [{ type: EventType.STEP_FINISHED, stepName }];
  }

  /** Nothing more comes of those that are open. */
  close(): AgUiEvent[] {
    return [...this.open.keys()].flatMap((stepId) => this.finished(stepId));
  }
}
