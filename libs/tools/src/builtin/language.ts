import { createRequire } from 'node:module';

/** BCP 47; `und` when it is neither English nor Chinese. */
export type Language = 'en' | 'zh' | 'und';

const HAN = /\p{Script=Han}/gu;
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/gu;
const LATIN_WORD = /\p{Script=Latin}[\p{Script=Latin}'’-]*/gu;
/** Enough of a text to tell its language. */
const SAMPLE = 20_000;
/** In English prose about half of the words are in the stop list; in other languages hardly any. */
const ENGLISH_SHARE = 0.12;

const lists = createRequire(import.meta.url)('stopwords-iso') as Record<'en' | 'zh' | 'es' | 'fr' | 'de', string[]>;
export const ENGLISH_STOPWORDS: ReadonlySet<string> = new Set(lists.en);
export const CHINESE_STOPWORDS: ReadonlySet<string> = new Set(lists.zh);
const FOREIGN = new Set([...lists.es, ...lists.fr, ...lists.de]);
/** Words of the list that other languages use too tell nothing. */
const TELLING: ReadonlySet<string> = new Set(lists.en.filter((word) => !FOREIGN.has(word)));

/** True when a piece of text is written in Chinese characters more than in Latin letters. */
export function isChinese(text: string): boolean {
  const han = text.match(HAN)?.length ?? 0;
  if (han === 0 || (text.match(KANA)?.length ?? 0) > han / 4) return false;
  return han >= (text.match(LATIN_WORD)?.length ?? 0);
}

/** The language of a text, judged by its beginning. */
export function detectLanguage(text: string): Language {
  const sample = text.slice(0, SAMPLE);
  if (isChinese(sample)) return 'zh';
  const latin = sample.toLowerCase().match(LATIN_WORD) ?? [];
  if (latin.length === 0) return 'und';
  const known = latin.filter((word) => TELLING.has(word.replaceAll('’', "'"))).length;
  return latin.length < 5 || known / latin.length >= ENGLISH_SHARE ? 'en' : 'und';
}
