import { describe, expect, it } from '@jest/globals';
import { decodeMoment } from './times.js';

describe('a moment', () => {
  it.each([
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000000Z'],
    ['2026-01-01T00:30:00.5+01:00', '2025-12-31T23:30:00.500000Z'],
    ['2026-01-01T00:00:00.123456789-23:59', '2026-01-01T23:59:00.123456Z'],
    ['2026-01-31T24:00:00Z', '2026-02-01T00:00:00.000000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('%s is %s, which any database takes', (text, same) => {
    expect(decodeMoment(text, 'query.after')).toEqual({ ms: Date.parse(text), text: same });
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T25:00:00Z',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-01:00',
  ])('%s is none', (text) => {
    expect(() => decodeMoment(text, 'query.after')).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});
