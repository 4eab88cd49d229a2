import type { DraftField } from './request.draft.js';
import { TYPE_WORDS } from './english.types.js';

type Modify = (field: DraftField, ...groups: string[]) => void;
const TYPE_PATTERN = [...TYPE_WORDS.keys()]
  .sort((a, b) => b.length - a.length)
  .join('|')
  .replaceAll('/', '\\/');
const NUMBER = '(-?\\d+(?:\\.\\d+)?)';

/** What may be said of a field before, behind or in brackets; each match is cut out of the text. */
const MODIFIERS: readonly (readonly [RegExp, Modify])[] = [
  [
    /\bif (?:they|you|he|she|one|wanted|desired)(?: (?:want|like|wish|so wish)(?:es|s)?)?(?: to)?$/g,
    (f) => void (f.required = false),
  ],
  [
    /\b(?:not required|optional(?:ly)?|not mandatory|if any|if available|may be (?:empty|blank))\b/g,
    (f) => void (f.required = false),
  ],
  [
    /\b(?:required|mandatory|compulsory|obligatory|not (?:be )?(?:empty|blank)|must be filled(?: in)?)\b|(?<=\S)\*/g,
    (f) => void (f.required = true),
  ],
  [/\b(?:must be |should be |be )?(?:unique|no duplicates?|not (?:be )?duplicated?)\b/g, (f) => void (f.unique = true)],
  [
    /\b(?:multi(?:ple)?[- ]?(?:select(?:ion)?|choices?)(?! one)|select (?:multiple|many|several)|several allowed|multiple allowed|check ?boxes)\b/g,
    (f) => void (f.multiple = true),
  ],
  [
    new RegExp(
      `\\b(?:of )?(?:up to|max(?:imum)?(?: of)?|at most|no (?:more|longer) than|limited to|under|less than)[: ]*(\\d+) ?-?(?:characters?|chars?|letters?)(?: long| max(?:imum)?)?\\b`,
      'g',
    ),
    (f, n) => void (f.maxLength = Number(n)),
  ],
  [
    new RegExp(
      `\\b(?:of )?(?:at least|min(?:imum)?(?: of)?|no (?:less|fewer|shorter) than|more than)[: ]*(\\d+) ?-?(?:characters?|chars?|letters?)(?: long)?\\b`,
      'g',
    ),
    (f, n) => void (f.minLength = Number(n)),
  ],
  [
    new RegExp(`\\b(\\d+) ?-?(?:characters?|chars?|letters?)(?: max(?:imum)?| limit| or (?:less|fewer))\\b`, 'g'),
    (f, n) => void (f.maxLength = Number(n)),
  ],
  [
    new RegExp(`\\b(?:of |exactly |be |have )*(\\d+) ?-?(?:digits?|characters?)(?: long)?\\b`, 'g'),
    (f, n) => {
      f.minLength = Number(n);
      f.maxLength = Number(n);
    },
  ],
  [
    new RegExp(`\\b(\\d+)-(\\d+) ?(?:characters?|chars?|letters?|digits?)\\b`, 'g'),
    (f, a, b) => {
      f.minLength = Number(a);
      f.maxLength = Number(b);
    },
  ],
  [
    /\b(?:a )?(?:positive) (?:whole |decimal )?(?:numbers?|integers?|amount)\b|\bpositive\b/g,
    (f) => {
      f.type = 'number';
      f.min = 0;
    },
  ],
  [
    new RegExp(
      `(?:\\b(?:from|between|of|on|in|scale|range|be|out|a) )*(?<![\\w-])${NUMBER} ?[-–~] ?${NUMBER}(?![\\w-])(?: (?:stars?|scale|points|range))?`,
      'g',
    ),
    (f, a, b) => {
      f.type = 'number';
      f.min = Number(a);
      f.max = Number(b);
    },
  ],
  [
    /\bout of (5|10|100)\b/g,
    (f, n) => {
      f.type = 'number';
      f.min ??= 1;
      f.max = Number(n);
    },
  ],
  [
    new RegExp(
      `(?:\\b(?:at least|min(?:imum)?(?: of)?|no (?:less|fewer) than|from|not (?:be )?(?:less|lower|younger) than|starting (?:at|from))[: ]*|>=? ?|≥ ?)${NUMBER}(?: years(?: old)?| or (?:more|older|above))?\\b`,
      'g',
    ),
    (f, n) => {
      f.type = 'number';
      f.min = Number(n);
    },
  ],
  [
    new RegExp(`\\b(?:over|older than|more than|above|greater than) ${NUMBER}\\b`, 'g'),
    (f, n) => {
      f.type = 'number';
      f.min = Number(n) + (/age/i.test(f.label) ? 0 : 1);
    },
  ],
  [
    new RegExp(`\\b${NUMBER} ?(?:\\+|or (?:older|above|more))(?!\\w)`, 'g'),
    (f, n) => {
      f.type = 'number';
      f.min = Number(n);
    },
  ],
  [
    new RegExp(
      `(?:\\b(?:at most|max(?:imum)?(?: of)?|up to|no more than|not more than|under|below|less than|not exceed(?:ing)?)[: ]*|<=? ?|≤ ?)${NUMBER}\\b(?! ?(?:char|letter|word))`,
      'g',
    ),
    (f, n) => {
      f.type = 'number';
      f.max = Number(n);
    },
  ],
  [
    /\b(?:whole|integer)(?: numbers?)?\b/g,
    (f) => {
      f.type = 'number';
      f.integer = true;
    },
  ],
  [
    new RegExp(
      `\\b(?:as |of type |is |be |must be )(?:an? |the )?(?:valid )?(${TYPE_PATTERN})s?(?: format)?(?: field| input| box)?$`,
      'g',
    ),
    (f, word) => void (f.type = TYPE_WORDS.get(word.toLowerCase())),
  ],
  [
    /\b(?:as |is |be )?an? (?:drop ?down|select(?:ion)?|choice)(?: list| menu| box)?$/g,
    (f) => void (f.type = 'select'),
  ],
];

/** Takes what `text` says of the field out of it and returns what is left. */
export function takeModifiers(text: string, field: DraftField): string {
  let rest = text;
  for (const [pattern, modify] of MODIFIERS) {
    rest = rest.replace(new RegExp(pattern, 'gi'), (...match: unknown[]) => {
      modify(field, ...match.slice(1).filter((group) => typeof group === 'string'));
      return ' ';
    });
  }
  return rest.replace(/\s+/g, ' ').trim();
}
