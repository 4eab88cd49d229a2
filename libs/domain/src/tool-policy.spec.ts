import { describe, expect, it } from '@jest/globals';
import { outlookOn, rulesFor, type ToolPolicy, unknownTools } from './tool-policy.js';

describe('the rules for a tool', () => {
  it.each<[string, ToolPolicy | undefined, string]>([
    ['allow without a policy', undefined, 'allow'],
    ['those of its name', { send: 'deny', '*': 'confirm' }, 'deny'],
    ['those of every tool when it is not named', { read: 'deny', '*': 'confirm' }, 'confirm'],
    ['allow when neither speaks of it', { read: 'deny' }, 'allow'],
  ])('are %s', (_what, policy, verdict) => {
    expect(rulesFor('send', policy)).toEqual([{ then: verdict }]);
  });

  it('are not taken from what every object has', () => {
    expect(rulesFor('constructor', { '*': 'deny' })).toEqual([{ then: 'deny' }]);
    expect(rulesFor('send', Object.create({ '*': 'deny' }) as ToolPolicy)).toEqual([{ then: 'allow' }]);
  });
});

describe('the outlook on a tool', () => {
  const when = { required: ['to'] };

  it.each<[string, ToolPolicy['x'], ReturnType<typeof outlookOn>]>([
    ['plain when there is one verdict', 'confirm', { verdict: 'confirm', asks: true }],
    ['the mildest that may come', [{ when, then: 'deny' }, { then: 'allow' }], { verdict: 'allow', asks: false }],
    ['that it may ask', [{ when, then: 'confirm' }, { then: 'allow' }], { verdict: 'allow', asks: true }],
    ['deny when nothing else is reached', [{ then: 'deny' }, { then: 'allow' }], { verdict: 'deny', asks: false }],
    ['deny when there is no rule', [], { verdict: 'deny', asks: false }],
  ])('is %s', (_what, rules, outlook) => {
    expect(outlookOn('send', { send: rules })).toEqual(outlook);
  });
});

describe('unknownTools', () => {
  it('names what a policy says of tools the agent does not have', () => {
    expect(unknownTools({ '*': 'deny', send: 'allow', sned: 'deny' }, ['send'])).toEqual(['sned']);
  });
});
