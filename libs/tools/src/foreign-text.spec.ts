import { describe, expect, it } from '@jest/globals';
import { cleanText, cleanValue } from './foreign-text.js';

const same = (text: string): string => text;

describe('text of others', () => {
  it.each([
    ['plain\ttext\nof two lines — ünïcode 😀', 'plain\ttext\nof two lines — ünïcode 😀'],
    ['red \x1b[31malert\x1b[0m', 'red alert'],
    ['\x1b]8;;https://evil.example\x07link\x1b]8;;\x07', 'link'],
    ['\x1b]0;title', ''],
    ['\x9b2Jgone', 'gone'],
    ['a\r\ndata: b\rc', 'a\ndata: b\nc'],
    ['nul\0bel\x07del\x7f', 'nulbeldel'],
    ['line\u2028separator\u202eturned\u2066', 'lineseparatorturned'],
    ['half \ud800 pair', 'half \ufffd pair'],
  ])('%j becomes %j', (text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  it('is cut where it has to be short', () => {
    expect(cleanText('abcdef', 3)).toBe('abc…');
  });

  it('takes time in proportion to its length, however it is made', () => {
    const text = '\x1b['.repeat(200_000) + '\x1b]'.repeat(200_000) + '\x1b[1;'.repeat(100_000);
    const startedMs = performance.now();
    cleanText(text);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});

describe('a value of others', () => {
  it('is cleaned in all its strings and keys, and keeps no key that reaches a prototype', () => {
    const value: unknown = JSON.parse('{"a\\u0007":["x\\u001b[1m",1,null,true],"__proto__":{"isAdmin":true}}');
    expect(cleanValue(value, same)).toEqual({ a: ['x', 1, null, true] });
  });

  it('loses secrets wherever they stand', () => {
    const hide = (text: string): string => text.replaceAll('hunter22', '[secret]');
    expect(cleanValue({ hunter22: 'x hun\0ter22 y' }, hide)).toEqual({ '[secret]': 'x [secret] y' });
  });

  it('is refused when it is too deep', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(65)}${']'.repeat(65)}`);
    expect(() => cleanValue(deep, same)).toThrow('nested deeper than 64 levels');
  });
});
