import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isFaithful, JsonFault, MAX_JSON_DEPTH, readStrictJson } from './strict-json.js';

function faultOf(text: string): { code: string; path: string; position: number } {
  try {
    readStrictJson(text);
  } catch (error) {
    if (error instanceof JsonFault) return { code: error.code, path: error.path, position: error.position };
    throw error;
  }
  throw new Error(`was read: ${text}`);
}

describe('the strict JSON reader', () => {
  it('gives what JSON.parse gives for every value JSON.stringify can write, pretty or not', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'), (text, indent) => {
        fc.pre(!text.includes('__proto__'));
        const written = JSON.stringify(JSON.parse(text), null, indent);
        expect(readStrictJson(written).value).toEqual(JSON.parse(written));
      }),
    );
  });

  it('refuses every text that JSON.parse refuses, with a position inside it', () => {
    const mutated = fc.tuple(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '\u0001', 'e', '0', '-', '.', ' '),
    );
    fc.assert(
      fc.property(mutated, ([text, at, piece]) => {
        const cut = at % (text.length + 1);
        const broken = text.slice(0, cut) + piece + text.slice(cut + 1);
        const isJson = attempt(() => void JSON.parse(broken)) === undefined;
        const fault = attempt(() => void readStrictJson(broken));
        const isRefused = fault !== undefined && (!isJson || fault.code !== 'invalid_json');
        expect(isRefused || (isJson && fault === undefined)).toBe(true);
        expect(fault?.position ?? 0).toBeLessThanOrEqual(broken.length);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['', 0],
    ['   ', 3],
    ['{"a":1,}', 7],
    ['[1,]', 3],
    ['{"a" 1}', 5],
    ['{a:1}', 1],
    ['{"a":01}', 5],
    ['{"a":1.}', 5],
    ['[tru]', 1],
    ['{"a":"b', 7],
    ['{"a":"\\x"}', 6],
    ['{"a":"tab\there"}', 9],
    ['{} {}', 3],
    ['\ufeff{}', 0],
    ['[NaN]', 1],
    ['{"a":1', 6],
  ])('refuses %j at position %i', (text, position) => {
    expect(faultOf(text)).toEqual({ code: 'invalid_json', path: '', position });
  });

  it.each([
    ['{"a":1,"a":2}', '/a'],
    ['{"x":[{},{"b":{"k":1,"j":2,"k":3}}]}', '/x/1/b/k'],
    ['{"a":1,"\\u0061":2}', '/a'],
    ['{"\\u0061":1,"a":2}', '/a'],
    ['{"a/b~":1,"a/b~":2}', '/a~1b~0'],
    ['{"":1,"":2}', '/'],
    ['{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"b":11}', '/b'],
  ])('refuses the repeated key of %s at %s', (text, path) => {
    expect(faultOf(text)).toMatchObject({ code: 'duplicate_key', path });
  });

  it('accepts the same key in different objects', () => {
    expect(readStrictJson('[{"a":{"a":1}},{"a":2}]').value).toEqual([{ a: { a: 1 } }, { a: 2 }]);
  });

  it.each(['{"__proto__":{}}', '{"\\u005f_proto__":1}'])('refuses %s, in any spelling of the key', (text) => {
    expect(faultOf(text)).toMatchObject({ code: 'forbidden_key', path: '/__proto__' });
  });

  it('keeps keys that shadow members of Object.prototype', () => {
    const { value } = readStrictJson('{"toString":1,"constructor":{"prototype":2},"hasOwnProperty":3}');
    expect(Object.entries(value as object)).toEqual([
      ['toString', 1],
      ['constructor', { prototype: 2 }],
      ['hasOwnProperty', 3],
    ]);
  });

  it.each(['[', '{"k":'])('reads 64 levels of %s and refuses the next with its path', (open) => {
    const close = open === '[' ? ']' : '}';
    const nested = (levels: number): string => open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels);
    expect(readStrictJson(nested(MAX_JSON_DEPTH)).value).toEqual(JSON.parse(nested(MAX_JSON_DEPTH)));
    const step = open === '[' ? '/0' : '/k';
    expect(faultOf(nested(MAX_JSON_DEPTH + 1))).toMatchObject({ code: 'too_deep', path: step.repeat(MAX_JSON_DEPTH) });
  });

  it.each([
    '0',
    '-0',
    '7',
    '-12',
    '0.1',
    '1e3',
    '1.50',
    '9007199254740992',
    '1700000000123456800',
    '-9007199254740993e-3',
    '1e300',
    '1000000000000000000000000',
    '0e999',
    '3.141592653589793238462643',
    '5e-324',
  ])('accepts the number %s', (literal) => {
    expect(readStrictJson(`{"n":${literal}}`).value).toEqual({ n: Number(literal) });
  });

  it.each([
    '12345678901234567890',
    '9007199254740993',
    '1152921504606846976',
    '1e999',
    '-1e999',
    '1e-999',
    '123456789012345678901.5',
    `1${'0'.repeat(400)}`,
  ])('refuses the number %s at its path', (literal) => {
    expect(isFaithful(literal)).toBe(false);
    expect(faultOf(`{"list":[0,${literal}]}`)).toMatchObject({ code: 'number_not_exact', path: '/list/1' });
  });

  it('keeps the spelling of every member of the outermost object', () => {
    const document = readStrictJson('{ "a" : 1.0 , "\\u0062":{"x": [1e2]} ,"c":"\\u00e9"}');
    expect(['a', 'b', 'c', 'x', ''].map((name) => document.textOf(name))).toEqual([
      '1.0',
      '{"x": [1e2]}',
      '"\\u00e9"',
      undefined,
      undefined,
    ]);
  });

  it('reports a bounded path when the key is as long as the body', () => {
    const key = 'k'.repeat(100_000);
    expect(faultOf(`{"${key}":1,"${key}":2}`).path.length).toBeLessThan(600);
  });
});

function attempt(read: () => void): JsonFault | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return error instanceof JsonFault ? error : new JsonFault('invalid_json', 'refused by JSON.parse', '', 0);
  }
}
