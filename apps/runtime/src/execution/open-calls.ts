/** The tool calls of a run that have begun and not ended. */
export class OpenCalls {
  private readonly names = new Map<string, string>();

  /** The tool of the call that began last; undefined when none is open. */
  get latest(): string | undefined {
    let last: string | undefined;
    for (const name of this.names.values()) last = name;
    return last;
  }

  open(toolCallId: string, toolName: string): void {
    this.names.set(toolCallId, toolName);
  }

  close(toolCallId: string): void {
    this.names.delete(toolCallId);
  }
}
