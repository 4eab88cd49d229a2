import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BlobRemoval } from '#lib/domain';
import { PgBlobRemovals, Database } from '#lib/persistence';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { MemoryBlobStore } from '../../../../test/support/memory-blob-store.js';
import { BlobsSweep } from './blobs.sweep.js';

let database: TestDatabase;
let pool: Database;
let client: pg.Client;

beforeAll(async () => {
  database = await createDatabase();
  pool = new Database({ databaseUrl: database.url, max: 2, name: 'blobs sweep test' });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('set role switchyard_app; set search_path to switchyard');
});

afterAll(async () => {
  await client?.end();
  await pool?.close();
  await database?.drop();
});

async function* bytes(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

describe('the sweep of blobs', () => {
  it('removes what was marked and is not named, and leaves what is named or was stored again', async () => {
    const blobs = new MemoryBlobStore();
    const [gone, named, again] = await Promise.all(
      ['gone', 'named', 'again'].map(async (text) => (await blobs.put('t', bytes(text))).sha256),
    );
    const name = (sha256: string, id: string): Promise<unknown> =>
      client.query(
        `insert into artifacts (artifact_id, tenant, created_by, kind, name, media_type, size, sha256, created_at)
         values ($1, 't', 'ann', 'input', 'x', 'text/plain', 1, $2, clock_timestamp())`,
        [id, sha256],
      );
    for (const [index, sha256] of [gone, named, again].entries()) await name(sha256!, `art_${index}`);
    await name(named!, 'art_9');
    await client.query("delete from artifacts where artifact_id <> 'art_9'");
    await client.query(`update blob_removals set due_at = clock_timestamp() - interval '1 s',
      marked_at = clock_timestamp() + case when sha256 = '${again}' then interval '-1 hour' else interval '1 hour' end`);

    await new BlobsSweep({ removals: new PgBlobRemovals(pool), blobs }).runOnce();

    expect([...blobs.blobs.keys()].sort()).toEqual([`t/${named}`, `t/${again}`].sort());
    expect((await client.query('select from blob_removals')).rowCount).toBe(0);
  });

  it('comes back to a blob whose removal failed', async () => {
    const removal: BlobRemoval = { tenant: 't', sha256: 'a'.repeat(64), markedAtMs: Date.now() };
    const settled: BlobRemoval[] = [];
    const removals = {
      due: async () => (settled.length === 0 ? [removal] : []),
      settle: async (done: BlobRemoval) => void settled.push(done),
    };
    const blobs = new MemoryBlobStore();
    const sweep = new BlobsSweep({ removals, blobs });
    const remove = blobs.remove.bind(blobs);
    blobs.remove = () => Promise.reject(new Error('the disk is away'));
    await expect(sweep.runOnce()).rejects.toThrow('the disk is away');
    expect(settled).toEqual([]);
    blobs.remove = remove;
    await sweep.runOnce();
    expect(settled).toEqual([removal]);
  });
});
