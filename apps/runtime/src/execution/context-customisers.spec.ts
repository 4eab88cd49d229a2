import { describe, expect, it } from '@jest/globals';
import { createClaim } from '../../../../test/support/claims.js';
import { ATTRIBUTES, type ContextCustomiser, contextValues, promoteAttributes } from './context-customisers.js';

const claim = createClaim();
const values = (attributes: unknown, ...customisers: ContextCustomiser[]): unknown =>
  contextValues(claim, attributes, customisers);

describe('what a run is told beside its context', () => {
  it('are the attributes in one map, without what is null', () => {
    expect(values({ tier: 'gold', none: null, deep: { a: [1] } })).toEqual({
      [ATTRIBUTES]: { tier: 'gold', deep: { a: [1] } },
    });
  });

  it.each([undefined, null, {}, { only: null }, [], 'x'])('is nothing when the attributes are %j', (attributes) => {
    expect(values(attributes)).toEqual({});
  });

  it('holds the attributes an operator lets through by name, unless a framework keeps the name for itself', () => {
    const reserved = ['agentId', 'outboundAddress', 'agentscope.x', 'agui.x', 'io.agentscope.x', ATTRIBUTES, ' '];
    const attributes = Object.fromEntries(['tier', 'hidden', 'agentIdentity', ...reserved].map((name) => [name, name]));
    expect(values(attributes, promoteAttributes(['tier', 'absent', 'agentIdentity', 'toString', ...reserved]))).toEqual(
      {
        [ATTRIBUTES]: attributes,
        tier: 'tier',
        agentIdentity: 'agentIdentity',
      },
    );
  });

  it('is made by customisers in their order: each sees what came before, and the later one wins', () => {
    const first: ContextCustomiser = () => ({ a: 1, b: 1 });
    const second: ContextCustomiser = (before, { taskId }) => ({ b: 2, seen: { ...before }, taskId });
    expect(values(undefined, first, second)).toEqual({ a: 1, b: 2, seen: { a: 1, b: 1 }, taskId: claim.taskId });
  });

  it('cannot be changed by who is told', () => {
    const told = contextValues(claim, { tier: 'gold' }, [promoteAttributes(['tier'])]);
    expect(() => Object.assign(told, { tier: 'lead' })).toThrow(TypeError);
    expect(() => Object.assign(told[ATTRIBUTES] as object, { tier: 'lead' })).toThrow(TypeError);
  });
});
