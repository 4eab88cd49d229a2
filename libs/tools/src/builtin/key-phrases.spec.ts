import { describe, expect, it } from '@jest/globals';
import { extractKeyPhrases, extractKeyPhrasesTool } from './key-phrases.js';

const signal = new AbortController().signal;

describe('extract_key_phrases', () => {
  it('finds what an English text is about, word for word and weightiest first', async () => {
    const text =
      'Machine learning helps doctors. Machine learning models read X-ray images, and doctors check the X-ray images again.';
    const phrases = await extractKeyPhrases(text, signal);
    for (const phrase of phrases) expect(text).toContain(phrase.text);
    expect(phrases.map((phrase) => phrase.text.toLowerCase())).toEqual(
      expect.arrayContaining([expect.stringContaining('machine learning'), expect.stringContaining('x-ray images')]),
    );
    const weights = phrases.map((phrase) => phrase.weight);
    expect(weights[0]).toBe(1);
    expect(weights).toEqual([...weights].sort((a, b) => b - a));
  });

  it('finds what a Chinese text is about, word for word', async () => {
    const text = '人工智能正在改变医疗行业。医生利用人工智能分析医学影像，人工智能提高了诊断效率。';
    const phrases = await extractKeyPhrases(text, signal);
    for (const phrase of phrases) expect(text).toContain(phrase.text);
    expect(phrases[0]?.text).toContain('人工智能');
  });

  it('joins no words that stand apart', async () => {
    const phrases = await extractKeyPhrases('red, blue\ngreen; the yellow', signal);
    expect(phrases.map((phrase) => phrase.text).sort()).toEqual(['blue', 'green', 'red', 'yellow']);
  });

  it('obeys the limit and has nothing to say about nothing', async () => {
    const call = { input: 'Tram lines, bus stops, train stations and ferry ports.', signal };
    expect(await extractKeyPhrasesTool.execute({ limit: 2 }, call)).toMatchObject({
      key_phrases: [{ weight: 1 }, {}],
    });
    expect(await extractKeyPhrases('', signal)).toEqual([]);
  });
});
