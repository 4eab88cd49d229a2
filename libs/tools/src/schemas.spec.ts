import { describe, expect, it } from '@jest/globals';
import { compileCondition, compileSchema, faultsOfSchema, type SchemaError, type SchemaTerms } from './schemas.js';

const json = (text: string): object => JSON.parse(text) as object;

function faultsOf(schema: object, terms?: SchemaTerms): SchemaError['faults'] {
  try {
    compileSchema(schema, terms);
    return [];
  } catch (error) {
    return (error as SchemaError).faults;
  }
}

/** `levels` objects that each hold the next. */
const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });

/** Each definition refers to the next one twice: 2^n checks of one value. */
function doubling(n: number): object {
  const names = Array.from({ length: n }, (_, i) => `d${i}`);
  const both = (i: number): object => ({ allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] });
  return { $defs: Object.fromEntries([...names.map((name, i) => [name, both(i)]), [`d${n}`, {}]]), ...both(-1) };
}

describe('a schema from outside', () => {
  it.each<[string, object, string]>([
    ['with a word of the wrong form', { properties: { a: { type: 7 } } }, '/properties/a/type'],
    ['with a pattern that is none', { properties: { 'a/b': { pattern: '(' } } }, '/properties/a~1b/pattern'],
    ['with look-around', { pattern: '^(?!a)' }, '/pattern'],
    ['with a back-reference', { patternProperties: { '(a)\\1': {} } }, '/patternProperties/(a)\\1'],
    ['with a pattern that explodes', { pattern: '((a{1,100}){1,100}){1,100}' }, '/pattern'],
    ['with a pattern as long as a book', { pattern: 'a'.repeat(3_000) }, '/pattern'],
    ['with a reference to nothing', { $ref: '#/$defs/x' }, ''],
    ['with a reference to elsewhere', { $ref: 'https://example.com/schema' }, ''],
    ['with a dynamic reference', { $dynamicRef: '#x', $defs: { x: { $dynamicAnchor: 'x' } } }, ''],
    ['that is asynchronous', { $async: true }, '/$async'],
    ['with a key that is no data', json('{"properties":{"__proto__":{}}}'), '/properties/__proto__'],
    ['that is too large', { description: 'x'.repeat(70_000) }, ''],
    ['that holds too much', { enum: Array.from({ length: 9_000 }, (_, i) => i) }, ''],
    ['that is too deep', nested(70), '/not'.repeat(64)],
  ])('%s is refused with its path', (_what, schema, path) => {
    expect(faultsOf(schema)).toMatchObject([{ path }]);
  });

  it('that is only handed on may have patterns that are not evaluated here, but not broken ones', () => {
    expect(faultsOfSchema({ type: 'object', properties: { a: { pattern: '^(?!a)' } } })).toEqual([]);
    expect(faultsOfSchema({ properties: { a: { pattern: '(' } } })).toMatchObject([{ path: '/properties/a/pattern' }]);
  });

  it('may name another dialect and ids that others have too, and know words of its own', () => {
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'https://x.test/a', 'x-ui': {} };
    for (let i = 0; i < 2; i += 1) expect(compileSchema(schema)({})).toEqual([]);
  });

  it('of ours may not know other words', () => {
    const schema = { type: 'object', properties: { a: { type: ['string', 'null'], 'x-secret': true } } };
    expect(faultsOf(schema, { strict: true })).toEqual([]);
    expect(faultsOf({ ...schema, requierd: ['a'] }, { strict: true })).toMatchObject([
      { message: expect.stringContaining('unknown keyword: "requierd"') },
    ]);
  });
});

describe('a check', () => {
  it('tells what is wrong and where', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['b'],
      additionalProperties: false,
    };
    expect(compileSchema(schema, { all: true })({ a: 1, c: 1 })).toEqual([
      { path: '/b', message: 'is missing' },
      { path: '/c', message: 'is not a known field' },
      { path: '/a', message: 'must be string' },
    ]);
    expect(compileSchema(schema)({ a: 1, c: 1 })).toHaveLength(1);
  });

  it.each<[string, object, unknown]>([
    ['refers to itself and nothing else', { $ref: '#' }, 1],
    ['refers to itself on the way', { allOf: [{ $ref: '#' }] }, 1],
    ['doubles with each definition', doubling(40), {}],
    [
      'doubles with each level of the value',
      { allOf: [{ additionalProperties: { $ref: '#' } }, { additionalProperties: { $ref: '#' } }] },
      nested(60),
    ],
  ])('whose schema %s is a fault, not an endless one', (_what, schema, value) => {
    const startedMs = performance.now();
    expect(compileSchema(schema)(value)).toEqual([{ path: '', message: expect.stringContaining('cannot be checked') }]);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  it('knows no members of a value but its own', () => {
    for (const name of ['toString', 'constructor', 'valueOf', 'hasOwnProperty']) {
      expect(compileSchema({ required: [name] })({})).toHaveLength(1);
      expect(compileSchema({ properties: { [name]: { type: 'string' } } })({})).toEqual([]);
      expect(compileCondition({ not: { required: [name] } })({})).toBe(true);
      expect(compileCondition({ required: [name] })({ [name]: 1 })).toBe(true);
    }
  });

  it('of one value does not use up the steps of the next', () => {
    const check = compileSchema({ items: { $ref: '#/$defs/n' }, $defs: { n: { type: 'integer' } } }, { steps: 10 });
    for (let i = 0; i < 3; i += 1) expect(check([1, 2, 3, 4, 5, 6])).toEqual([]);
    expect(check(Array.from({ length: 11 }, () => 1))).toHaveLength(1);
  });

  it.each([
    ['(a+)+$', 'a'.repeat(50_000) + 'b'],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(50_000)],
    ['(x+x+)+y', 'x'.repeat(50_000)],
  ])('of the pattern %s takes no time whatever the text', (pattern, text) => {
    const startedMs = performance.now();
    expect(compileSchema({ pattern })(text)).toEqual([{ path: '', message: `must match pattern "${pattern}"` }]);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  it('of many items for repetitions takes no time that grows with their square', () => {
    const check = compileSchema({ uniqueItems: true });
    const items = Array.from({ length: 20_000 }, (_, i) => ({ a: [i] }));
    const startedMs = performance.now();
    expect(check(items)).toEqual([]);
    expect(check([...items, { a: [7] }])).toEqual([{ path: '', message: 'must not hold an item twice' }]);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});
