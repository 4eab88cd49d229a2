import { loadSegmenter } from './chinese.js';
import { CHINESE_STOPWORDS, ENGLISH_STOPWORDS, isChinese } from './language.js';

const WORD = /\p{L}[\p{L}\p{N}'’-]*/gu;
/** Longer runs of letters are data, not words. */
const LONGEST = 60;

/** The words of a piece of text that carry meaning, in lower case and without stop words. */
export function termsOf(piece: string): string[] {
  if (isChinese(piece)) {
    return loadSegmenter()
      .cut(piece, true)
      .filter(
        (word) => word.length > 1 && word.length <= LONGEST && /\p{L}/u.test(word) && !CHINESE_STOPWORDS.has(word),
      );
  }
  return (piece.toLowerCase().match(WORD) ?? []).filter((word) => word.length <= LONGEST && !isEnglishStopword(word));
}

export function isEnglishStopword(word: string): boolean {
  return word.length < 2 || ENGLISH_STOPWORDS.has(word.replaceAll('’', "'"));
}
