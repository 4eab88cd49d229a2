import type { Part } from './dialogue.mapping.js';
import type { WaitingCall } from './waiting.js';

/** Gathers from the framework's stream the calls a turn ends with that somebody has to answer, in the model's order. */
export class AwaitedCalls {
  private readonly calls = new Map<string, { readonly call: Omit<WaitingCall, 'approvalId'>; approvalId?: string }>();

  constructor(
    private readonly isClientTool: (toolName: string) => boolean,
    private readonly idOf: (upstreamId: string) => string,
  ) {}

  take(part: Part): void {
    if (part.type === 'start-step') this.calls.clear();
    if (part.type === 'tool-call') {
      const { toolCallId: upstreamId, toolName } = part;
      const args: unknown = part.input;
      this.calls.set(upstreamId, { call: { id: this.idOf(upstreamId), upstreamId, toolName, args } });
    }
    if (part.type === 'tool-approval-request') {
      const asked = this.calls.get(part.toolCall.toolCallId);
      if (asked) asked.approvalId = part.approvalId;
    }
    // What the model got wrong, and what was made, has its result.
    if (part.type === 'tool-error' || part.type === 'tool-result') this.calls.delete(part.toolCallId);
  }

  list(): WaitingCall[] {
    return [...this.calls.values()].flatMap(({ call, approvalId }) => {
      if (approvalId !== undefined) return [{ ...call, approvalId }];
      return this.isClientTool(call.toolName) ? [call] : [];
    });
  }
}
