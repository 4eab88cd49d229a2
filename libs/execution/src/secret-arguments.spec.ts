import { describe, expect, it } from '@jest/globals';
import { digestCall } from '#lib/platform';
import { draftPause, draftResumed } from './confirmations.js';
import { SecretArguments } from './secret-arguments.js';

const R = '[redacted]';
const secrets = new SecretArguments({ tenant: 't', allowedTools: ['look', 'login'] }, (name, tenant) =>
  name === 'login' && tenant === 't' ? ['/pin'] : [],
);
const invoked = (tool_name: string, args: unknown) =>
  ({ type: 'tool.invoked', payload: { tool_call_id: 'c', tool_name, arguments: args } }) as const;

describe('an argument that its schema marks as secret', () => {
  it('is taken out of the call that is stored', () => {
    expect(secrets.without(invoked('login', { pin: 1, user: 'u' }))).toEqual(invoked('login', { pin: R, user: 'u' }));
    const other = invoked('look', { pin: 1 });
    expect(secrets.without(other)).toBe(other);
  });

  it('is not stored in pieces either, whatever tool the pieces are of', () => {
    const piece = { type: 'tool.arguments.delta', payload: { tool_call_id: 'c', text: '{"pin":1' } } as const;
    expect(secrets.without(piece)).toBeUndefined();
    expect(new SecretArguments({ tenant: 't', allowedTools: ['look'] }, () => []).without(piece)).toBe(piece);
  });

  it('is not shown to who is asked to approve the call, while the digest is of all its arguments', () => {
    const args = { pin: 1, user: 'u' };
    const item = { tool_call_id: 'c', kind: 'tool_confirmation', tool_name: 'login', arguments: args } as const;
    for (const draft of draftPause([item], { nowMs: 0, hide: secrets.hide })) {
      const [confirmation] = (draft.body.payload as unknown as { confirmations: object[] }).confirmations;
      expect(confirmation).toMatchObject({ arguments: { pin: R, user: 'u' }, digest: digestCall('login', args) });
    }
  });
});

describe('new arguments in an answer', () => {
  const answer = (edited_args: Readonly<Record<string, unknown>>) => {
    const { body } = draftResumed({
      waitId: 'w',
      decidedBy: 'd',
      items: [{ tool_call_id: 'c', approved: true, edited_args }],
    });
    return (body.payload as unknown as { decisions: object[] }).decisions[0];
  };

  it('stand in the log by their digest when they hold a secret, so that the call is still the one approved', () => {
    expect(answer({ a: 1 })).toEqual({ tool_call_id: 'c', approved: true, edited_args: { a: 1 } });
    expect(answer({ password: 'x' })).toEqual({
      tool_call_id: 'c',
      approved: true,
      digests: { edited_args: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });
});
