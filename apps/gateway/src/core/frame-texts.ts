import { type Detail, type Frame, isShownAt } from '#lib/domain';
import type { Frames } from './task-feed.js';

/** What a reader wants to see of what is stored. */
export interface FrameFilter {
  /** Absent: every level. */
  readonly detail?: Detail;
  /** Absent: every type. */
  readonly types?: ReadonlySet<string>;
}

export function isShown(frame: Frame, { detail, types }: FrameFilter): boolean {
  if (types && !types.has(frame.type)) return false;
  return detail === undefined || isShownAt(detail, frame.type, frame.text);
}

/** Joined texts of frames that many readers share. */
const joined = new WeakMap<Frames, string>();

/** The frames as one text, '' when none is shown. */
function textOf(frames: Frames, filter: FrameFilter): string {
  const [first] = frames;
  if (frames.length === 1 && first) return isShown(first, filter) ? first.text : '';
  if (filter.detail !== undefined || filter.types) return join(frames.filter((frame) => isShown(frame, filter)));
  const text = joined.get(frames) ?? join(frames);
  joined.set(frames, text);
  return text;
}

function join(frames: Frames): string {
  return frames.map((frame) => frame.text).join('');
}

/** The text of a reader's frames: whole frames, those that came together joined, so that each is one write. */
export class FrameTextStream implements AsyncIterableIterator<string> {
  constructor(
    private readonly source: AsyncIterator<Frames, undefined> & { return(): Promise<unknown> },
    private readonly filter: FrameFilter,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    for (;;) {
      const { done, value } = await this.source.next();
      if (done) return { done: true, value: undefined };
      const text = textOf(value, this.filter);
      if (text !== '') return { done: false, value: text };
    }
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    await this.source.return();
    return { done: true, value: undefined };
  }
}
