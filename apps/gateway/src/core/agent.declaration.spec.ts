import { describe, expect, it } from '@jest/globals';
import { declarationFaults } from './agent.declaration.js';

const RUNNERS = [
  {
    kind: 'dialogue',
    optionsSchema: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false },
  },
  { kind: 'workflow', optionsSchema: { type: 'object' } },
];

describe('a declaration by itself', () => {
  const backend = { runner: 'dialogue' };
  const fine = { id: 'a', description: 'd', routes: [{ backends: [backend] }] };

  it.each<[unknown, string, unknown]>([
    ['a', '', 'must be object'],
    [{ ...fine, id: 'a b' }, '/id', 'must match pattern "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"'],
    [{ ...fine, routes: [] }, '/routes', 'must NOT have fewer than 1 items'],
    [{ ...fine, polcy: {} }, '/polcy', 'is not a known field'],
    [{ ...fine, 'a/b~c': 1 }, '/a~1b~0c', 'is not a known field'],
    [{ ...fine, policy: { max_runs: 0 } }, '/policy/max_runs', 'must be >= 1'],
    [{ ...fine, input_schema: { type: 7 } }, '/input_schema/type', expect.stringContaining('must be one of array, ')],
    [{ ...fine, input_schema: { pattern: '(?=a)' } }, '/input_schema/pattern', expect.stringContaining('look-around')],
    [
      { ...fine, routes: [{ backends: [backend, { runner: 'x' }] }] },
      '/routes/0/backends/1/runner',
      'must be one of dialogue, workflow',
    ],
    [
      { ...fine, routes: [{ backends: [{ ...backend, options: { n: 'x' } }] }] },
      '/routes/0/backends/0/options/n',
      'must be integer',
    ],
  ])('%j is refused at %j, as in the file', (declaration, path, message) => {
    expect(declarationFaults(declaration, RUNNERS)).toEqual([{ path, message }]);
  });

  it('is taken when nothing is wrong with it', () => {
    expect(declarationFaults(fine, RUNNERS)).toEqual([]);
  });
});
