import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import type { AuditFilter, AuditPruning, DuePruning } from '#lib/domain';
import { Database, PgAuditPruningLedger, PgAuditReader, PgRetention, SEALER_ROLE } from '#lib/persistence';
import { ownerClient } from '../../../test/support/aged-task.js';
import { mintAuditKey, openSealer, timeAgo } from '../../../test/support/audit.js';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { until } from '../../../test/support/until.js';
import { exportLines } from './export.js';
import { describe as inWords } from './findings.js';
import { parseHeadKeys } from './head.js';
import { consistencyProof, inclusionProof, isIncluded } from './merkle.js';
import { AuditPruner } from './pruner.js';
import { hashesFrom } from './tree.reader.js';
import { ExportVerifier, type Verdict } from './verify.js';

const key = mintAuditKey();
const keys = parseHeadKeys(key.publicPem)!;

let test: TestDatabase;
let owner: pg.Client;
let database: Database;
let sealerDatabase: Database;
let reader: PgAuditReader;
let retention: PgRetention;

beforeEach(async () => {
  test = await createDatabase();
  owner = await ownerClient(test.url);
  database = new Database({ databaseUrl: test.url, max: 1, name: 'test' });
  sealerDatabase = new Database({ databaseUrl: test.url, max: 1, name: 'sealer', role: SEALER_ROLE });
  reader = new PgAuditReader(database);
  retention = new PgRetention(database);
});

afterEach(async () => {
  await owner.end();
  await database.close();
  await sealerDatabase.close();
  await test.drop();
});

/** So many records of that age, of each tenant in turn, sealed when they were new. */
async function sealed(count: number, days: number, tenants: readonly string[] = ['acme']): Promise<void> {
  const { sealer, ledger, close } = openSealer(test.url, { signer: key.signer, daysAgo: days });
  await owner.query(
    `insert into audit_records (id, at, tenant, principal, key_id, action, target, outcome, details, request_id)
    select (left(partition_bound(a.at)::text, 14) || substr(gen_random_uuid()::text, 15))::uuid, a.at,
      ($3::text[])[n % cardinality($3::text[]) + 1], 'ann', 'k1', 'task.submit', 't-' || n, 'allowed', '{}', 'r'
    from generate_series(0, $1::int - 1) n, lateral (select clock_timestamp() - make_interval(days => $2::int) as at) a`,
    [count, days, tenants],
  );
  await until(async () => (await sealer.run(), (await ledger.lagSeconds()) === 0));
  await close();
}

/** What a gateway says of what is past its time, as if it had been said two hours ago. */
class Ledger extends PgAuditPruningLedger {
  override async due(kids?: readonly string[]): Promise<readonly DuePruning[]> {
    return (await super.due(kids)).map((due) => ({ ...due, at: timeAgo(2) }));
  }
}

async function declare(nowMs = Date.now): Promise<AuditPruner> {
  const pruner = new AuditPruner(new Ledger(sealerDatabase), new SilentLogger(), key.signer, nowMs);
  await pruner.runOnce();
  return pruner;
}

async function remove(): Promise<number> {
  let sum = 0;
  for (let step = await retention.pruneAudit(256); step > 0; step = await retention.pruneAudit(256)) sum += step;
  return sum;
}

async function verified(filter: AuditFilter = {}, keepDays?: number): Promise<Verdict & { readonly words: string[] }> {
  const verifier = new ExportVerifier({ keys, checkpoints: [], keepDays });
  let lines = 0;
  for await (const page of exportLines(reader, filter)) {
    for (const line of page) verifier.add(JSON.parse(JSON.stringify(line)), (lines += 1));
  }
  const verdict = verifier.end();
  return { ...verdict, words: verdict.findings.map(inWords) };
}

async function count(text: string): Promise<number> {
  return (await owner.query<{ n: number }>(`select count(*)::int as n from ${text}`)).rows[0]!.n;
}

/** What a superuser does. */
const tamper = (...statements: string[]): Promise<unknown> =>
  owner.query(['set session_replication_role = replica', ...statements, 'reset session_replication_role'].join('; '));

describe('audit records that are past their time', () => {
  it('are removed once that was said and signed, and what is left verifies and says which they were', async () => {
    await sealed(600, 500, ['acme', 'other']);
    await sealed(100, 100, ['acme', 'other']);
    await declare();
    expect(await remove()).toBe(600 + 512);
    expect(await count(`audit_records where at < clock_timestamp() - interval '1 day'`)).toBe(100);
    expect([await count('audit_leaf'), await count('audit_heads')]).toEqual([188, 2]);
    const verdict = await verified();
    expect(verdict.words).toEqual([]);
    expect(verdict).toMatchObject({ records: 100, pruned: 600, header: { first: 512, size: 700 } });
    expect(verdict.prunings).toMatchObject([{ tenant: null, size: 600, days: 400, kid: keys[0]!.kid }]);
    // Somebody who asks for one tenant has those of it that are hashed one by one named.
    const [acme, other] = [await verified({ tenant: 'acme' }), await verified({ tenant: 'other' })];
    expect([acme.words, acme.records, other.words, other.records]).toEqual([[], 50, [], 50]);
    expect(acme.pruned + other.pruned).toBe(600 - 512);
    expect(await verified({ target: 't-7' })).toMatchObject({ words: [], records: 1 });
    // That it was done is on record, by whom nobody asked.
    const { rows } = await owner.query(`select tenant, principal, details from audit_records where action = 'audit.prune' order by id`); // prettier-ignore
    expect(rows.map(({ details }) => JSON.parse(details as string) as object)).toContainEqual({ records: 256, leaves: 0, heads: 0 }); // prettier-ignore
    expect(rows).toHaveLength(5);
    expect(rows[0]).toMatchObject({ tenant: '*', principal: 'system' });
    // Another gateway goes on from there, and proves what is left.
    await sealed(10, 0);
    expect((await verified()).words).toEqual([]);
    const head = (await reader.head())!;
    const [leaf] = await reader.leaves({}, 600, 601);
    const { leafHash } = await import('./digest.js');
    const proof = await inclusionProof(600, head.size, hashesFrom(reader.tree));
    const tree = { size: head.size, root: Buffer.from(head.root, 'hex') };
    expect(isIncluded({ no: 600, hash: leafHash(leaf!.digest) }, tree, proof)).toBe(true);
    await expect(consistencyProof(600, head.size, hashesFrom(reader.tree))).resolves.toBeDefined();
  });

  it('go by the days of their tenant, and those of others beside them stay and are still proved', async () => {
    await owner.query(`insert into audit_terms values ('short', 30), ('long', 800)`);
    await sealed(300, 900, ['acme']);
    await sealed(300, 500, ['acme', 'short', 'long']);
    await sealed(300, 100, ['acme', 'short', 'long']);
    await sealed(30, 1, ['acme', 'short', 'long']);
    await declare();
    await remove();
    const days = `(extract(day from clock_timestamp() - at))::int`;
    const { rows } = await owner.query(
      `select tenant, ${days} as days, count(*)::int as n from audit_records where tenant <> '*' group by 1, 2 order by 1, 2`,
    );
    expect(rows.map((row) => [row.tenant, row.days, row.n])).toEqual([
      ['acme', 1, 10],
      ['acme', 100, 100],
      ['long', 1, 10],
      ['long', 100, 100],
      ['long', 500, 100],
      ['short', 1, 10],
    ]);
    const verdict = await verified();
    expect(verdict).toMatchObject({ words: [], records: 330, pruned: 600 });
    expect(verdict.prunings.map(({ tenant, size, days: kept }) => [tenant, size, kept])).toEqual([
      [null, 300, 800],
      ['acme', 600, 400],
      ['short', 900, 30],
    ]);
    // An auditor of one tenant hears of no other.
    const names = (await reader.prunings('short')).map(({ tenant }) => tenant);
    expect([names, (await verified({ tenant: 'short' })).words]).toEqual([[null, 'short'], []]);
    // One of another tenant in the same range is not covered by it.
    const { rows: victims } = await owner.query<{ leaf_no: number; id: string }>(
      `select leaf_no::int, id from audit_leaf join audit_records on id = record_id where audit_records.tenant = 'long' and leaf_no < 600 limit 1`,
    );
    await tamper(`delete from audit_records where id = '${victims[0]!.id}'`);
    expect((await verified()).words).toEqual([`record ${victims[0]!.leaf_no} (${victims[0]!.id}) is missing`]);
  });

  it('are missed by the verifier when anybody else removes them, wholly or in part', async () => {
    await sealed(700, 300);
    await tamper(
      'delete from audit_records where id in (select record_id from audit_leaf where leaf_no < 256)',
      'delete from audit_leaf where leaf_no < 256',
    );
    expect((await verified()).words).toEqual(['records 0 to 255 are missing']);
    // Nor is it forgiven because somebody says so.
    const said: AuditPruning = {
      ...{ log: (await reader.head())!.log, tenant: null, size: 256, root: '00', days: 1 },
      ...{ sealedAt: timeAgo(7_200), at: timeAgo(2), kid: keys[0]!.kid, signature: 'AAAA' },
    };
    await new Ledger(sealerDatabase).declare(said);
    expect((await verified()).words).toEqual([
      'records 0 to 255 are missing',
      'it is said that records 0 to 255 are not kept any longer, but not by who may say so',
    ].sort()); // prettier-ignore
    await tamper('update audit_prunings set kid = null, signature = null');
    expect((await verified()).words.join()).toContain('but that is not signed');
  });

  it('are named when more of them are gone than was said', async () => {
    await sealed(300, 500);
    await sealed(300, 100);
    await declare();
    await remove();
    expect((await verified()).words).toEqual([]);
    await tamper(
      'delete from audit_records where id in (select record_id from audit_leaf where leaf_no < 512)',
      'delete from audit_leaf where leaf_no < 512',
    );
    expect((await verified()).words).toEqual(['records 300 to 511 are missing']);
    await tamper('update audit_prunings set size = 512');
    expect((await verified()).words.sort()).toEqual([
      'it is said that records 0 to 511 are not kept any longer, but not by who may say so',
      'records 0 to 511 are missing',
    ]);
  });

  it('are held against the days an auditor expects, and against the time at which they were sealed', async () => {
    await sealed(256, 500);
    await declare();
    expect((await verified({}, 400)).words).toEqual([]);
    expect((await verified({}, 401)).words).toEqual([
      'it is said that records 0 to 255 are not kept any longer, after 400 days already',
    ]);
    const [said] = await reader.prunings();
    const early = key.signer.signPruning({ ...said!, sealedAt: timeAgo(399 * 24), size: 257 });
    await new Ledger(sealerDatabase).declare(early);
    expect((await verified()).words).toEqual([
      'it is said that records 0 to 256 are not kept any longer, before their 400 days were over',
    ]);
  });
});

describe('nothing is removed', () => {
  it('within the hour after it was said, nor before it was said at all', async () => {
    await sealed(256, 500);
    expect(await remove()).toBe(0);
    await new AuditPruner(new PgAuditPruningLedger(sealerDatabase), new SilentLogger(), key.signer).runOnce();
    expect(await remove()).toBe(0);
    expect(await count('audit_prunings')).toBe(1);
  });

  it('of what is younger, even if somebody with the role of the sealer says that it may go', async () => {
    await sealed(300, 100);
    const said = {
      log: (await reader.head())!.log,
      tenant: null,
      size: 300,
      root: '00',
      days: 1,
      kid: null,
      signature: null,
    };
    await new Ledger(sealerDatabase).declare({ ...said, sealedAt: timeAgo(24_000), at: timeAgo(2) });
    expect([await remove(), await count('audit_records'), await count('audit_leaf')]).toEqual([0, 300, 300]);
  });

  it('by a clock of the database that has run ahead of that of the process', async () => {
    await sealed(256, 500);
    const pruner = await declare(() => Date.now() - 200 * 86_400_000);
    expect([pruner.fault, await count('audit_prunings')]).toEqual([
      'the database has another time than this process',
      0,
    ]);
  });

  it.each([
    ['the age of a head', `update audit_heads set at = at - interval '400 days'`, /signature that is not its own/],
    ['the tree', `update audit_leaf set digest = sha256('x') where leaf_no = 270`, /the tree is not that of its head/],
    ['the tree by a piece', `delete from audit_nodes`, /lacks hashes/],
  ])('when somebody has altered %s', async (what, sql, fault) => {
    await sealed(300, what === 'the age of a head' ? 100 : 500);
    await tamper(sql);
    const pruner = await declare();
    expect([pruner.fault, await count('audit_prunings')]).toEqual([expect.stringMatching(fault), 0]);
  });

  it('by a head that nobody known has signed, where there is a key', async () => {
    await sealed(300, 100);
    await tamper(`update audit_heads set at = at - interval '400 days', kid = null, signature = null`);
    const pruner = await declare();
    expect([pruner.fault, await count('audit_prunings')]).toEqual([undefined, 0]);
  });

  it('by the owner, unless it removes the triggers first', async () => {
    await sealed(256, 500);
    for (const [table, column] of Object.entries({
      audit_records: 'target',
      audit_leaf: 'digest',
      audit_heads: 'root',
      audit_nodes: 'hash',
      audit_keys: 'public_key',
    })) {
      for (const sql of [`delete from ${table}`, `truncate ${table}`, `update ${table} set ${column} = ${column}`]) {
        const code = await owner.query(sql).then(() => 'done', (error: { code: string }) => error.code); // prettier-ignore
        expect([sql, code]).toEqual([sql, '42501']);
      }
    }
  });

  it('by the role of the application or of the sealer in any other way', async () => {
    await sealed(3, 500);
    const refused = async (role: string, sql: string): Promise<unknown> => {
      await owner.query(`begin; set local role ${role}; set local switchyard.pruning to 'on'`);
      const code = await owner.query(sql).then(() => 'done', (error: { code: string }) => error.code); // prettier-ignore
      await owner.query('rollback');
      return [sql, code];
    };
    const app = [
      'delete from audit_records',
      'delete from audit_leaf',
      'delete from audit_heads',
      'delete from audit_prunings',
      'update audit_prunings set size = 3',
      `update audit_terms set days = 1`,
      // When something was done, and in which transaction, is not for a process to say.
      `insert into audit_records (id, at, tenant, principal, key_id, action, target, outcome, details, request_id)
        values (gen_random_uuid(), '2020-01-01', 't', 'p', 'k', 'a', 't', 'allowed', '{}', 'r')`,
      `insert into audit_records (id, xid, tenant, principal, key_id, action, target, outcome, details, request_id)
        values (gen_random_uuid(), '5', 't', 'p', 'k', 'a', 't', 'allowed', '{}', 'r')`,
    ];
    const sealer = [
      'select * from prune_audit(500)',
      'delete from audit_records',
      'delete from audit_leaf',
      'delete from audit_heads',
      'delete from audit_prunings',
      'update audit_terms set days = 1',
    ];
    for (const sql of app) expect(await refused('switchyard_app', sql)).toEqual([sql, '42501']);
    for (const sql of sealer) expect(await refused('switchyard_sealer', sql)).toEqual([sql, '42501']);
  });
});
