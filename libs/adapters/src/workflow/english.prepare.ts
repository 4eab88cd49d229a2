import { CHOICE_HEADS, ENGLISH_UNSUPPORTED, TAIL } from './english.lexicon.js';
import { LISTS, MARK } from './english.marks.js';

const { clause: C, fields: F, glue: G } = MARK;

const ITEM = `[\\w'&+-]+(?: [\\w'&+-]+){0,2}`;
const LAST = `[\\w'&+-]+(?: (?!and\\b|with\\b|plus\\b|that\\b|which\\b|where\\b|then\\b|so\\b)[\\w'&+-]+){0,2}`;
const OR_LIST = `((?!\\d+-\\d+)${ITEM}(?:, ${ITEM})*?,? or ${LAST})(?=\\s*(?:[,.;:)]|$| and\\b| with\\b| plus\\b| that\\b| which\\b| where\\b| then\\b| so\\b))`;
const AND_LIST = `((?!\\d+-\\d+)${ITEM}(?:, ${ITEM})+,? (?:and|or) ${LAST}|${ITEM} (?:and|or) [\\w'&+-]+)(?=\\s*(?:[,.;:)]|$| and\\b| with\\b| plus\\b| that\\b| where\\b))`;
const bar = (list: string): string =>
  ` (${list
    .split(/, (?:and |or )?| (?:and|or) |\//)
    .map((part) => part.replace(/^(?:either|and|or) /, '').trim())
    .filter(Boolean)
    .join('|')})`;

/** "low, medium or high" in all its clothes becomes one bracket, so that its commas end no list. */
const CHOICES: readonly RegExp[] = [
  new RegExp(`,? (?:which|that) (?:can|could|may|should|must|is|are)(?: be)?(?: either| one of)? ${OR_LIST}`, 'gi'),
  new RegExp(
    `(?<=\\w) (?:can be|must be|should be|is|being)(?: either| one of)? (?!optional|required)${OR_LIST}`,
    'gi',
  ),
  new RegExp(
    `,? (?:one of|either|chosen from|selected from|with (?:the )?(?:options|choices|values)(?: of)?:?|choices?:|options?:|choose (?:between|from)) (?:either )?${AND_LIST}`,
    'gi',
  ),
  new RegExp(`(?<=\\b${CHOICE_HEADS}s?)(?: (?:of|from|such as|like|either|as|being|between)|:)? ${OR_LIST}`, 'gi'),
  new RegExp(`(?<=\\b(?:drop ?down|select|choice|${CHOICE_HEADS})s?)(?: (?:such as|like|with)|:) ${AND_LIST}`, 'gi'),
  /(?<=\w)(?: of|:)? ((?!and\/or|he\/she|his\/her|his\/hers|s\/he|date\/time)[\w'+-]+(?: ?\/ ?[\w'+-]+){1,9})(?![\w/])/gi,
];

const USUAL: readonly (readonly [RegExp, string])[] = [
  [/[“”„«»]/g, '"'],
  [/[‘’`]/g, "'"],
  [/(?<=\w|\)) [–—]+ (?=[^.:;]*,)/g, ': '],
  [/(?<=^[^.:,;]*\w) - (?=[^.:]*,)/, ': '],
  [/(?<=;\s*(?:and )?)([\w' -]{2,40}?)(?: -|:) ([^;:.]+,[^;:.]+)(?=;|\.|$)/gi, '$1 ($2)'],
  [/[–—]/g, '-'],
  [/\be-mail/gi, 'email'],
  [/\b(?:yes or no|yes and no|yes, no)\b/gi, 'yes/no'],
  [/\b(?:between|from) (\d+(?:\.\d+)?) (?:and|to|through) (\d+(?:\.\d+)?)/gi, '$1-$2'],
  [/\b(\d+(?:\.\d+)?) (?:to|-|through) (\d+(?:\.\d+)?)/gi, '$1-$2'],
  [/\bdate (?:and|&) time\b|\bdate\/time\b/gi, `date${G}and${G}time`],
  [
    /\b(terms|drag|pros|lost|question|questions|q)( ?)(and|&)\2(conditions|drop|cons|found|answers?|a)\b/gi,
    `$1${G}$3${G}$4`,
  ],
  [
    /\b(first|start(?:ing)?|check-?in|arrival|pick-?up|home|billing|from|opening|issue|entry|begin|old|mother's)( and | or |\/| & )(last|family|end(?:ing)?|check-?out|departure|drop-?off|return|work|shipping|to|closing|due|exit|new|father's) (names?|dates?|times?|address(?:es)?|phones?|numbers?|values?|day)\b/gi,
    '$1 $4, $3 $4',
  ],
  [/(?<=, |\band )([a-z]+(?: [a-z]+)?) or not\b/gi, '$1 checkbox'],
  [
    /\b(?:check ?box|tick ?box|toggle|switch) (?:to|for|that says|saying|labell?ed|called|indicating)(?: (?:that|if|whether))? ([\w' -]+?)(?=\s*(?:[,.;)]|$|\band\b))/gi,
    '"$1" checkbox',
  ],
  [
    /(?<=, |\band |\b(?:with|store|record|track|enter|provide|keep) )((?:how (?:often|much|many|long|far|well)|why|(?:where|when|who|what) (?:it|they|the \w+) (?:was|is|were|are|came|comes|bought|want))\b)([\w' ]*?)(?=\s*(?:[,.;()]|$|\band\b))/gi,
    '"$1$2"',
  ],
  [
    /(?:,? and|,) (?:they |users? |visitors? )?(?:may|might|can optionally) (?:also |optionally )?(?:leave|add|enter|give|provide|write|include|state) (?=(?:an?|their|some|any)\b)/gi,
    ', optional ',
  ],
  [/\bname and surname\b/gi, 'name, surname'],
  [/\b(\w{3,})(?: or |\s?\/\s?)(?:un|in|not |non-)\1\b/gi, '$1 checkbox'],
  [
    /\b(?:whether|if) (?:or not )?(?:(?:the |an? |its |their )?\w+ )?(?:is|are|was|were|will be|be)(?: an?| the)? ([\w -]+?)(?: or not)?(?=\s*(?:[,.;)]|$|\band\b))/gi,
    '$1 checkbox',
  ],
  [
    /\b(?:whether|if) (?:or not )?(?:it'?s|they'?re) ([\w -]+?)(?: or not)?(?=\s*(?:[,.;)]|$|\band\b))/gi,
    '$1 checkbox',
  ],
  [
    /\bwhether (?:or not )?(?:(?:the |an? |its |their )?\w+ )?(has|have|had|wants?|needs?|can|will|likes?|requires?) ([\w -]+?)(?: or not)?(?=\s*(?:[,.;)]|$|\band\b))/gi,
    '"$1 $2" checkbox',
  ],
  [
    /(?<=^|[.!?]\s+|\n\s*)(?:(?:please|hi|hello|hey|thanks|also|then|and|so|finally|additionally)[,!]? )*(?:(?:can|could|would|will) you (?:please )?|(?:i|we)(?:'d| would| do)? (?:want|need|like|love)(?: you)?(?: to have| to (?=(?:build|make|create|design|develop|generate|write|set up)))? ?|i'm looking for |help me (?:to )?|let's )?(?:please )?(?:(?:build|make|create|design|develop|generate|write|code|set up|implement|give|prepare|produce|put together|have)(?: me| us| for me)? )?(?=(?:an?|the|my|our|some|one|simple|small)\b)/gi,
    '',
  ],
  [/\s*&\s*/g, ' and '],
  [/\band\/or\b/gi, 'or'],
  [/\betc\.?(?=\W|$)/gi, ''],
  [/\bi\.e\.|\be\.g\.,?/gi, 'such as'],
];

/** "with the ability to search" offers an action, whatever list is open. */
const ABILITY =
  /(?:,? ?\b(?:with|having|has|have|offers?|provides?|including|includes?|plus|and)\b)? (?:the |an? |some )?(?:ability|abilities|options?|possibilit(?:y|ies)|ways?|chance|buttons?|features?|functions?|functionality|means) (?:to|for|of)\b/gi;
const SUBJECT = `(?:(?:they|he|she|you|we|i|it) |(?:(?!(?:they|he|she|you|we|i|it)\\b)(?!(?:and|or|with|where|but|plus|to|of|for|by|in|be|not)\\b)[\\w'/-]+ ){1,4}?)`;
const MODAL = `(?:can(?:not|'t)?|could|should|must|may|will|would|needs? to|has to|have to|is able to|are able to|wants? to|am able to|is allowed to|are allowed to)`;

export interface Prepared {
  readonly text: string;
  /** What this builder does not do, each standing in the text as one character from HELD on. */
  readonly held: readonly string[];
}
const HELD = 0xe100;
const HOLDERS = '[\\u{E100}-\\u{E1FF}]';
/** "no login needed", "without payment": what is not wanted need not be mentioned. */
const UNWANTED = new RegExp(
  `\\b(?:no need (?:for|to)|not? needs?(?: for| to)?|do(?:es)?(?:n't| not) need(?: to)?|no|without)(?: any| an?| \\w+)? ${HOLDERS}(?: (?:is |are )?(?:needed|required|necessary))?`,
  'giu',
);
export const HELD_PATTERN = new RegExp(HOLDERS, 'gu');

/** Marks where clauses and lists begin; bullets become a comma list, options become brackets. */
export function prepareEnglish(request: string): Prepared {
  let text = request.replace(/https?:\/\/\S+/gi, ' ');
  text = text.replace(/(^|\n)\s*(?:[-*•·]|\d+[.)])\s+([^\n]+)/g, (_, __, line: string) => {
    const named = /^([\w' /-]{1,40}?)\s*(?::|\s-\s)\s*(.+?)[.;,]?$/.exec(line);
    return named === null || /^\w+ can$/.test(named[1] ?? '')
      ? `, ${line.replace(/[.;,]+$/, '')}`
      : `, ${named[1] ?? ''} (${(named[2] ?? '').replace(/[()]/g, ',')})`;
  });
  text = text
    .replace(/(?<=[\w )])\n+(?!,)/g, '. ')
    .replace(/[:.]?\n+|:(?=\s*,)/g, ': ')
    .replace(/:[\s,:]+/g, ': ');
  for (const [pattern, by] of USUAL) text = text.replace(pattern, by);
  text = text
    .replace(/\s+/g, ' ')
    .replace(/\s+,/g, ',')
    .replace(/"[^"]{1,60}"/g, (quoted) => quoted.replaceAll(' ', G))
    .trim();
  text = nest(text).replace(/(?<=^|[.!?]\s+)([^.!?(]*\w)\s*:\s+(?=[^.:!?]*,)/g, (_, before: string) =>
    /\b(?:can|to|actions|features|functions?|operations|supports?)$/i.test(before)
      ? `${before} ${C} `
      : `${before} ${F} `,
  );
  text = outsideBrackets(text, bracketChoices);
  const held: string[] = [];
  text = outsideBrackets(text, (part) => holdUnsupported(part, held));
  text = outsideBrackets(text, (part) => {
    const clauses = part
      .replace(
        new RegExp(
          `(?<=^|[,;.:]\\s*|\\b(?:and|where|so that|so|but|that|which|in which|while|when)\\s+)(?=${SUBJECT}${MODAL}\\b)`,
          'gi',
        ),
        C,
      )
      .replace(
        /(?<=^|[,;.:]\s*|\b(?:and|to|should|must|also|please|which|that|it)\s+)(?=(?:(?:let|allow|enabl|permit|support)(?:s|es|ing|e)?)\b(?! (?:type|number|no|date|name|id|level|tier|contact|ticket|fee|holder)))/gi,
        C,
      );
    const abilities = clauses.replace(ABILITY, C);
    return LISTS.reduce((whole, [pattern, mark]) => whole.replace(pattern, ` ${mark} `), abilities);
  });
  return { text, held };
}

/** "low, medium or high" and "low/medium/high" behind a noun, in brackets. */
export function bracketChoices(text: string): string {
  return CHOICES.reduce((whole, pattern) => whole.replace(pattern, (_, list: string) => bar(list)), text);
}

function holdUnsupported(text: string, held: string[]): string {
  const hold = (phrase: string): string => {
    held.push(phrase.replace(HELD_PATTERN, (sign) => held[sign.charCodeAt(0) - HELD] ?? ''));
    return held.length > 256 ? phrase : String.fromCharCode(HELD + held.length - 1);
  };
  const patterns = ENGLISH_UNSUPPORTED.filter(({ source }) => !source.startsWith('^'));
  const marked = patterns.reduce((whole, { source }) => whole.replace(new RegExp(source, 'gi'), hold), text);
  const reaching = marked.replace(new RegExp(`${HOLDERS}${TAIL}`, 'gu'), (phrase) =>
    phrase.length > 1 ? hold(phrase) : phrase,
  );
  return reaching.replace(UNWANTED, ' ');
}

export function releaseHeld(text: string, held: readonly string[]): string {
  return text.replace(HELD_PATTERN, (sign) => held[sign.charCodeAt(0) - HELD] ?? '');
}

/** Brackets within brackets become square ones. */
function nest(text: string): string {
  let depth = 0;
  return Array.from(text, (character) => {
    if (character === '(') return (depth += 1) > 1 ? '[' : '(';
    if (character === ')') return (depth -= 1) > 0 ? ']' : ')';
    return character;
  }).join('');
}

/** Applies `change` to the text outside round and square brackets. */
function outsideBrackets(text: string, change: (part: string) => string): string {
  return text
    .split(/(\([^()]*\)|\[[^[\]]*\])/)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join('');
}
