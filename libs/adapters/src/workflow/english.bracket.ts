import { MARK } from './english.marks.js';
import { takeModifiers } from './english.modifiers.js';
import { TYPE_WORDS } from './english.types.js';
import type { DraftField } from './request.draft.js';

/** A bracket that names the unit says that the field is a number. */
const UNITS =
  /^(?:in |per |number of )?(?:days?|hours?|hrs?|minutes?|mins?|seconds?|weeks?|months?|years?|kg|g|grams?|lbs?|pounds|km|miles?|m|cm|mm|inch(?:es)?|feet|litres?|liters?|ml|usd|eur|gbp|rmb|cny|euros?|dollars?|[$€£¥%]|percent|kcal|calories|pcs|pieces|units|°?c|°?f)$/i;
const CHOICE =
  /^(?:drop ?down|select(?:ion)?|choice|radio(?: buttons?)?|options?|choices|values|one of|either)(?: list| of| with)?\s*(?::\s*|\s+|$)(.*)$/i;
const LIMIT = /^(?:min|max|at least|at most|up to|default)|char|digit|letter/i;

/** Reads one bracket behind a field: its options, its type, its bounds. What is none of these is a hint and is dropped. */
export function readBracket(bracket: string, field: DraftField): void {
  const text = bracket
    .replaceAll(MARK.glue, ' ')
    .trim()
    .replace(/^(?:e\.?g\.?|for example|such as|like|i\.?e\.?)[,: ]+/i, '');
  const type = TYPE_WORDS.get(text.toLowerCase());
  if (type !== undefined) field.type = type;
  else if (UNITS.test(text)) {
    field.type ??= 'number';
    if (!/[cf]$/i.test(text)) field.min ??= 0;
  } else readParts(text, field);
}

function readParts(text: string, field: DraftField): void {
  const parts = text
    .split(/\s*[,;|/]\s*|\s+(?:or|and)\s+/)
    .map((part) => part.trim().replace(/^(?:and|or|either|one of)\s+/i, ''))
    .filter((part) => part !== '');
  // "under 18, 18-30, over 30" are bands to choose from, not bounds.
  const bands = parts.length > 1 && parts.every((part) => /\d/.test(part) && !LIMIT.test(part));
  const options = bands ? parts : parts.flatMap((part) => readPart(part, field));
  if (options.length > 1) field.options = [...new Set(options)];
}

/** The option that one part of a bracket is, if it says nothing else of the field. */
function readPart(part: string, field: DraftField): string[] {
  const named = CHOICE.exec(part);
  const word = named === null ? part : (named[1] ?? '');
  const type = TYPE_WORDS.get(word.toLowerCase());
  if (type !== undefined) {
    field.type = type;
    return [];
  }
  const rest = takeModifiers(word, field).replace(/^[\s:-]+/, '');
  return rest !== '' && (rest === word || word.includes(':')) ? [rest] : [];
}
