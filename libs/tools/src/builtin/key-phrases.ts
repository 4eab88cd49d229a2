import { TEXT_PARAMETER, textOf, type BuiltinTool } from './builtin.js';
import { tagChinese } from './chinese.js';
import { CHINESE_STOPWORDS, detectLanguage, isChinese } from './language.js';
import { createPacer } from './pacer.js';
import { piecesOf, splitSentences } from './sentences.js';
import { isEnglishStopword } from './terms.js';

const LONGEST_PHRASE = 3;
const LONGEST_WORD = 60;
const DEFAULT_LIMIT = 10;
/** Words with a single space or hyphen between them may form a phrase; anything else ends it. */
const ENGLISH_TOKEN = /\p{L}[\p{L}\p{N}'’]*(?:-[\p{L}\p{N}]+)*|\p{N}+|[^\p{L}\p{N}]+/gu;
/** Parts of speech that make a phrase: nouns, names, verbal nouns, technical terms and what describes them. */
const CHINESE_PHRASE = /^(?:n|vn|eng|a|an|b|l|i|j|nz|ns|nt|nr)/;
const CHINESE_HEAD = /^(?:n|vn|eng|l|i|j)/;

export interface KeyPhrase {
  readonly text: string;
  /** 0 to 1; the weightiest phrase has 1. */
  readonly weight: number;
}

interface Phrase {
  /** As it first stands in the text. */
  readonly text: string;
  readonly words: readonly string[];
  count: number;
}

/** Words that stand together in the text, with what is between them. */
interface Run {
  readonly words: readonly string[];
  readonly between: '' | ' ';
}

/** The phrases a text keeps coming back to, weightiest first, each as it occurs in the text. */
export async function extractKeyPhrases(
  text: string,
  signal: AbortSignal,
  limit = DEFAULT_LIMIT,
): Promise<KeyPhrase[]> {
  const pace = createPacer(signal);
  const phrases = new Map<string, Phrase>();
  for (const sentence of await splitSentences(text, pace)) {
    for (const piece of piecesOf(sentence)) {
      for (const run of isChinese(piece) ? chineseRuns(piece) : englishRuns(piece)) collect(run, phrases);
      await pace();
    }
  }
  return rank(phrases.values(), limit);
}

/** Counts every phrase of up to three words in a run. */
function collect({ words, between }: Run, phrases: Map<string, Phrase>): void {
  for (let start = 0; start < words.length; start += 1) {
    for (let length = 1; length <= LONGEST_PHRASE && start + length <= words.length; length += 1) {
      const phrase = words.slice(start, start + length);
      const text = phrase.join(between);
      const known = phrases.get(text.toLowerCase());
      // Part of a run is a phrase of its own only if it comes back; the whole run counts half more from the start.
      const count = length === words.length ? 1.5 : 1;
      if (known) known.count += count;
      else phrases.set(text.toLowerCase(), { text, words: phrase.map((word) => word.toLowerCase()), count });
    }
  }
}

/** A phrase weighs as often as it occurs, and more for each further word. */
function rank(phrases: Iterable<Phrase>, limit: number): KeyPhrase[] {
  const weighed = Array.from(phrases, ({ text, words, count }) => {
    const repeated = words.length === 1 || count >= 1.5;
    return { text, words, weight: repeated ? count * (1 + 0.6 * (words.length - 1)) : 0 };
  });
  // A big text has a hundred thousand phrases; sorting bare numbers first leaves few objects to sort.
  const enough = limit * 10;
  const least = Float64Array.from(weighed, ({ weight }) => weight)
    .sort()
    .at(-enough);
  const heavy = weighed.filter(({ weight }) => weight > 0 && weight >= (least ?? 0));
  heavy.sort((a, b) => b.weight - a.weight);
  const chosen: typeof heavy = [];
  for (const phrase of heavy) {
    if (chosen.length >= limit) break;
    const said = chosen.some(({ words }) => phrase.words.every((word) => words.includes(word)));
    if (!said) chosen.push(phrase);
  }
  const top = chosen[0]?.weight ?? 1;
  return chosen.map(({ text, weight }) => ({ text, weight: Math.round((weight / top) * 1000) / 1000 }));
}

function* englishRuns(piece: string): Generator<Run> {
  let words: string[] = [];
  for (const token of piece.match(ENGLISH_TOKEN) ?? []) {
    if (/^\p{L}/u.test(token) && token.length <= LONGEST_WORD && !isEnglishStopword(token.toLowerCase())) {
      words.push(token);
    } else if (token !== ' ') {
      yield { words, between: ' ' };
      words = [];
    }
  }
  yield { words, between: ' ' };
}

function* chineseRuns(piece: string): Generator<Run> {
  let run: { word: string; tag: string }[] = [];
  function close(): Run {
    while (run.length > 0 && !CHINESE_HEAD.test(run.at(-1)?.tag ?? '')) run.pop();
    const words = run.map(({ word }) => word);
    run = [];
    return { words: words.join('').length > 1 ? words : [], between: '' };
  }
  for (const { word, tag } of tagChinese(piece)) {
    const fits = CHINESE_PHRASE.test(tag) && word.length <= LONGEST_WORD && !CHINESE_STOPWORDS.has(word);
    if (fits) run.push({ word, tag });
    else yield close();
  }
  yield close();
}

export const extractKeyPhrasesTool: BuiltinTool = {
  name: 'extract_key_phrases',
  description: 'Extracts the key phrases of an English or Chinese text, each with a weight from 0 to 1.',
  parameters: {
    type: 'object',
    properties: {
      text: TEXT_PARAMETER,
      limit: { type: 'integer', minimum: 1, maximum: 50, description: `By default ${DEFAULT_LIMIT}.` },
    },
    additionalProperties: false,
  },
  idempotent: true,
  execute: async (args, { input, signal }) => {
    const text = textOf(args, input);
    const limit = args['limit'];
    return {
      language: detectLanguage(text),
      key_phrases: await extractKeyPhrases(text, signal, typeof limit === 'number' ? limit : undefined),
    };
  },
};
