import type { RunnerEvent } from '#lib/adapters/contract';

/** The tool calls of a run that have begun and not ended. */
export class OpenCalls {
  private readonly names = new Map<string, string>();

  /** The tool of the call that began last; undefined when none is open. */
  get latest(): string | undefined {
    return [...this.names.values()].at(-1);
  }

  apply({ type, payload }: RunnerEvent): void {
    if (type === 'tool.invoked') this.names.set(payload.tool_call_id, payload.tool_name);
    else if (type === 'tool.completed' || type === 'tool.failed') this.names.delete(payload.tool_call_id);
  }

  close(toolCallId: string): void {
    this.names.delete(toolCallId);
  }
}
