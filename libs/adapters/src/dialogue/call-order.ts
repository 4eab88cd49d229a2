/** Holds the calls of a turn back until the reader of the framework's stream has told what came before them. */
export class CallOrder {
  private readonly gates = new Map<string, { readonly promise: Promise<void>; readonly open: () => void }>();

  /** The reader has passed the call. */
  pass(upstreamId: string): void {
    this.gate(upstreamId).open();
  }

  /** Resolves when the reader has passed the call. */
  async reached(upstreamId: string): Promise<void> {
    await this.gate(upstreamId).promise;
    this.forget(upstreamId);
  }

  /** The call is not made. */
  forget(upstreamId: string): void {
    this.gates.delete(upstreamId);
  }

  private gate(upstreamId: string): { readonly promise: Promise<void>; readonly open: () => void } {
    let gate = this.gates.get(upstreamId);
    if (!gate) {
      let open = (): void => undefined;
      const promise = new Promise<void>((resolve) => (open = resolve));
      gate = { promise, open };
      this.gates.set(upstreamId, gate);
    }
    return gate;
  }
}
