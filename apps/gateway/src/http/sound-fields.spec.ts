import { describe, expect, it } from '@jest/globals';
import {
  IsDefined,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  ValidateIf,
  ValidateNested,
  validateSync,
} from 'class-validator';
import fc from 'fast-check';
import { isSound } from './sound-fields.js';

class Fields {
  @IsDefined()
  @IsString()
  @Matches(/^[a-z]*$/)
  name!: unknown;

  @IsOptional()
  @IsInt()
  @Max(9)
  count?: unknown;

  @IsOptional()
  @IsString({ each: true })
  words?: unknown;

  @ValidateIf((fields: Fields) => fields.count !== 1)
  @IsString()
  note?: unknown;
}

class Nested {
  @ValidateNested()
  inner: unknown = new Fields();
}

class Unruled {
  name = 'a';
}

describe('isSound', () => {
  it('finds sound exactly what the validator finds no fault with', () => {
    const value = fc.oneof(fc.constantFrom(undefined, null, 'a', 'A', 1, 10, 1.5, ['a'], [1]), fc.anything());
    const verdicts = new Set<boolean>();
    fc.assert(
      fc.property(fc.record({ name: value, count: value, words: value, note: value }), (fields) => {
        const instance = Object.assign(new Fields(), fields);
        const isFaultless = validateSync(instance).length === 0;
        verdicts.add(isFaultless);
        expect(isSound(instance)).toBe(isFaultless);
      }),
      { examples: [[{ name: 'a', count: 1, words: ['a'], note: undefined }]] },
    );
    expect([...verdicts].toSorted()).toEqual([false, true]);
  });

  it('leaves to the validator what it has no rules for', () => {
    expect(isSound(new Nested())).toBe(false);
    expect(isSound(new Unruled())).toBe(false);
  });
});
