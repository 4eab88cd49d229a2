import { describe, expect, it } from '@jest/globals';
import { canonicalJson } from './canonical-json.js';

describe('canonical JSON', () => {
  it('is the same whatever the order of keys, at any depth', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: 'x' })).toBe('{"a":"x","b":[{"c":2,"d":1}]}');
  });

  it('sorts number-like keys as text, keeps arrays in order and keys such as __proto__', () => {
    expect(canonicalJson(JSON.parse('{"z":[3,1,2],"__proto__":1,"9":0,"10":0}'))).toBe(
      '{"10":0,"9":0,"__proto__":1,"z":[3,1,2]}',
    );
  });

  it('writes nothing at all as null', () => {
    expect(canonicalJson(undefined)).toBe('null');
  });
});
