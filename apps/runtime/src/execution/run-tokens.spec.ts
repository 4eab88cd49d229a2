import { beforeEach, describe, expect, it } from '@jest/globals';
import { type JsonWebKeySet, type MintedToken, type TaskGrant, TaskTokens, type TokenTerms } from '#lib/domain';
import { createClaim } from '../../../../test/support/claims.js';
import { LiveRun } from './live-run.js';
import { tokensOf } from './run-tokens.js';

const NOW = 1_000_000;
let nowMs = NOW;

class CountingTokens extends TaskTokens {
  readonly minted: TokenTerms[] = [];
  failures = 0;

  override async mint(terms: TokenTerms): Promise<MintedToken> {
    if (this.failures-- > 0) throw new Error('not now');
    this.minted.push(terms);
    return { token: `token-${this.minted.length}`, expiresAtMs: nowMs + 300_000 };
  }
  override verify(): Promise<TaskGrant> {
    throw new Error('not asked here');
  }
  override publicKeys(): JsonWebKeySet {
    return { keys: [] };
  }
  override claimsToBe(): boolean {
    return true;
  }
}

function setUp(): { tokens: CountingTokens; run: LiveRun; taskToken: (audience?: string) => Promise<string> } {
  const tokens = new CountingTokens();
  const claim = createClaim({ allowedTools: ['summarise'], deadlineAtMs: 5_000_000 });
  const run = new LiveRun({ claim, claimedAtMs: 0 }, 0);
  return { tokens, run, taskToken: tokensOf(tokens, run, { runtimeId: 'rt', nowMs: () => nowMs }) };
}

beforeEach(() => {
  nowMs = NOW;
});

describe('the tokens of a run', () => {
  it('are made when they are asked for, and not before', async () => {
    const { tokens, run, taskToken } = setUp();
    expect(tokens.minted).toEqual([]);
    await expect(taskToken()).resolves.toBe('token-1');
    const { taskKey, taskId } = run.claimed.claim;
    expect(tokens.minted).toEqual([
      {
        ...{ taskKey, taskId, runNo: 1, tenant: 'acme', principal: 'alice', agentId: 'a', runtimeId: 'rt' },
        ...{ tools: ['summarise'], deadlineAtMs: 5_000_000 },
      },
    ]);
  });

  it('stay the same until half of their life is over, one for each audience', async () => {
    const { taskToken } = setUp();
    await expect(Promise.all([taskToken(), taskToken('https://tools.example')])).resolves.toEqual([
      'token-1',
      'token-2',
    ]);
    nowMs = NOW + 149_999;
    await expect(taskToken()).resolves.toBe('token-1');
    nowMs = NOW + 150_000;
    await expect(taskToken()).resolves.toBe('token-3');
    await expect(taskToken('https://tools.example')).resolves.toBe('token-4');
  });

  it('are asked for again after a failure', async () => {
    const { tokens, taskToken } = setUp();
    tokens.failures = 1;
    await expect(taskToken()).rejects.toThrow('not now');
    await expect(taskToken()).resolves.toBe('token-1');
  });

  it('are not given to a run that is to stop', async () => {
    const { run, taskToken } = setUp();
    await taskToken();
    run.stop('cancel', 1_000);
    await expect(taskToken()).rejects.toMatchObject({ name: 'AdapterError', kind: 'cancelled' });
  });
});
