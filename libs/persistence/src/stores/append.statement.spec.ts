import { describe, expect, it } from '@jest/globals';
import { APPEND_PARTS, appendStatement } from './append.statement.js';

describe('appendStatement', () => {
  it('gives each combination of parts a name of its own that Postgres does not cut', () => {
    const combinations = Array.from({ length: 2 ** APPEND_PARTS.length }, (_, mask) =>
      APPEND_PARTS.filter((_part, place) => mask & (1 << place)),
    );
    const names = combinations.map((parts) => appendStatement(parts).name.slice(0, 63));
    expect(new Set(names).size).toBe(combinations.length);
  });
});
