import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { scoreSentiment, scoreSentimentTool } from './sentiment.js';

const signal = new AbortController().signal;

/** Sentences written before the scorer and never used to tune it, each with its polarity. */
function labelled(language: string): { label: string; sentence: string }[] {
  const file = readFileSync(new URL(`./fixtures/polarity.${language}.tsv`, import.meta.url), 'utf8');
  return file
    .trim()
    .split('\n')
    .map((line) => ({ label: line.split('\t')[0] ?? '', sentence: line.split('\t')[1] ?? '' }));
}

describe('score_sentiment', () => {
  it.each(['en', 'zh'])('agrees with at least 85 %% of the labelled sentences in %s', async (language) => {
    const sentences = labelled(language);
    const scored = await Promise.all(sentences.map(({ sentence }) => scoreSentiment(sentence, signal)));
    const right = scored.filter((sentiment, at) => sentiment.label === sentences[at]?.label).length;
    expect(sentences).toHaveLength(60);
    expect(right / sentences.length).toBeGreaterThanOrEqual(0.85);
  });

  it.each([
    ['The food was good.', 'The food was not good.'],
    ['It is not bad.', 'Nothing works.'],
    ['The start was awful, but the rest was wonderful.', 'The start was wonderful, but the rest was awful.'],
    ['Although it is slow, it is excellent.', 'Although it is excellent, it is terribly slow.'],
    ['He could not be happier.', "Don't waste your money."],
    ['It is anything but dull.', 'Neither the food nor the service was good.'],
    ['It is better than the awful old one.', 'It is worse than the excellent old one.'],
    ['菜很好吃。', '菜不太好吃。'],
    ['本以为会很无聊，没想到非常精彩。', '本以为会很精彩，没想到非常无聊。'],
    ['我并不失望。', '我很失望。'],
    ['虽然旧，但是干净舒适。', '虽然干净，但是糟糕透了。'],
  ])('scores "%s" above "%s"', async (higher, lower) => {
    const [high, low] = await Promise.all([scoreSentiment(higher, signal), scoreSentiment(lower, signal)]);
    expect(high.label).toBe('positive');
    expect(low.label).toBe('negative');
  });

  it.each(['The meeting starts at nine in room four.', '水的沸点是一百摄氏度。', '', '12345'])(
    'finds no side in "%s"',
    async (text) => {
      expect(await scoreSentiment(text, signal)).toEqual({ label: 'neutral', score: 0 });
    },
  );

  it('stays between -1 and 1 however strong the words are', async () => {
    const { score } = await scoreSentiment('horrible terrible awful worst hate '.repeat(50), signal);
    expect(score).toBeGreaterThanOrEqual(-1);
    expect(score).toBeLessThan(-0.9);
  });

  it('reads the input of the task when it is given no text', async () => {
    const call = { input: { text: 'I love it.' }, signal };
    expect(await scoreSentimentTool.execute({}, call)).toMatchObject({
      language: 'en',
      sentiment: { label: 'positive' },
    });
    expect(await scoreSentimentTool.execute({ text: '太糟糕了。' }, call)).toMatchObject({
      language: 'zh',
      sentiment: { label: 'negative' },
    });
  });

  it('refuses a call when there is no text anywhere', async () => {
    await expect(scoreSentimentTool.execute({}, { input: { url: 'x' }, signal })).rejects.toThrow(TypeError);
  });
});
