import { describe, expect, it } from '@jest/globals';
import { isKnown, mayRange, rangeOf } from './byte-range.js';

describe('a Range header', () => {
  it.each([
    ['bytes=0-3', { start: 0, end: 4 }],
    ['bytes=4-', { start: 4, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-30', { start: 0, end: 10 }],
    ['bytes=9-999999999999999', { start: 9, end: 10 }],
    ['Bytes= 0-0 ', { start: 0, end: 1 }],
  ])('%j asks for %j of ten bytes', (header, range) => {
    expect(rangeOf(header, 10)).toEqual(range);
  });

  it.each(['bytes=10-', 'bytes=99-100', 'bytes=-0'])('%j asks for nothing that is there', (header) => {
    expect(rangeOf(header, 10)).toBe('unsatisfiable');
  });

  it.each([
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=3-1',
    'bytes=a-b',
    'bytes=1.5-2',
    'bytes=+1-2',
    'bytes=--1',
    'lines=0-1',
    'bytes=0-1,3-4',
    'bytes=0-,0-,0-,0-',
    'bytes=99999999999999999999-',
  ])('%j is ignored: all bytes are sent', (header) => {
    expect(rangeOf(header, 10)).toBe('all');
  });

  it('finds nothing in an empty representation', () => {
    expect(rangeOf('bytes=0-', 0)).toBe('unsatisfiable');
    expect(rangeOf('bytes=-5', 0)).toBe('unsatisfiable');
  });
});

describe('a condition', () => {
  it.each([
    [undefined, true],
    ['"a"', true],
    ['W/"a"', false],
    ['"b"', false],
    ['Wed, 21 Oct 2026 07:28:00 GMT', false],
  ])('If-Range %j lets a range stand: %j', (header, expected) => {
    expect(mayRange(header, '"a"')).toBe(expected);
  });

  it.each([
    [undefined, false],
    ['"a"', true],
    ['W/"a"', true],
    ['"b", "a"', true],
    ['*', true],
    ['"b"', false],
  ])('If-None-Match %j knows the tag: %j', (header, expected) => {
    expect(isKnown(header, '"a"')).toBe(expected);
  });
});
