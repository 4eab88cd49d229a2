import { EventBus, type Frame, type TaskKey, type TaskNews, type Unsubscribe } from '#lib/domain';

type TaskListener = (news: TaskNews | { readonly live: Frame }) => void;

/** A bus within one process; it keeps what was published. */
export class MemoryEventBus extends EventBus {
  readonly published: (readonly TaskNews[])[] = [];
  readonly live: Frame[] = [];
  private readonly tasks = new Map<TaskKey, Set<TaskListener>>();
  private readonly channels = new Map<string, Set<(message: string) => void>>();

  override async publish(news: readonly TaskNews[]): Promise<void> {
    this.published.push(news);
    for (const item of news) for (const listener of this.tasks.get(item.taskKey) ?? []) listener(item);
  }

  override async publishLive(taskKey: TaskKey, frame: Frame): Promise<void> {
    this.live.push(frame);
    for (const listener of this.tasks.get(taskKey) ?? []) listener({ live: frame });
  }

  override async subscribe(taskKey: TaskKey, listener: TaskListener): Promise<Unsubscribe> {
    return register(this.tasks, taskKey, listener);
  }

  override async signal(channel: string, message: string): Promise<void> {
    for (const listener of this.channels.get(channel) ?? []) listener(message);
  }

  override async listen(channel: string, listener: (message: string) => void): Promise<Unsubscribe> {
    return register(this.channels, channel, listener);
  }

  override onReconnect(): Unsubscribe {
    return () => undefined;
  }

  override async ping(): Promise<void> {}

  override async close(): Promise<void> {}
}

function register<Key, Listener>(all: Map<Key, Set<Listener>>, key: Key, listener: Listener): Unsubscribe {
  const listeners = all.get(key) ?? new Set();
  all.set(key, listeners.add(listener));
  return () => void listeners.delete(listener);
}
