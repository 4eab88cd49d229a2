import { describe, expect, it } from '@jest/globals';
import { admitsMediaType, filePartsOf, isTextual, withTexts } from './input-parts.js';

describe('parts of an input', () => {
  const file = { type: 'file', media_type: 'text/plain', data: 'eA==' };

  it('that hold bytes are found with their place', () => {
    const input = [{ type: 'text', text: 'x' }, file, { type: 'data', data: {} }, { type: 'image', url: 'u' }];
    expect(filePartsOf(input).map(({ index }) => index)).toEqual([1, 3]);
    expect(filePartsOf('x')).toEqual([]);
    expect(filePartsOf({ type: 'file' })).toEqual([]);
  });

  it('give way to the texts that were read from them, and only those', () => {
    expect(withTexts([file, file], new Map([[1, 'read']]))).toEqual([file, { type: 'text', text: 'read' }]);
    expect(withTexts('x', new Map())).toBe('x');
  });
});

describe('a media type', () => {
  it.each([
    ['text/plain', true],
    ['TEXT/Markdown; charset=utf-8', true],
    ['application/json', true],
    ['application/ld+json; profile=x', true],
    ['application/pdf', false],
    ['application/jsonp', false],
    ['image/svg+xml', false],
  ])('%s is a text: %s', (mediaType, expected) => {
    expect(isTextual(mediaType)).toBe(expected);
  });

  it.each([
    [['text/*'], 'text/plain; charset=utf-8', true],
    [['text/*'], 'textual/plain', false],
    [['text/plain'], 'Text/Plain', true],
    [['text/plain'], 'text/plainer', false],
    [[], 'text/plain', false],
  ])('of %j admits %s: %s', (patterns, mediaType, expected) => {
    expect(admitsMediaType(patterns, mediaType)).toBe(expected);
  });
});
