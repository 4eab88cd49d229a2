interface Invocation {
  readonly stored: Promise<boolean>;
  readonly settle: (isStored: boolean) => void;
}

/** Tells when `tool.invoked` of a call is in the log, which is when the call may go out into the world. */
export class ToolInvocations {
  private readonly calls = new Map<string, Invocation>();

  /** Resolves with true when the call's `tool.invoked` is stored, with false when it never will be. */
  async isStored(toolCallId: string): Promise<boolean> {
    const isStored = await this.call(toolCallId).stored;
    this.calls.delete(toolCallId);
    return isStored;
  }

  /** What to call when the fate of a `tool.invoked` is known. */
  stored(toolCallId: string): (isStored: boolean) => void {
    return this.call(toolCallId).settle;
  }

  private call(toolCallId: string): Invocation {
    const known = this.calls.get(toolCallId);
    if (known) return known;
    let settle: Invocation['settle'] = () => undefined;
    const stored = new Promise<boolean>((resolve) => (settle = resolve));
    const call = { stored, settle };
    this.calls.set(toolCallId, call);
    return call;
  }
}
