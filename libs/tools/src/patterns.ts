import { RE2JS } from 're2js';

/** Units of UTF-16 of a pattern, and instructions it may come to: matching takes time in proportion to them. */
const MAX_PATTERN = 2_000;
const MAX_PROGRAM = 4_000;

/** A pattern that is not evaluated: it is none, is too long, or needs what no engine can do in bounded time. */
export class PatternError extends Error {
  override readonly name = 'PatternError';

  constructor(
    readonly pattern: string,
    why: string,
  ) {
    super(why);
  }
}

export interface Pattern {
  test(text: string): boolean;
  /** What it is compiled from. */
  toString(): string;
}

/**
 * Compiles a regular expression of JSON Schema (ECMA-262) so that no text makes it slow. @throws PatternError for
 * look-around and back-references too, which that excludes.
 */
export function compilePattern(pattern: string): Pattern {
  if (pattern.length > MAX_PATTERN) throw new PatternError(pattern, `is longer than ${MAX_PATTERN} characters`);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch {
    throw new PatternError(
      pattern,
      'is no pattern, or one with look-around or back-references, which are not evaluated',
    );
  }
  if (compiled.programSize() > MAX_PROGRAM) throw new PatternError(pattern, 'is too large');
  return { test: (text) => compiled.test(text), toString: () => `/${pattern}/` };
}

/** For a schema that is handed on and never evaluated: any pattern of the language will do, and matches nothing. */
export function parsePattern(pattern: string): Pattern {
  try {
    void new RegExp(pattern);
  } catch {
    throw new PatternError(pattern, 'is no pattern');
  }
  return { test: () => false, toString: () => `/${pattern}/` };
}
