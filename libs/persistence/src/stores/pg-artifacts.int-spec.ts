import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ArtifactId, TaskKey, Upload } from '#lib/domain';
import { newArtifactId, newTaskKey } from '#lib/platform';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { Database } from '../database.js';
import { PgBlobRemovals } from './pg-blob-removals.js';
import { PgTaskStore } from './pg-task-store.js';
import { PgUploadStore } from './pg-upload-store.js';

let database: TestDatabase;
let pool: Database;
let client: pg.Client;
let uploads: PgUploadStore;
let tasks: PgTaskStore;
let removals: PgBlobRemovals;

beforeAll(async () => {
  database = await createDatabase();
  pool = new Database({ databaseUrl: database.url, max: 4, name: 'artifacts test' });
  // As the processes do it: in their role.
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('set role switchyard_app; set search_path to switchyard');
  uploads = new PgUploadStore(pool);
  tasks = new PgTaskStore(pool);
  removals = new PgBlobRemovals(pool);
});

afterAll(async () => {
  await client?.end();
  await pool?.close();
  await database?.drop();
});

const sha = (digit: string): string => digit.repeat(64);

function upload(change: Partial<Upload> = {}): Upload {
  const artifactId = newArtifactId();
  return {
    artifactId,
    tenant: 'acme',
    principal: 'ann',
    name: 'a.txt',
    mediaType: 'text/plain',
    size: 5_000_000_000,
    sha256: sha('a'),
    audit: {
      tenant: 'acme',
      principal: 'ann',
      keyId: 'k',
      action: 'artifact.upload',
      target: artifactId,
      outcome: 'allowed',
      details: '{}',
      requestId: 'r',
    },
    ...change,
  };
}

async function addArtifact(taskKey: TaskKey, sha256: string): Promise<void> {
  await client.query(
    `insert into artifacts (artifact_id, task_key, tenant, kind, name, media_type, size, sha256, created_at)
     values ($1, $2, 'acme', 'produced', 'x', 'text/plain', 1, $3, clock_timestamp())`,
    [newArtifactId(), taskKey, sha256],
  );
}

describe('an upload', () => {
  it('is stored with its audit record and found by its owner, by the tenant, and by nobody else', async () => {
    const given = upload();
    const stored = await uploads.add(given);
    expect(stored).toEqual({
      artifact_id: given.artifactId,
      kind: 'input',
      name: 'a.txt',
      media_type: 'text/plain',
      size: 5_000_000_000,
      sha256: sha('a'),
      taskKey: null,
      tenant: 'acme',
      createdAtMs: expect.any(Number),
    });
    const find = (scope: { tenant: string; principal?: string }) => tasks.artifact(scope, given.artifactId);
    expect(await find({ tenant: 'acme', principal: 'ann' })).toEqual(stored);
    expect(await find({ tenant: 'acme' })).toEqual(stored);
    expect(await find({ tenant: 'acme', principal: 'bob' })).toBeUndefined();
    expect(await find({ tenant: 'other' })).toBeUndefined();
    expect(await tasks.linkedArtifact(given.artifactId)).toEqual(stored);
    const { rows } = await client.query('select action, principal from audit_records where target = $1', [
      given.artifactId,
    ]);
    expect(rows).toEqual([{ action: 'artifact.upload', principal: 'ann' }]);
  });

  it('is listed oldest first, page by page, in its scope', async () => {
    const ids: ArtifactId[] = [];
    for (let n = 0; n < 3; n += 1)
      ids.push((await uploads.add(upload({ principal: 'lena' }))).artifact_id as ArtifactId);
    const scope = { tenant: 'acme', principal: 'lena' };
    const first = await uploads.list(scope, { limit: 2 });
    const second = await uploads.list(scope, { limit: 2, cursor: first.nextCursor! });
    expect([...first.items, ...second.items].map(({ artifact_id }) => artifact_id)).toEqual(ids);
    expect(second.nextCursor).toBeUndefined();
    expect((await uploads.list({ tenant: 'other' }, { limit: 2 })).items).toEqual([]);
    await expect(uploads.list(scope, { limit: 1, cursor: 'x' })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('of a task is found in the scope of the task only', async () => {
    const submission = createSubmission(await createBackend(database.url));
    await tasks.submit(submission);
    const artifactId = newArtifactId();
    await client.query(
      `insert into artifacts (artifact_id, task_key, tenant, kind, name, media_type, size, sha256, created_at)
       values ($1, $2, 'acme', 'produced', 'x', 'text/plain', 1, $3, clock_timestamp())`,
      [artifactId, submission.taskKey, sha('b')],
    );
    const find = (principal: string) => tasks.artifact({ tenant: 'acme', principal }, artifactId);
    expect(await find('alice')).toMatchObject({ taskKey: submission.taskKey });
    expect(await find('bob')).toBeUndefined();
    await client.query('delete from artifacts where artifact_id = $1', [artifactId]);
  });
});

describe('the mark of a blob', () => {
  beforeEach(() => client.query('delete from blob_removals'));

  const hasten = (): Promise<unknown> =>
    client.query("update blob_removals set due_at = clock_timestamp() - interval '1 s'");
  const due = async (): Promise<string[]> => (await removals.due(100)).map(({ sha256 }) => sha256).sort();
  const marks = async (): Promise<string[]> =>
    (await client.query<{ sha256: string }>('select sha256 from blob_removals order by 1')).rows.map(
      ({ sha256 }) => sha256,
    );

  it('is made with the end of a row that named it, and holds when nothing else names it', async () => {
    const [gone, kept] = [newTaskKey(), newTaskKey()];
    await addArtifact(gone, sha('1'));
    await addArtifact(gone, sha('2'));
    await addArtifact(kept, sha('2'));
    await client.query('begin');
    await client.query('delete from artifacts where task_key = $1', [gone]);
    expect(await marks()).toEqual([sha('1'), sha('2')]);
    await client.query('rollback');
    expect(await marks()).toEqual([]);

    await client.query('delete from artifacts where task_key = $1', [gone]);
    // Not at once: whoever stores the same bytes now has time to name them.
    expect(await due()).toEqual([]);
    await hasten();
    expect(await due()).toEqual([sha('1')]);
    expect(await marks()).toEqual([sha('1')]);
    await client.query('delete from artifacts where task_key = $1', [kept]);
  });

  it('is given to one process at a time, and goes when it is settled, unless it was made anew', async () => {
    const taskKey = newTaskKey();
    for (const name of ['5', '6']) await addArtifact(taskKey, sha(name));
    await client.query('delete from artifacts where task_key = $1', [taskKey]);
    await hasten();
    const [one, other] = (await Promise.all([removals.due(1), removals.due(1)])).flat();
    expect(new Set([one!.sha256, other!.sha256])).toEqual(new Set([sha('5'), sha('6')]));
    expect(await due()).toEqual([]);

    await addArtifact(taskKey, one!.sha256);
    await client.query("update blob_removals set marked_at = marked_at - interval '1 s'");
    await client.query('delete from artifacts where task_key = $1', [taskKey]);
    await removals.settle({ ...one!, markedAtMs: one!.markedAtMs - 1_000 });
    await removals.settle({ ...other!, markedAtMs: other!.markedAtMs - 1_000 });
    expect(await marks()).toEqual([one!.sha256]);
  });

  it('is made for a workspace that is replaced or dropped', async () => {
    const taskKey = newTaskKey();
    await client.query(
      `insert into workspaces (task_key, tenant, sha256, size, run_no, updated_at)
       values ($1, 'acme', $2, 1, 1, clock_timestamp())`,
      [taskKey, sha('3')],
    );
    await client.query('update workspaces set sha256 = $2 where task_key = $1', [taskKey, sha('4')]);
    expect(await marks()).toEqual([sha('3')]);
    await client.query('delete from workspaces where task_key = $1', [taskKey]);
    await hasten();
    expect(await due()).toEqual([sha('3'), sha('4')]);
  });
});
