/** Marks put into the text: a list of fields opens (surely, or perhaps), a clause begins; GLUE stands for a space that does not separate. */
export const MARK = {
  fields: '\u{E001}',
  perhaps: '\u{E002}',
  clause: '\u{E003}',
  show: '\u{E004}',
  glue: '\u{E000}',
} as const;
const { fields: F, perhaps: W, clause: C, show: S } = MARK;

const ENTRY_VERBS =
  'enter, fill(?: in| out)?, provide, leave, collect, capture, gather, submit, specify, input, type in, give, state, write down, choose, select, pick, ask(?: \\w+)? for, type, say';
const KEEP_VERBS =
  'record, store, save, track, log, register, keep(?: track of)?, note(?: down)?, add, post, write, create, set, manage, book, reserve, send, share, remember, hold, accept, need, require, report, request';
const SHOW_VERBS = 'list, show, display, see, view, browse, look at, present';
const PART = (verbs: string): string =>
  verbs
    .split(', ')
    .map((verb) => {
      const head = /^\w+/.exec(verb)?.[0] ?? '';
      const tail = verb.slice(head.length);
      const stem = head.replace(/e$/, '');
      const twin = /^(?:submit|log|set|input)$/.test(head) ? head + head.at(-1) : stem;
      return `(?:${head}|${head}s|${head}es|${stem}ing|${twin}ing)${tail}`;
    })
    .join('|');
const DET = `(?:an?|the|their|his|her|your|my|its|our|any|some|each|every|at least|optionally|all|how (?:many|much|often|long))\\b`;
const NOT_NP = `(?!\\s*(?:it|them|that|this|by|to|on|up|and|or|via|through|using|when|if|as)\\b|\\s*[,.;:)]|\\s*$)`;

const BEFORE = `(?<=^|[.:;(]\\s*|${C}\\s*|\\b(?:to|can|could|should|must|will|may|for|people|users|visitors|customers|guests|students|members|i|we|they|it|that|which|who|page|form|app|site|just|also|simply|by|me|us)\\s+|(?:^|[.;:]\\s+|\\b(?:where|and|when|so|that)\\s+)(?:the |our |all |my )?[a-z]+s\\s+)`;

/** Where a list of fields opens. */
export const LISTS: readonly (readonly [RegExp, string])[] = [
  [
    /\b(?:for )?(?:each|every|a single) [\w-]+(?: (?!has|have|should|needs?|must|we|i|it|there|contains?|includes?|consists?|store|record|keep|save|track|show)[\w-]+)?(?:,|:| has| have| needs?(?: to have)?| should (?:have|include|contain|record|store|show)| must (?:have|include|contain)| contains?| includes?| consists? of|,? (?:it |we |i |they |you )?(?:should |must |can |need to |want to )?(?:store|record|keep|save|track|note|collect|enter|log|know|need|fill in|capture)s?(?: the| its| their)?)(?=[\s:])/gi,
    F,
  ],
  [
    /\b(?:with|having|has|have|containing|contains?|including|includes?|using|of|include|needs?|offers?|for|and|the|via)? ?(?:the |these |this |an? |its |\d+ |\w+ )?(?:following )?(?:input |form |data |text |entry |required |mandatory )?(?:fields?|columns|inputs|properties|attributes|questions)(?: (?:are|should be|include|like|such as|named|called|for|being|needed|required|to (?:enter|fill in|collect))(?: (?:the|an?))?)?:? (?=[^)])/gi,
    F,
  ],
  [/\b(?:fields?|columns|inputs|properties|attributes|details|data|information|questions) ?:/gi, F],
  [
    /\b(?:consist(?:s|ing)? of|made (?:up )?of|comprising|comprises?|composed of|ask(?:s|ing)?(?: \w+)? for|(?:details|information|info|data|things) (?:such as|like|including)|such as|namely|(?:details|information|info) (?:are|is|of|about \w+):?)/gi,
    F,
  ],
  [
    /\b(?:with|having|whose|has|have|containing|contains?|including|includes?|include|along with)\b(?! (?:to|at least|at most|up to|max|min|a max|a min|no more|more than|less than|and|or|\d)\b)(?!\s*[,.;])/gi,
    F,
  ],
  [new RegExp(`${BEFORE}(?:${PART(ENTRY_VERBS)})\\b${NOT_NP}`, 'gi'), F],
  [new RegExp(`(?<=(?:,|\\band|\\bor)\\s+)(?:${PART(ENTRY_VERBS)})(?=\\s+${DET})`, 'gi'), F],
  [new RegExp(`${BEFORE}(?:${PART(KEEP_VERBS)})\\b${NOT_NP}`, 'gi'), W],
  [new RegExp(`(?<=(?:,|\\band|\\bor)\\s+)(?:${PART(KEEP_VERBS)})(?=\\s+${DET})`, 'gi'), W],
  [new RegExp(`${BEFORE}(?:${PART(SHOW_VERBS)})\\b${NOT_NP}`, 'gi'), S],
  [new RegExp(`(?<=(?:,|\\band|\\bor)\\s+)(?:${PART(SHOW_VERBS)})(?=\\s+${DET})`, 'gi'), S],
];
