import type { Logger, Unsubscribe } from '#lib/domain';

/** Who listens to what within this process. */
export class Registry<Value> {
  private readonly listeners = new Map<string, Set<(value: Value) => void>>();

  constructor(private readonly logger: Logger) {}

  add(key: string, listener: (value: Value) => void): Unsubscribe {
    const entry = this.listeners.get(key) ?? new Set();
    this.listeners.set(key, entry);
    // Of its own, so that the same function may listen twice.
    const own = (value: Value): void => listener(value);
    entry.add(own);
    return () => {
      entry.delete(own);
      if (entry.size === 0 && this.listeners.get(key) === entry) this.listeners.delete(key);
    };
  }

  has(key: string): boolean {
    return this.listeners.has(key);
  }

  emit(key: string, value: Value): void {
    for (const listener of this.listeners.get(key) ?? []) {
      try {
        listener(value);
      } catch (error) {
        this.logger.error('A listener of the bus failed', { error });
      }
    }
  }
}
