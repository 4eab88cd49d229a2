import { encodeRemoteFrame, type TaskEventEncoder } from '#lib/protocol/agentscope';
import type { EventBatches } from '../core/awaited-streams.js';

export interface StreamBounds {
  /** The number of the last event that is not sent. */
  readonly after: number;
  /** How long it goes on at most, in ms. */
  readonly maxAgeMs: number;
}

/** Events of a task as frames of this wire. Ends after the terminal event, or when it has lasted long enough. */
export class RemoteEventStream implements AsyncIterableIterator<string> {
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly events: EventBatches,
    private readonly encoder: Pick<TaskEventEncoder, 'encode'>,
    private readonly bounds: StreamBounds,
  ) {
    this.timer = setTimeout(() => void this.events.return?.(), bounds.maxAgeMs).unref();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    for (;;) {
      const { done, value } = await this.events.next();
      if (done) return this.return();
      const shown = value.flatMap((event) => this.encoder.encode(event)).filter(({ seq }) => seq > this.bounds.after);
      if (shown.length > 0) return { done: false, value: shown.map(encodeRemoteFrame).join('') };
    }
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    clearTimeout(this.timer);
    await this.events.return?.();
    return { done: true, value: undefined };
  }
}
