import { expect, it } from '@jest/globals';
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
