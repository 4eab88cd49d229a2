import { TEXT_PARAMETER, textOf, type BuiltinTool } from './builtin.js';
import { detectLanguage } from './language.js';
import { createPacer, type Pacer } from './pacer.js';
import { piecesOf, splitSentences } from './sentences.js';
import { termsOf } from './terms.js';

/** Longer sentences are lists or data; they are taken only when there is nothing else. */
const LONGEST_SENTENCE = 600;
const LONGEST_SUMMARY = 4000;
/** The opening sentence of a text usually says what it is about. */
const OPENING_BONUS = 1.3;
/** Keeps a sentence of two frequent words from beating one that says something. */
const SHORT_SENTENCE_TERMS = 4;

interface Candidate {
  readonly at: number;
  readonly sentence: string;
  readonly terms: readonly string[];
}

/**
 * A summary made of whole sentences of the text, in their order. Each choice is the sentence whose words weigh most;
 * the words it covers then weigh less, so that the next choice says something else.
 */
export async function summarise(text: string, signal: AbortSignal, maxSentences?: number): Promise<string> {
  const pace = createPacer(signal);
  const sentences = [...new Set(await splitSentences(text, pace))];
  const candidates = await candidatesOf(sentences, pace);
  const weights = await weigh(candidates, pace);
  const wanted = maxSentences ?? lengthFor(sentences.length);
  const chosen: Candidate[] = [];
  let length = 0;
  while (chosen.length < wanted) {
    const best = await heaviest(candidates, chosen, weights, pace);
    if (!best || length + best.sentence.length > LONGEST_SUMMARY) break;
    chosen.push(best);
    length += best.sentence.length;
    for (const term of best.terms) weights.set(term, (weights.get(term) ?? 0) / 4);
  }
  return join(chosen.sort((a, b) => a.at - b.at).map(({ sentence }) => sentence));
}

function lengthFor(sentences: number): number {
  if (sentences <= 2) return 1;
  return sentences <= 6 ? 2 : 3;
}

async function candidatesOf(sentences: readonly string[], pace: Pacer): Promise<Candidate[]> {
  const short = sentences.filter((sentence) => sentence.length <= LONGEST_SENTENCE);
  const eligible = new Set(short.length > 0 ? short : sentences);
  const candidates: Candidate[] = [];
  for (const [at, sentence] of sentences.entries()) {
    if (!eligible.has(sentence)) continue;
    const terms = new Set<string>();
    for (const piece of piecesOf(sentence)) {
      for (const term of termsOf(piece)) terms.add(term);
      await pace();
    }
    candidates.push({ at, sentence, terms: [...terms] });
  }
  return candidates;
}

/** Share of the sentences each term occurs in. */
async function weigh(candidates: readonly Candidate[], pace: Pacer): Promise<Map<string, number>> {
  const weights = new Map<string, number>();
  for (const { terms } of candidates) {
    for (const term of terms) weights.set(term, (weights.get(term) ?? 0) + 1 / candidates.length);
    await pace();
  }
  return weights;
}

async function heaviest(
  candidates: readonly Candidate[],
  chosen: readonly Candidate[],
  weights: ReadonlyMap<string, number>,
  pace: Pacer,
): Promise<Candidate | undefined> {
  let best: Candidate | undefined;
  let bestWeight = -1;
  for (const candidate of candidates) {
    const sum = candidate.terms.reduce((total, term) => total + (weights.get(term) ?? 0), 0);
    const mean = sum / Math.max(SHORT_SENTENCE_TERMS, candidate.terms.length);
    const weight = candidate.at === 0 ? mean * OPENING_BONUS : mean;
    if (weight > bestWeight && !chosen.includes(candidate)) [best, bestWeight] = [candidate, weight];
    await pace();
  }
  return best;
}

/** Sentences keep their own words; only what stands between them is ours. */
function join(sentences: readonly string[]): string {
  return sentences.reduce((text, sentence) => {
    if (text === '') return sentence;
    const between = /[.!?…]["')\]]*$/.test(text) ? ' ' : /[。！？”」』]$/.test(text) ? '' : '\n';
    return text + between + sentence;
  }, '');
}

export const summariseTool: BuiltinTool = {
  name: 'summarise',
  description: 'Summarises an English or Chinese text by its most telling sentences, word for word.',
  parameters: {
    type: 'object',
    properties: {
      text: TEXT_PARAMETER,
      max_sentences: { type: 'integer', minimum: 1, maximum: 20, description: 'By default one to three.' },
    },
    additionalProperties: false,
  },
  idempotent: true,
  execute: async (args, { input, signal }) => {
    const text = textOf(args, input);
    const max = args['max_sentences'];
    return {
      language: detectLanguage(text),
      summary: await summarise(text, signal, typeof max === 'number' ? max : undefined),
    };
  },
};
