import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DEFAULT_POLICY } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { Database } from '../database.js';
import { PgAgentStore } from './pg-agent-store.js';
import { PgDatabaseHealth } from './pg-database-health.js';
import { PgPartitions } from './pg-partitions.js';
import { PgSecretStore } from './pg-secret-store.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 2, name: 'test' });
});

afterAll(async () => {
  await database.close();
  await test.drop();
});

const query = (text: string, values: readonly unknown[] = []): Promise<unknown[]> =>
  database.query({ name: '', text }, values);

const agent = (description: string) => ({ id: 'a', description });
const audit = {
  tenant: 't',
  principal: 'p',
  keyId: 'k',
  action: 'agent.put',
  target: 'a',
  outcome: 'allowed',
  details: '{"n":1}',
  requestId: 'r',
} as const;

describe('agents', () => {
  it('are taken from a file once per digest, by one of two gateways', async () => {
    const store = new PgAgentStore(database);
    const applied = await Promise.all([store.applyFile('d1', [agent('one')]), store.applyFile('d1', [agent('one')])]);
    expect(applied.sort()).toEqual([false, true]);
    const [first] = await store.all();
    expect(first).toEqual({
      id: 'a',
      source: agent('one'),
      version: expect.any(Number),
      updatedAtMs: expect.any(Number),
    });
    await store.applyFile('d2', [agent('two')]);
    const [second] = await store.all();
    expect(second?.source).toEqual(agent('two'));
    expect(second!.version).toBeGreaterThan(first!.version);
  });

  it('come back with an older file, and go with one that does not name them', async () => {
    const store = new PgAgentStore(database);
    await store.applyFile('d3', [agent('three'), { ...agent('other'), id: 'b' }]);
    await store.applyFile('d4', [agent('four')]);
    expect(await store.all()).toMatchObject([{ id: 'a', source: agent('four') }]);
    expect(await store.applyFile('d3', [agent('three'), { ...agent('other'), id: 'b' }])).toBe(true);
    expect(await store.all()).toMatchObject([{ source: agent('three') }, { id: 'b' }]);
    expect(await store.applyFile('d5', [])).toBe(true);
    expect(await store.all()).toEqual([]);
  });

  it('are changed with the record of it, or neither', async () => {
    const store = new PgAgentStore(database);
    await store.applyFile('d6', [agent('six')]);
    const [before] = await store.all();
    const records = (): Promise<unknown[]> =>
      query(
        `select tenant, principal, key_id, action, target, outcome, details, request_id from audit_records
        where action <> 'agents.apply_file'`,
      );
    const refusal = store.change((agents) => {
      expect(agents).toEqual([before]);
      throw new Error('no');
    });
    await expect(refusal).rejects.toThrow('no');
    expect([await store.all(), await records()]).toEqual([[before], []]);
    const edit = { id: 'a', source: agent('seven'), replaces: before!.version, audit };
    const after = await store.change(() => edit);
    expect([await store.all(), after.version > before!.version]).toEqual([[after], true]);
    // Based on a version that is gone, or on none where there is one, it is not written, whatever was decided.
    await expect(store.change(() => edit)).rejects.toThrow('changed');
    await expect(store.change(() => ({ ...edit, replaces: undefined }))).rejects.toThrow('changed');
    await expect(store.change(() => ({ ...edit, id: 'b' }))).rejects.toThrow('changed');
    expect([await store.all(), await records()]).toEqual([
      [after],
      [
        {
          tenant: 't',
          principal: 'p',
          key_id: 'k',
          action: 'agent.put',
          target: 'a',
          outcome: 'allowed',
          details: '{"n":1}',
          request_id: 'r',
        },
      ],
    ]);
  });

  it('are changed one after the other: nobody decides on what another is about to change', async () => {
    const store = new PgAgentStore(database);
    const add = (n: number): Promise<unknown> =>
      store.change((agents) => ({ id: `n${n}-${agents.length}`, source: { n }, audit }));
    await store.applyFile('d7', []);
    await Promise.all(Array.from({ length: 8 }, (_, n) => add(n)));
    const places = (await store.all()).map(({ id }) => Number(id.split('-')[1]));
    expect(places.sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await store.applyFile('d8', []);
  });

  it('that were removed come back under a version they never had', async () => {
    const store = new PgAgentStore(database);
    const first = await store.change(() => ({ ...agent('one'), source: agent('one'), audit }));
    await store.applyFile('d9', []);
    const again = await store.change(() => ({ ...agent('two'), source: agent('two'), audit }));
    expect(again.version).toBeGreaterThan(first.version);
    await store.applyFile('d10', []);
  });

  it('keep one backend version per content, append-only', async () => {
    const store = new PgAgentStore(database);
    const backend = {
      agentId: 'a',
      runner: 'r',
      pool: 'r',
      options: { x: 1 },
      policy: { ...DEFAULT_POLICY, tools: [] },
    };
    const [first, again] = await Promise.all([store.backendVersion(backend), store.backendVersion(backend)]);
    expect(again.id).toBe(first.id);
    expect((await store.backendVersion({ ...backend, options: { x: 2 } })).id).not.toBe(first.id);
    await expect(query('update backend_versions set runner = $1', ['z'])).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('cannot be stored in a form that would stop every claim and sweep that comes across one', async () => {
    const insert = (policy: string, options = '{}'): Promise<unknown> =>
      query(
        `insert into backend_versions (id, agent_id, runner, pool, options, policy, created_at)
        values (gen_random_uuid(), 'a', 'r', 'r', $1, $2, clock_timestamp())`,
        [options, policy],
      );
    const policy = { ...DEFAULT_POLICY, tools: [] };
    await expect(insert(JSON.stringify(policy))).resolves.toBeDefined();
    for (const bad of ['', '{', '[]', 'null', JSON.stringify({ ...policy, stallSeconds: 'soon' })])
      await expect(insert(bad)).rejects.toMatchObject({ code: expect.stringMatching(/^2[23]/) });
    await expect(insert(JSON.stringify({ ...policy, tools: 'all' }))).rejects.toMatchObject({ code: '23514' });
    await expect(insert(JSON.stringify(policy), '{"x":')).rejects.toMatchObject({ code: '22P02' });
  });
});

describe('secrets', () => {
  it('are made once, and every process gets the same', async () => {
    const store = new PgSecretStore(database);
    const values = await Promise.all([1, 2, 3].map((n) => store.getOrCreate('s', () => Buffer.alloc(4, n))));
    expect(new Set(values.map((value) => Buffer.from(value).toString('hex'))).size).toBe(1);
  });
});

describe('the database', () => {
  it('is healthy when migrated, and names what is missing', async () => {
    const health = new PgDatabaseHealth(database);
    expect(await health.faults()).toEqual([]);
    expect(await new PgPartitions(database).ensure()).toBe(0);
  });
});
