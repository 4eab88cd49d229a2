import type { FieldType, Language } from './site.plan.js';
import { ENGLISH_TYPES } from './english.lexicon.js';
import { CHINESE_TYPES, simplify } from './chinese.lexicon.js';

/** What a label says about its field by itself. */
export interface FieldGuess {
  readonly type: FieldType;
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
  /** Such a field is left blank more often than not ("notes"). */
  readonly optional?: boolean;
}

/** The guess for a label, or undefined when its words say nothing; then it is a line of text. */
export function guessField(label: string, language: Language): FieldGuess | undefined {
  const text = simplify(label).toLowerCase();
  const own = language === 'zh' ? CHINESE_TYPES : ENGLISH_TYPES;
  const rows = /^[\x20-\x7e]+$/.test(text) ? ENGLISH_TYPES : own;
  return rows.find(([pattern]) => pattern.test(text))?.[1];
}
