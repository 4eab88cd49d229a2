import { encodeStepFrame, type Step, StepBook, type StepChange } from '#lib/protocol/agent-protocol';
import type { LoggedEventStream } from '../core/logged-events.js';

/** What is read, and how. */
export interface StepFrameSource {
  readonly taskId: string;
  readonly events: LoggedEventStream;
  /** Frames behind this one. */
  readonly afterSeq: number;
  /** The step with all of its output. */
  readonly whole: (step: Step) => Promise<Step>;
}

/** Units of UTF-16 of an output: with each of them escaped, a frame is still far below a megabyte. */
const MAX_OUTPUT_LENGTH = 131_072;

/** The log of a task as frames of step-stream; its steps from the first one on, since later ones tell of earlier ones. */
export class StepFrameStream implements AsyncIterableIterator<string> {
  private readonly book: StepBook;

  constructor(private readonly source: StepFrameSource) {
    this.book = new StepBook(source.taskId);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    for (;;) {
      const { done, value } = await this.source.events.next();
      if (done) return { done: true, value: undefined };
      const changes = value.flatMap((event) => this.book.apply(event) ?? []);
      const wanted = changes.filter(({ seq }) => seq > this.source.afterSeq);
      if (wanted.length === 0) continue;
      const frames = await Promise.all(wanted.map((change) => this.frame(change)));
      return { done: false, value: frames.join('') };
    }
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    await this.source.events.return();
    return { done: true, value: undefined };
  }

  private async frame({ seq, step }: StepChange): Promise<string> {
    const whole = await this.source.whole(step);
    return encodeStepFrame({ seq, step: { ...whole, output: cut(whole.output) } });
  }
}

/** Never in the middle of a character. */
function cut(text: string | null): string | null {
  if (text === null || text.length <= MAX_OUTPUT_LENGTH) return text;
  const short = text.slice(0, MAX_OUTPUT_LENGTH);
  return /[\ud800-\udbff]$/.test(short) ? short.slice(0, -1) : short;
}
