import { encodeStepFrame, StepBook } from '#lib/protocol/agent-protocol';
import type { LoggedEventStream } from '../core/logged-events.js';

/** The log of a task as frames of step-stream behind `afterSeq`; read from its beginning, since later steps tell of earlier ones. */
export class StepFrameStream implements AsyncIterableIterator<string> {
  private readonly book: StepBook;

  constructor(
    private readonly source: LoggedEventStream,
    taskId: string,
    private readonly afterSeq: number,
  ) {
    this.book = new StepBook(taskId);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    for (;;) {
      const { done, value } = await this.source.next();
      if (done) return { done: true, value: undefined };
      const changes = value.flatMap((event) => this.book.apply(event) ?? []);
      const text = changes
        .filter(({ seq }) => seq > this.afterSeq)
        .map(encodeStepFrame)
        .join('');
      if (text !== '') return { done: false, value: text };
    }
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    await this.source.return();
    return { done: true, value: undefined };
  }
}
