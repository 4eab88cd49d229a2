import { describe, expect, it } from '@jest/globals';
import { type AttemptOutcome, judgeAttempt, MAX_RETRY_AFTER_MS, outcomeOfStatus, parseRetryAfter } from './index.js';

const SCHEDULE = [5_000, 300_000];
const judge = (outcome: Partial<AttemptOutcome>, tries = 1, chance = 0) =>
  judgeAttempt({ latencyMs: 1, ...outcome }, tries, { schedule: SCHEDULE, chance });

describe('judgeAttempt', () => {
  it.each([200, 201, 204, 299])('takes %i for a delivery', (status) => {
    expect(judge(outcomeOfStatus(status))).toEqual({ kind: 'delivered' });
  });

  it.each([100, 301, 307, 400, 401, 404, 429, 500, 503])('tries again after %i', (status) => {
    expect(judge(outcomeOfStatus(status))).toEqual({ kind: 'retry', delayMs: 5_000 });
  });

  it('follows the schedule, up to a fifth later, and gives up behind its end', () => {
    const failure = { error: 'timeout' } as const;
    expect([1, 2, 3].map((tries) => judge(failure, tries))).toEqual([
      { kind: 'retry', delayMs: 5_000 },
      { kind: 'retry', delayMs: 300_000 },
      { kind: 'failed', endpointGone: false },
    ]);
    expect(judge(failure, 1, 0.999)).toEqual({ kind: 'retry', delayMs: 5_999 });
  });

  it('waits as long as the receiver asks where that is longer, a day at most', () => {
    const asked = (retryAfterMs: number) => judge({ ...outcomeOfStatus(429), retryAfterMs });
    expect(asked(60_000)).toEqual({ kind: 'retry', delayMs: 60_000 });
    expect(asked(1)).toEqual({ kind: 'retry', delayMs: 5_000 });
    expect(asked(1e15)).toEqual({ kind: 'retry', delayMs: MAX_RETRY_AFTER_MS });
  });

  it('ends it for good at 410, and for a webhook that is off', () => {
    expect(judge(outcomeOfStatus(410))).toEqual({ kind: 'failed', endpointGone: true });
    expect(judge({ error: 'disabled' })).toEqual({ kind: 'failed', endpointGone: false });
  });

  it('repeats an attempt that our own end has cut off at once, whatever it was', () => {
    expect(judge({ error: 'interrupted' }, 3)).toEqual({ kind: 'retry', delayMs: 0 });
  });
});

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Mon, 30 Nov 2026 12:01:00 GMT', 60_000],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['1e9', undefined],
    [undefined, undefined],
  ])('%s is %s ms', (value, expected) => {
    expect(parseRetryAfter(value, Date.parse('2026-11-30T12:00:00Z'))).toBe(expected);
  });
});
