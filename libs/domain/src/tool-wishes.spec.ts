import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { effectiveTools, toolsOn } from './tool-wishes.js';

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const names = fc.uniqueArray(name);
const wishes = fc.record({ allow: names, deny: names }, { requiredKeys: [] });

describe('the tools of a task', () => {
  it('are those that agent, route and caller all give and no rule denies', () => {
    fc.assert(
      fc.property(names, fc.option(names, { nil: undefined }), wishes, (agent, route, { allow, deny }) => {
        const left = effectiveTools(toolsOn(agent, route), { allow, deny });
        const expected = agent.filter(
          (tool) => (route ?? agent).includes(tool) && (allow ?? agent).includes(tool) && !(deny ?? []).includes(tool),
        );
        expect(left).toEqual(expected);
      }),
    );
  });

  it('never grow by a further wish', () => {
    fc.assert(
      fc.property(names, wishes, name, (given, { allow, deny = [] }, more) => {
        const before = effectiveTools(given, { allow, deny });
        expect(before).toEqual(expect.arrayContaining([...effectiveTools(given, { allow, deny: [...deny, more] })]));
        expect(given).toEqual(expect.arrayContaining([...before]));
      }),
    );
  });
});
