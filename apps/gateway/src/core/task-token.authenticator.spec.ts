import { describe, expect, it } from '@jest/globals';
import {
  type AuditEntry,
  AuditTrail,
  DomainError,
  type RunCalls,
  type RunStanding,
  type TaskGrant,
  type TaskId,
  type TaskKey,
  type TaskTokens,
} from '#lib/domain';
import { TaskTokenAuthenticator } from './task-token.authenticator.js';

const GRANT: TaskGrant = {
  ...{ taskKey: 'key' as TaskKey, taskId: 'task-1' as TaskId, runNo: 2, tenant: 'acme', principal: 'alice' },
  ...{ agentId: 'analyst', runtimeId: 'rt', tools: ['summarise'], tokenId: 'j1', audience: 'us' },
  ...{ scopes: ['runtime:tools', 'runtime:token'], issuedAtMs: 0, expiresAtMs: 300_000 },
};
const LIVE: RunStanding = {
  ...{ runNo: 2, runOpen: true, state: 'running', runtimeId: 'rt', isLeased: true, cancelRequested: false },
  deadlineAtMs: 1_000_000,
};
const USE = { scope: 'runtime:tools', action: 'tool.invoke', requestId: 'r' } as const;
const refused = expect.objectContaining({ code: 'unauthenticated' });

class KeptTrail extends AuditTrail {
  readonly entries: AuditEntry[] = [];
  override async record(): Promise<void> {}
  override denied(entry: AuditEntry): void {
    this.entries.push(entry);
  }
}

/** Tokens are words here: `genuine`, `elsewhere` (for another audience), and whatever is not. */
function setUp(standing: RunStanding | null | Error = LIVE, grant: Partial<TaskGrant> = {}) {
  const audit = new KeptTrail();
  const tokens = {
    verify: async (token: string, audience: string) => {
      if (token === 'genuine' || (token === 'elsewhere' && audience === 'any')) return { ...GRANT, ...grant };
      throw new DomainError('unauthenticated', 'not valid');
    },
    claimsToBe: (token: string) => token.startsWith('ey'),
  } as unknown as TaskTokens;
  const calls = {
    standing: async () => {
      if (standing instanceof Error) throw standing;
      return standing ?? undefined;
    },
  } as unknown as RunCalls;
  return { audit, authenticator: new TaskTokenAuthenticator({ tokens, calls, audit }) };
}

const codes = ({ entries }: KeptTrail): unknown[] =>
  entries.map(({ details }) => (JSON.parse(details) as { code: unknown }).code);

describe('a request with a task token', () => {
  it('is believed while its run lives, until the deadline of the task', async () => {
    const { authenticator, audit } = setUp();
    await expect(authenticator.authenticate('genuine', USE)).resolves.toEqual({ ...GRANT, deadlineAtMs: 1_000_000 });
    expect(audit.entries).toEqual([]);
  });

  it.each([
    ['there is no such task', null, 'unknown_task'],
    ['a later run is the live one', { ...LIVE, runNo: 3 }, 'other_run'],
    ['its run has ended', { ...LIVE, runOpen: false, state: 'succeeded' }, 'run_over'],
    ['its task waits', { ...LIVE, runOpen: false, state: 'waiting_for_input' }, 'run_over'],
    ['its run is closed and the next is not claimed yet', { ...LIVE, runOpen: false }, 'run_over'],
    ['another runtime has the run', { ...LIVE, runtimeId: 'other' }, 'other_runtime'],
    ['its runtime gives no sign of life', { ...LIVE, isLeased: false }, 'lease_expired'],
  ] as const)('is refused when %s, and that is noted with whose it is', async (_what, standing, code) => {
    const { authenticator, audit } = setUp(standing);
    await expect(authenticator.authenticate('genuine', USE)).rejects.toEqual(refused);
    expect(audit.entries).toEqual([
      {
        ...{ tenant: 'acme', principal: 'alice', keyId: 'j1', action: 'tool.invoke', target: 'task-1' },
        ...{ outcome: 'denied', requestId: 'r' },
        details: JSON.stringify({ code, run_no: 2, agent_id: 'analyst', runtime_id: 'rt' }),
      },
    ]);
    expect(await authenticator.introspect('genuine')).toBeUndefined();
  });

  it('counts for the tenant of its task, and beyond its limit is refused before anybody is asked', async () => {
    const counted: unknown[] = [];
    const request = (who: unknown): never => {
      counted.push(who);
      throw new DomainError('rate_limited', 'enough');
    };
    const tokens = { verify: async () => GRANT } as unknown as TaskTokens;
    const calls = { standing: () => Promise.reject(new Error('asked')) } as unknown as RunCalls;
    const authenticator = new TaskTokenAuthenticator({ tokens, calls, audit: new KeptTrail(), quotas: { request } });
    await expect(authenticator.authenticate('genuine', USE)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(counted).toEqual([{ tenant: 'acme', keyId: `run:${GRANT.taskKey}` }]);
  });

  it('is refused a route that its scopes do not open', async () => {
    const { authenticator, audit } = setUp(LIVE, { scopes: ['runtime:token'] });
    await expect(authenticator.authenticate('genuine', USE)).rejects.toMatchObject({ code: 'forbidden' });
    expect(codes(audit)).toEqual(['missing_scope']);
  });

  it('is refused when it is for somebody else, forged, or no token at all, and noted as far as it says whose it is', async () => {
    const { authenticator, audit } = setUp();
    for (const token of ['elsewhere', 'eyforged', 'swy_key'])
      await expect(authenticator.authenticate(token, USE)).rejects.toEqual(refused);
    expect(codes(audit)).toEqual(['other_audience', 'invalid_token', 'no_task_token']);
    expect(audit.entries.map(({ tenant, target }) => [tenant, target])).toEqual([
      ['acme', 'task-1'],
      ['', ''],
      ['', ''],
    ]);
  });

  it('is neither believed nor held against its sender while the database does not answer', async () => {
    const { authenticator, audit } = setUp(new DomainError('unavailable', 'down'));
    await expect(authenticator.authenticate('genuine', USE)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(authenticator.introspect('genuine')).rejects.toMatchObject({ code: 'unavailable' });
    expect(audit.entries).toEqual([]);
  });
});

describe('a question about a token', () => {
  it('is answered whoever the token is for', async () => {
    const { authenticator } = setUp();
    expect(await authenticator.introspect('elsewhere')).toEqual({ ...GRANT, deadlineAtMs: 1_000_000 });
    expect(await authenticator.introspect('eyforged')).toBeUndefined();
  });
});
