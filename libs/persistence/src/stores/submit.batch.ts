import type { Submission } from '#lib/domain';

/**
 * The statements a batch needs: the first takes all that is independent, the others one submission each. `on conflict do
 * update` may meet a row once per statement, so a key that comes twice waits for the next one. So does a task that asks
 * for more than a place in line when its session is in the batch already: it has to see those before it.
 */
export function splitBatch(batch: readonly Submission[]): readonly (readonly Submission[])[] {
  const seen = new Set<string>();
  const first: Submission[] = [];
  const later: Submission[] = [];
  for (const submission of batch) {
    const key = keyOf(submission);
    const session = sessionOf(submission);
    const asksForMore = (submission.sessionStrategy ?? 'enqueue') !== 'enqueue';
    const isLater = seen.has(key) || (asksForMore && session !== undefined && seen.has(session));
    (isLater ? later : first).push(submission);
    seen.add(key);
    if (session !== undefined) seen.add(session);
  }
  return [first, ...later.map((submission) => [submission])];
}

function keyOf({ tenant, principal, idempotencyKey, taskId }: Submission): string {
  return idempotencyKey === undefined ? `t ${tenant} ${taskId}` : `i ${tenant} ${principal} ${idempotencyKey}`;
}

function sessionOf({ tenant, agentId, userId, principal, sessionId }: Submission): string | undefined {
  return sessionId === undefined ? undefined : JSON.stringify([tenant, agentId, userId ?? principal, sessionId]);
}
