import { TEXT_PARAMETER, textOf, type BuiltinTool } from './builtin.js';
import { scoreChinese } from './chinese.js';
import { scoreEnglish } from './english.js';
import { detectLanguage, isChinese } from './language.js';
import { createPacer } from './pacer.js';
import { piecesOf, splitSentences } from './sentences.js';

/** Scores nearer to zero than this have no side. */
const NEUTRAL = 0.05;
/** A sentence that takes back what was said before it counts for more. */
const TURNS = /^(?:but|however|yet|nevertheless|但|但是|然而|不过|可是)(?=[\s,，\p{Script=Han}])/iu;

export interface Sentiment {
  readonly label: 'positive' | 'negative' | 'neutral';
  /** −1 to 1. */
  readonly score: number;
}

/** The sentiment of a text: the mean over those of its sentences that take a side. */
export async function scoreSentiment(text: string, signal: AbortSignal): Promise<Sentiment> {
  const pace = createPacer(signal);
  let sum = 0;
  let weights = 0;
  for (const sentence of await splitSentences(text, pace)) {
    for (const piece of piecesOf(sentence)) {
      const score = isChinese(piece) ? scoreChinese(piece) : scoreEnglish(piece);
      const weight = Math.abs(score) < NEUTRAL ? 0 : TURNS.test(piece) ? 2 : 1;
      sum += score * weight;
      weights += weight;
      await pace();
    }
  }
  const score = weights === 0 ? 0 : Math.round((sum / weights) * 1000) / 1000;
  return { label: score >= NEUTRAL ? 'positive' : score <= -NEUTRAL ? 'negative' : 'neutral', score };
}

export const scoreSentimentTool: BuiltinTool = {
  name: 'score_sentiment',
  description: 'Scores the sentiment of an English or Chinese text from -1 (negative) to 1 (positive).',
  parameters: { type: 'object', properties: { text: TEXT_PARAMETER }, additionalProperties: false },
  idempotent: true,
  execute: async (args, { input, signal }) => {
    const text = textOf(args, input);
    return { language: detectLanguage(text), sentiment: await scoreSentiment(text, signal) };
  },
};
