import type { Frame } from '../envelope.js';
import type { TaskKey } from '../ids.js';

/** Events `fromSeq`..`toSeq` of a task were committed. `frames` absent: read them from the log. */
export interface TaskNews {
  readonly taskKey: TaskKey;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly frames?: readonly Frame[];
}

/** Ends a subscription; called once. */
export type Unsubscribe = () => void;

/** Wakes and fans out; never the truth. Messages may be lost, late, or come twice, but each one is whole. */
export abstract class EventBus {
  /** After commit: one round trip for all. Rejects only when the bus is closed; a lost connection is logged and forgotten. */
  abstract publish(news: readonly TaskNews[]): Promise<void>;
  /** A live-only frame (heartbeat) of a task. */
  abstract publishLive(taskKey: TaskKey, frame: Frame): Promise<void>;
  /** Resolves when the subscription is in force: what is published after that arrives. */
  abstract subscribe(
    taskKey: TaskKey,
    listener: (news: TaskNews | { readonly live: Frame }) => void,
  ): Promise<Unsubscribe>;
  /** A small message (at most 1 kB of text) to whoever listens on a channel. */
  abstract signal(channel: string, message: string): Promise<void>;
  abstract listen(channel: string, listener: (message: string) => void): Promise<Unsubscribe>;
  /** Called after the connection was lost and is back: anything may have been missed. */
  abstract onReconnect(listener: () => void): Unsubscribe;
  /** Resolves when the backing service answers; rejects otherwise. */
  abstract ping(): Promise<void>;
  abstract close(): Promise<void>;
}
