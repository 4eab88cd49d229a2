import { type EventBody, isStepEvent, type StepProjection, type StepState, stepTransition } from '#lib/domain';
import { ProtocolError } from './admission.js';

/** The steps of one task as its run sees them, so that an event that may not follow never reaches the log. */
export class RunSteps {
  private readonly states = new Map<string, StepState>();

  constructor(earlier: readonly StepProjection[]) {
    for (const { stepId, state } of earlier) this.states.set(stepId, state);
  }

  /** @throws ProtocolError when the event may not follow in the step's state. */
  apply({ type, payload }: EventBody): void {
    if (!isStepEvent(type)) return;
    const { step_id } = payload as { readonly step_id: string };
    try {
      this.states.set(step_id, stepTransition(this.states.get(step_id), type));
    } catch (cause) {
      throw new ProtocolError(`The step ${step_id.slice(0, 64)}: ${(cause as Error).message}.`, { cause });
    }
  }

  /** A step that has started and not ended, if there is one. */
  open(): string | undefined {
    for (const [stepId, state] of this.states) if (state === 'running') return stepId;
    return undefined;
  }
}
