import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyMergePatch } from './merge-patch.js';

describe('a JSON merge patch', () => {
  // The cases of RFC 7396, appendix A.
  it.each<[unknown, unknown, unknown]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('makes of %j with %j %j', (value, patch, result) => {
    expect(applyMergePatch(value, patch)).toEqual(result);
  });

  it('takes names of Object.prototype for names like any other', () => {
    const patch = JSON.parse('{"constructor":{"x":1},"__proto__":{"y":2}}') as unknown;
    const patched = applyMergePatch({}, patch);
    expect(JSON.stringify(patched)).toBe('{"constructor":{"x":1},"__proto__":{"y":2}}');
    expect(({} as { y?: unknown }).y).toBeUndefined();
  });

  it('leaves its parts as they were, and does no more the second time', () => {
    fc.assert(
      fc.property(fc.object(), fc.object({ withNullPrototype: false }), (value, patch) => {
        const before = JSON.stringify([value, patch]);
        const once = applyMergePatch(value, patch);
        expect(applyMergePatch(once, patch)).toEqual(once);
        expect(JSON.stringify([value, patch])).toBe(before);
      }),
    );
  });
});
