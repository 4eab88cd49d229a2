import type { Pacer } from './pacer.js';

/** How much is given to the segmenter at once: its cost per sentence grows with what it was given. */
const WINDOW = 4096;

/** Titles and references whose full stop ends no sentence; the segmenter knows none of them. */
const ABBREVIATION = /(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|cf|No|Fig|Inc|Ltd|approx|[A-Z])\.\s+$/;
const TERMINATED = /[.!?。！？…][\p{Pe}\p{Pf}\p{Po}'"]*\s*$/u;

const LINE_END = /\n[^\S\n]*$/;
const BLANK_LINE = /\n\s*\n[^\S\n]*$/;
const MEANINGFUL = /[\p{L}\p{N}\p{Extended_Pictographic}]/u;
/** How much of a sentence's end these look at. */
const TAIL = 16;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * The sentences of a text, in order, each an exact substring without surrounding white space. A sentence wrapped over
 * several lines stays whole; a blank line, or a line that starts like a sentence of its own, ends one.
 */
export async function splitSentences(text: string, pace: Pacer): Promise<string[]> {
  const sentences: string[] = [];
  let start = 0;
  let end = 0;
  const close = (): void => {
    const sentence = text.slice(start, end).trim();
    if (MEANINGFUL.test(sentence)) sentences.push(sentence);
    start = end;
  };
  for (let size = WINDOW; end < text.length;) {
    const pieces = segmentWindow(text.slice(end, end + size), end + size >= text.length);
    size = pieces.length === 0 ? size * 2 : WINDOW;
    for (const piece of pieces) {
      if (end > start && !belongsTogether(text.slice(Math.max(start, end - TAIL), end), piece)) close();
      end += piece.length;
    }
    await pace();
  }
  close();
  return sentences;
}

/** Segments one window; unless it is the last, its last piece may be cut off and is left for the next. */
function segmentWindow(window: string, last: boolean): string[] {
  const pieces = Array.from(segmenter.segment(window), ({ segment }) => segment);
  return last ? pieces : pieces.slice(0, -1);
}

/** Whether `next` goes on with the sentence that ends in `tail`. */
function belongsTogether(tail: string, next: string): boolean {
  if (ABBREVIATION.test(tail)) return true;
  if (!LINE_END.test(tail)) return false;
  const blank = next.trim() === '';
  if (blank || BLANK_LINE.test(tail)) return blank;
  return !TERMINATED.test(tail) && /^\s*\p{Ll}/u.test(next.slice(0, TAIL));
}

/** Cuts a long sentence into pieces of at most `size`, at white space where there is some. */
export function* piecesOf(sentence: string, size = 2000): Generator<string> {
  let at = 0;
  while (sentence.length - at > size) {
    const space = sentence.lastIndexOf(' ', at + size);
    const end = space > at ? space : at + size;
    yield sentence.slice(at, end);
    at = end;
  }
  yield sentence.slice(at);
}
