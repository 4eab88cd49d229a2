import { describe, expect, it } from '@jest/globals';
import { unknownTools, verdictOn } from './tool-policy.js';

describe('the verdict on a tool', () => {
  it.each([
    ['allow without a policy', undefined, 'allow'],
    ['that of its name', { send: 'deny', '*': 'confirm' }, 'deny'],
    ['that of every tool when it is not named', { read: 'deny', '*': 'confirm' }, 'confirm'],
    ['allow when neither speaks of it', { read: 'deny' }, 'allow'],
  ] as const)('is %s', (_what, policy, verdict) => {
    expect(verdictOn('send', policy)).toBe(verdict);
  });

  it('is not taken from what every object has', () => {
    expect(verdictOn('constructor', { '*': 'deny' })).toBe('deny');
  });
});

describe('unknownTools', () => {
  it('names what a policy says of tools the agent does not have', () => {
    expect(unknownTools({ '*': 'deny', send: 'allow', sned: 'deny' }, ['send'])).toEqual(['sned']);
  });
});
