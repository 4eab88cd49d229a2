import type { AdapterEnvironment, RegisteredAdapter, RunnerAdapter } from '#lib/adapters/contract';

/** The adapters of this process, each made, and its framework loaded, for the first run of its kind. */
export class AdapterHost {
  private readonly registered: ReadonlyMap<string, RegisteredAdapter>;
  private readonly adapters = new Map<string, RunnerAdapter | Promise<RunnerAdapter>>();

  constructor(
    registered: readonly RegisteredAdapter[],
    private readonly environment: AdapterEnvironment,
  ) {
    this.registered = new Map(registered.map((entry) => [entry.descriptor.kind, entry]));
  }

  get kinds(): readonly string[] {
    return [...this.registered.keys()];
  }

  /** One that could not be made is tried again by the next run of its kind. */
  adapter(kind: string): RunnerAdapter | Promise<RunnerAdapter> {
    const known = this.adapters.get(kind);
    if (known) return known;
    const made = this.make(kind);
    this.adapters.set(kind, made);
    if (made instanceof Promise) made.catch(() => this.adapters.delete(kind));
    return made;
  }

  /** A kind that is not known here may be resumable: whoever hosts it decides. */
  canResume(kind: string): boolean {
    return this.registered.get(kind)?.descriptor.capabilities.resume ?? true;
  }

  async close(): Promise<void> {
    const adapters = [...this.adapters.values()].map(async (made) => made);
    const made = await Promise.allSettled(adapters);
    await Promise.all(made.map(async (each) => (each.status === 'fulfilled' ? each.value.close() : undefined)));
  }

  private make(kind: string): RunnerAdapter | Promise<RunnerAdapter> {
    const entry = this.registered.get(kind);
    if (!entry) throw new Error(`there is no adapter for ${kind} here`);
    return entry.create(this.environment);
  }
}
