import { describe, expect, it } from '@jest/globals';
import { pointerTo } from './json-pointer.js';

describe('pointerTo', () => {
  it.each([
    ['name', '/name'],
    ['', '/'],
    ['a/b', '/a~1b'],
    ['~1', '/~01'],
  ])('writes the key %j as %j', (key, token) => {
    expect(pointerTo(key)).toBe(token);
  });
});
