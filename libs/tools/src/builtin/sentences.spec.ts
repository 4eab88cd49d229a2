import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createPacer } from './pacer.js';
import { piecesOf, splitSentences } from './sentences.js';

const pace = createPacer(new AbortController().signal);

describe('splitSentences', () => {
  it('splits English, keeps titles and decimals together and leaves quotes with their sentence', async () => {
    const text = 'Dr. Smith paid 3.5 dollars. "Really?" she asked. It works!';
    expect(await splitSentences(text, pace)).toEqual([
      'Dr. Smith paid 3.5 dollars.',
      '"Really?"',
      'she asked.',
      'It works!',
    ]);
  });

  it('splits Chinese at its own full stops', async () => {
    expect(await splitSentences('他来了。他说：“好！”然后走了？', pace)).toEqual([
      '他来了。',
      '他说：“好！”',
      '然后走了？',
    ]);
  });

  it('keeps a wrapped sentence whole and ends one at a blank line', async () => {
    const text = 'A sentence that goes\non here.\n\nA heading\n\nThe next one.';
    expect(await splitSentences(text, pace)).toEqual(['A sentence that goes\non here.', 'A heading', 'The next one.']);
  });

  it('finds the same sentences wherever the window falls', async () => {
    const sentence = 'This sentence is one of very many and looks like the others.';
    const sentences = await splitSentences(`${sentence} `.repeat(2000), pace);
    expect(sentences).toHaveLength(2000);
    expect(new Set(sentences)).toEqual(new Set([sentence]));
  });

  it('answers only substrings, in order and without losing a letter', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('a', 'B', ' ', '.', '。', '\n', '好', '!', '"', '3') }),
        async (text) => {
          let from = 0;
          for (const sentence of await splitSentences(text, pace)) {
            from = text.indexOf(sentence, from);
            expect(from).toBeGreaterThanOrEqual(0);
            from += sentence.length;
          }
          const letters = (value: string): string => value.replace(/[^aB好3]/g, '');
          expect(letters((await splitSentences(text, pace)).join(''))).toBe(letters(text));
        },
      ),
    );
  });
});

describe('piecesOf', () => {
  it('cuts at white space and loses nothing', () => {
    const sentence = 'many words in one long line '.repeat(10);
    const pieces = [...piecesOf(sentence, 50)];
    expect(pieces.join('')).toBe(sentence);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(50);
  });
});
