import type { AdapterEnvironment, RegisteredAdapter, RunnerAdapter } from '#lib/adapters/contract';

/** The adapters of this process, made once at start. */
export class AdapterHost {
  private constructor(
    private readonly registered: ReadonlyMap<string, RegisteredAdapter>,
    private readonly adapters: ReadonlyMap<string, RunnerAdapter>,
  ) {}

  static async create(registered: readonly RegisteredAdapter[], environment: AdapterEnvironment): Promise<AdapterHost> {
    const adapters = new Map<string, RunnerAdapter>();
    for (const { descriptor, create } of registered) adapters.set(descriptor.kind, await create(environment));
    return new AdapterHost(new Map(registered.map((entry) => [entry.descriptor.kind, entry])), adapters);
  }

  get kinds(): readonly string[] {
    return [...this.adapters.keys()];
  }

  adapter(kind: string): RunnerAdapter {
    const adapter = this.adapters.get(kind);
    if (!adapter) throw new Error(`there is no adapter for ${kind} here`);
    return adapter;
  }

  /** A kind that is not known here may be resumable: whoever hosts it decides. */
  canResume(kind: string): boolean {
    return this.registered.get(kind)?.descriptor.capabilities.resume ?? true;
  }

  async close(): Promise<void> {
    await Promise.all([...this.adapters.values()].map((adapter) => adapter.close()));
  }
}
