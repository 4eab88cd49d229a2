import {
  isUnavailableError,
  type Submission,
  type SubmissionKeys,
  type SubmitOutcome,
  type TaskId,
  type TaskKey,
} from '#lib/domain';
import { Batcher } from '#lib/platform';
import type pg from 'pg';
import type { Database, Statement } from '../database.js';
import {
  LOCK_SESSIONS,
  lockValues,
  SESSION_SUBMIT,
  SESSION_SUBMIT_COLUMNS,
  type SessionSubmitRow,
} from './session-submit.statement.js';
import { splitBatch } from './submit.batch.js';
import { SUBMIT, SUBMIT_UNNAMED, type SubmitRow, submitValues } from './submit.statement.js';

/** Rows in one submit statement, at most: more saves little, and moves all callers in step. */
const MAX_BATCH = 32;

/**
 * Writes submissions: many in one statement while they are independent, alone where two keys must agree. Those of sessions
 * have batches of their own, so that the others pay nothing for them.
 */
export class PgSubmissions {
  private readonly plain = this.batcher((part) => this.database.query(statementOf(part), submitValues(part)));
  private readonly inSessions = this.batcher((part) =>
    this.database.transaction((client) => submitInSessions(client, part)),
  );

  constructor(private readonly database: Database) {}

  async submit(submission: Submission): Promise<SubmitOutcome> {
    if (submission.ownTaskId && submission.idempotencyKey !== undefined) return this.submitWithBothKeys(submission);
    const batcher = submission.sessionId === undefined ? this.plain : this.inSessions;
    const settled = await batcher.add(submission);
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
    return existing(first.task_key, first.task_id);
  }

  /** Two keys in one transaction: either both come to name the new task, or nothing is written. */
  private async submitWithBothKeys(submission: Submission): Promise<SubmitOutcome> {
    const found = await this.find(submission);
    if (found) return found;
    return this.database
      .transaction(async (client) => {
        const [row] = await (submission.sessionId === undefined ? submitPlain : submitInSessions)(client, [submission]);
        if (row?.task_key !== submission.taskKey && !(row && isRefusal(row))) throw new KeyTakenMeanwhile();
        return this.outcome(row, submission);
      })
      .catch(async (error: unknown) => {
        if (!(error instanceof KeyTakenMeanwhile)) throw error;
        return (await this.find(submission)) ?? { kind: 'conflict' };
      });
  }

  private batcher(statement: Write): Batcher<Submission, Settled> {
    return new Batcher((batch) => submitBatch(batch, statement), MAX_BATCH);
  }

  private async outcome(row: SubmitRow & Partial<SessionSubmitRow>, submission: Submission): Promise<SubmitOutcome> {
    const { taskKey, taskId } = submission;
    if (row.task_key === taskKey) {
      const turn = row.turn ?? (submission.heldUntilMs === undefined ? 'now' : 'later');
      return { kind: 'created', taskKey, taskId, atMs: row.at_ms, turn };
    }
    if (row.verdict === 'foreign' || row.verdict === 'busy') return { kind: row.verdict };
    if (row.verdict === 'elsewhere') return { kind: 'elsewhere', backend: backendOf(row as SessionSubmitRow) };
    if (row.task_key === null || !matches(row, submission)) return { kind: 'conflict' };
    const [task] = await this.database.query<{ task_id: TaskId }>(TASK_ID_OF, [row.task_key]);
    return existing(row.task_key, task?.task_id ?? null);
  }
}

type Write = (part: readonly Submission[]) => Promise<readonly SubmitRow[]>;
type Settled = { readonly row: SubmitRow } | { readonly error: unknown };

class KeyTakenMeanwhile extends Error {}

async function submitPlain(client: pg.ClientBase, part: readonly Submission[]): Promise<readonly SubmitRow[]> {
  return (await client.query<SubmitRow>({ ...statementOf(part), values: submitValues(part) })).rows;
}

function statementOf(part: readonly Submission[]): Statement {
  return part.some(({ idempotencyKey }) => idempotencyKey !== undefined) ? SUBMIT : SUBMIT_UNNAMED;
}

/** Two statements: the second sees what those who held the sessions before have done. */
async function submitInSessions(client: pg.ClientBase, part: readonly Submission[]): Promise<readonly SubmitRow[]> {
  await client.query({ ...LOCK_SESSIONS, values: lockValues(part) });
  const values = submitValues(part, SESSION_SUBMIT_COLUMNS);
  return (await client.query<SessionSubmitRow>({ ...SESSION_SUBMIT, values })).rows;
}

async function submitBatch(batch: readonly Submission[], statement: Write): Promise<readonly Settled[]> {
  const settled = new Map<Submission, Settled>();
  for (const part of splitBatch(batch)) {
    for (const [submission, result] of await write(part, statement)) settled.set(submission, result);
  }
  return batch.map((submission) => settled.get(submission) as Settled);
}

/** One statement for all; when it fails for a reason of its own, one by one, so that only the offender fails. */
async function write(part: readonly Submission[], statement: Write): Promise<ReadonlyMap<Submission, Settled>> {
  try {
    const byKey = new Map((await statement(part)).map((row) => [row.asked, row] as const));
    return new Map(part.map((submission) => [submission, { row: byKey.get(submission.taskKey) as SubmitRow }]));
  } catch (error) {
    const [only, ...others] = part;
    if (only && others.length === 0) return new Map([[only, { error }]]);
    if (isUnavailableError(error)) return new Map(part.map((submission) => [submission, { error }]));
    const alone = new Map<Submission, Settled>();
    for (const submission of part) {
      for (const [key, result] of await write([submission], statement)) alone.set(key, result);
    }
    return alone;
  }
}

function isRefusal({ verdict }: Partial<SessionSubmitRow>): boolean {
  return verdict === 'foreign' || verdict === 'busy' || verdict === 'elsewhere';
}

function backendOf(row: SessionSubmitRow): { id: string; runner: string; pool: string } {
  return { id: row.backend_id, runner: row.backend_runner, pool: row.backend_pool };
}

interface FoundRow {
  readonly task_key: string;
  readonly task_id: TaskId | null;
  readonly principal: string;
  readonly body_hash: Buffer;
}

/** A key outlives its task. */
function existing(taskKey: string, taskId: TaskId | null): SubmitOutcome {
  return taskId === null ? { kind: 'gone' } : { kind: 'existing', taskKey: taskKey as TaskKey, taskId };
}

function matches(row: { readonly principal: string; readonly body_hash: Buffer }, keys: SubmissionKeys): boolean {
  return row.principal === keys.principal && row.body_hash.equals(keys.bodyHash);
}

const FIND: Statement = {
  name: 'task-store.find',
  text: `
select k.task_key, t.task_id, k.principal, k.body_hash from submit_keys k left join tasks t using (task_key)
where k.tenant = $1 and (k.kind = 'task_id' and k.owner = '' and k.key = $2
  or k.kind = 'idempotency' and k.owner = $3 and k.key = $4)`,
};

const TASK_ID_OF: Statement = { name: 'task-store.task-id', text: 'select task_id from tasks where task_key = $1' };
