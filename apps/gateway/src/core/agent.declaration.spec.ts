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

  const asking = {
    ...fine,
    tools: ['send'],
    policy: { tools: { send: [{ when: { required: ['to'] }, then: 'confirm' }] } },
  };
  const ruled = (...rules: unknown[]): object => ({ ...fine, tools: ['send'], policy: { tools: { send: rules } } });

  it.each<[string, object, string, unknown]>([
    ['no verdict', ruled({ when: {} }), '/policy/tools/send/0/then', 'is missing'],
    ['another verdict', ruled({ then: 'maybe' }), '/policy/tools/send/0/then', 'must be one of allow, confirm, deny'],
    ['a field that is none', ruled({ then: 'deny', wenn: {} }), '/policy/tools/send/0/wenn', 'is not a known field'],
    [
      'a condition that is none',
      ruled({ when: { pattern: '(' }, then: 'deny' }),
      '/policy/tools/send/0/when/pattern',
      expect.any(String),
    ],
    [
      'a word that is misspelled',
      ruled({ when: { requierd: ['to'] }, then: 'deny' }),
      '/policy/tools/send/0/when',
      expect.stringContaining('requierd'),
    ],
    [
      'a rule that is never reached',
      ruled({ then: 'allow' }, { then: 'deny' }),
      '/policy/tools/send/1',
      'is never reached',
    ],
    ['no rule', ruled(), '/policy/tools/send', 'must NOT have fewer than 1 items'],
  ])('with a policy that has %s is refused by path', (_what, declaration, path, message) => {
    expect(declarationFaults(declaration, RUNNERS)).toEqual([{ path, message }]);
  });

  it('is refused when somebody is to approve calls and the runner cannot wait', () => {
    const runners = [{ ...RUNNERS[0]!, capabilities: { pause: false } }];
    const message = 'cannot wait for somebody to approve calls of send';
    expect(declarationFaults(asking, runners)).toEqual([{ path: '/routes/0/backends/0/runner', message }]);
    expect(declarationFaults(asking, RUNNERS)).toEqual([]);
    // A route without the tool asks for nothing.
    const narrow = { ...asking, routes: [{ tools: [], backends: [backend] }] };
    expect(declarationFaults(narrow, runners)).toEqual([]);
  });

  it('is taken when nothing is wrong with it', () => {
    expect(declarationFaults(fine, RUNNERS)).toEqual([]);
  });
});
