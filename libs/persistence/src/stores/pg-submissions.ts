import {
  isUnavailableError,
  type Submission,
  type SubmissionKeys,
  type SubmitOutcome,
  type TaskId,
  type TaskKey,
} from '#lib/domain';
import { Batcher } from '#lib/platform';
import type { Database, Statement } from '../database.js';
import { SUBMIT, submitColumns, type SubmitRow } from './submit.statement.js';

/** Rows in one submit statement, at most: more saves little, and moves all callers in step. */
const MAX_BATCH = 16;

/** Writes submissions: many in one statement while they are independent, alone where two keys must agree. */
export class PgSubmissions {
  private readonly batcher = new Batcher<Submission, Settled>((batch) => this.submitBatch(batch), MAX_BATCH);

  constructor(private readonly database: Database) {}

  async submit(submission: Submission): Promise<SubmitOutcome> {
    if (submission.ownTaskId && submission.idempotencyKey !== undefined) return this.submitWithBothKeys(submission);
    const settled = await this.batcher.add(submission);
    if ('error' in settled) throw settled.error;
    return this.outcome(settled.row, submission);
  }

  async find(keys: SubmissionKeys): Promise<SubmitOutcome | undefined> {
    const rows = await this.database.query<FoundRow>(FIND, [
      keys.tenant,
      keys.ownTaskId ? keys.taskId : null,
      keys.principal,
      keys.idempotencyKey ?? null,
    ]);
    const [first] = rows;
    if (!first) return undefined;
    if (rows.some((row) => row.task_key !== first.task_key || !matches(row, keys))) return { kind: 'conflict' };
    return { kind: 'existing', taskKey: first.task_key as TaskKey, taskId: first.task_id };
  }

  /** Two keys in one transaction: either both come to name the new task, or nothing is written. */
  private async submitWithBothKeys(submission: Submission): Promise<SubmitOutcome> {
    const found = await this.find(submission);
    if (found) return found;
    return this.database
      .transaction(async (client) => {
        const { rows } = await client.query<SubmitRow>({ ...SUBMIT, values: submitColumns([submission]) });
        const [row] = rows;
        if (row?.task_key !== submission.taskKey) throw new KeyTakenMeanwhile();
        return this.outcome(row, submission);
      })
      .catch(async (error: unknown) => {
        if (!(error instanceof KeyTakenMeanwhile)) throw error;
        return (await this.find(submission)) ?? { kind: 'conflict' };
      });
  }

  private async submitBatch(batch: readonly Submission[]): Promise<readonly Settled[]> {
    const { first, later } = splitByKey(batch);
    const settled = new Map<Submission, Settled>();
    for (const part of [first, ...later.map((submission) => [submission])]) {
      for (const [submission, result] of await this.write(part)) settled.set(submission, result);
    }
    return batch.map((submission) => settled.get(submission) as Settled);
  }

  /** One statement for all; when it fails for a reason of its own, one by one, so that only the offender fails. */
  private async write(part: readonly Submission[]): Promise<ReadonlyMap<Submission, Settled>> {
    try {
      const rows = await this.database.query<SubmitRow>(SUBMIT, submitColumns(part));
      const byKey = new Map(rows.map((row) => [row.asked, row] as const));
      return new Map(part.map((submission) => [submission, { row: byKey.get(submission.taskKey) as SubmitRow }]));
    } catch (error) {
      const [only, ...others] = part;
      if (only && others.length === 0) return new Map([[only, { error }]]);
      if (isUnavailableError(error)) return new Map(part.map((submission) => [submission, { error }]));
      const alone = new Map<Submission, Settled>();
      for (const submission of part) for (const [key, result] of await this.write([submission])) alone.set(key, result);
      return alone;
    }
  }

  private async outcome(row: SubmitRow, submission: Submission): Promise<SubmitOutcome> {
    if (row.task_key === submission.taskKey) {
      return { kind: 'created', taskKey: submission.taskKey, taskId: submission.taskId, atMs: row.at_ms };
    }
    if (!matches(row, submission)) return { kind: 'conflict' };
    const [task] = await this.database.query<{ task_id: TaskId }>(TASK_ID_OF, [row.task_key]);
    return task ? { kind: 'existing', taskKey: row.task_key as TaskKey, taskId: task.task_id } : { kind: 'conflict' };
  }
}

type Settled = { readonly row: SubmitRow } | { readonly error: unknown };

class KeyTakenMeanwhile extends Error {}

interface FoundRow {
  readonly task_key: string;
  readonly task_id: TaskId;
  readonly principal: string;
  readonly body_hash: Buffer;
}

function matches(row: { readonly principal: string; readonly body_hash: Buffer }, keys: SubmissionKeys): boolean {
  return row.principal === keys.principal && row.body_hash.equals(keys.bodyHash);
}

/** `on conflict do update` may meet a row once per statement: a key that comes twice waits for the next one. */
function splitByKey(batch: readonly Submission[]): { first: readonly Submission[]; later: readonly Submission[] } {
  const seen = new Set<string>();
  const first: Submission[] = [];
  const later: Submission[] = [];
  for (const submission of batch) {
    const { tenant, principal, idempotencyKey, taskId } = submission;
    const key = idempotencyKey === undefined ? `t ${tenant} ${taskId}` : `i ${tenant} ${principal} ${idempotencyKey}`;
    (seen.has(key) ? later : first).push(submission);
    seen.add(key);
  }
  return { first, later };
}

const FIND: Statement = {
  name: 'task-store.find',
  text: `
select k.task_key, t.task_id, k.principal, k.body_hash from submit_keys k join tasks t using (task_key)
where k.tenant = $1 and (k.kind = 'task_id' and k.owner = '' and k.key = $2
  or k.kind = 'idempotency' and k.owner = $3 and k.key = $4)`,
};

const TASK_ID_OF: Statement = { name: 'task-store.task-id', text: 'select task_id from tasks where task_key = $1' };
