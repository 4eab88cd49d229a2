import { describe, expect, it } from '@jest/globals';
import { secretFieldsOf } from './secret-fields.js';

it('finds every argument that is marked as secret, wherever its schema stands', () => {
  const marked = { type: 'string', writeOnly: true };
  expect(
    secretFieldsOf({
      type: 'object',
      properties: {
        token: marked,
        plain: { type: 'string' },
        'a/b': { type: 'object', properties: { pin: { 'x-secret': true } } },
        list: { type: 'array', items: marked },
      },
      allOf: [{ properties: { token: marked, other: marked } }],
    }),
  ).toEqual(['/token', '/a~1b/pin', '/list', '/other']);
});

describe('an argument that is marked as secret', () => {
  const marked = { type: 'string', writeOnly: true };
  const card = { type: 'object', properties: { number: marked, holder: { type: 'string' } } };

  it.each<[string, object, readonly string[]]>([
    ['by reference', { properties: { card: { $ref: '#/$defs/card' } }, $defs: { card } }, ['/card/number']],
    [
      'by a reference to itself',
      { properties: { pin: { $ref: '#/$defs/a~1b%25' } }, $defs: { 'a/b%': marked } },
      ['/pin'],
    ],
    ['in items by reference', { properties: { all: { items: { $ref: '#/$defs/card' } } }, $defs: { card } }, ['/all']],
    ['in the first items', { properties: { pair: { prefixItems: [{}, marked] } } }, ['/pair']],
    ['under any name', { properties: { env: { additionalProperties: marked } } }, ['/env/*']],
    ['under names of a form', { properties: { env: { patternProperties: { '^S': marked } } } }, ['/env/*']],
    [
      'under a condition',
      { if: {}, then: { properties: { a: marked } }, else: { properties: { b: marked } } },
      ['/a', '/b'],
    ],
    ['beside another one', { dependentSchemas: { user: { properties: { word: marked } } } }, ['/word']],
    [
      'in what refers to itself',
      { properties: { pin: marked, next: { $ref: '#' } } },
      ['/pin', '/next/pin', '/next/next'],
    ],
    ['where a reference is not followed', { properties: { a: { $ref: 'card.json' }, b: marked } }, ['/a', '/b']],
    ['nowhere', { properties: { next: { $ref: '#' }, a: { $ref: 'card.json' } } }, []],
  ])('%s is found', (_, schema, found) => {
    expect(secretFieldsOf({ type: 'object', ...schema })).toEqual(found);
  });

  it('is hidden in a schema that grows without end as well, in little time', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        { properties: Object.fromEntries(Array.from({ length: 40 }, (_, m) => [`p${m}`, { $ref: `#/$defs/d${m}` }])) },
      ]),
    );
    const fields = secretFieldsOf({ ...$defs['d0'], $defs: { ...$defs, secret: marked } });
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.length).toBeLessThan(3_000);
  });
});
