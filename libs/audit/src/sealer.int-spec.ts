import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { Database, PgAuditTrail } from '#lib/persistence';
import { auditEntry, mintAuditKey, openSealer } from '../../../test/support/audit.js';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { until } from '../../../test/support/until.js';
import { isSignedBy, parseHeadKeys } from './head.js';
import { Sealer } from './sealer.js';

const INSERT = `insert into audit_records (id, tenant, principal, key_id, action, target, outcome, details, request_id)
  values (gen_random_uuid(), 'acme', 'ann', 'k1', 'task.submit', $1, 'allowed', '{}', 'r')`;

const IS_DUE = `select from audit_state s where exists (
  select from audit_records r where r.xid >= s.mark and r.xid < pg_snapshot_xmin(pg_current_snapshot()))`;

describe('the sealer', () => {
  let testDatabase: TestDatabase;
  let owner: pg.Client;
  let database: Database;
  let trail: PgAuditTrail;
  const closers: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    testDatabase = await createDatabase();
    owner = await connect();
    database = new Database({ databaseUrl: testDatabase.url, max: 2, name: 'test' });
    trail = new PgAuditTrail(database, new SilentLogger());
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
    await trail.close();
    await database.close();
    await testDatabase.drop();
  });

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: testDatabase.url, options: '-c search_path=switchyard' });
    await client.connect();
    closers.push(() => client.end());
    return client;
  }
  function open(options: Parameters<typeof openSealer>[1] = {}): ReturnType<typeof openSealer> {
    const opened = openSealer(testDatabase.url, options);
    closers.push(opened.close);
    return opened;
  }
  const rows = async <T>(sql: string): Promise<T[]> => (await owner.query(sql)).rows as T[];
  const sealed = async (): Promise<string[]> =>
    (
      await rows<{ target: string }>(
        'select target from audit_leaf l join audit_records r on r.id = l.record_id order by leaf_no',
      )
    ).map(({ target }) => target);
  const record = (...targets: string[]): Promise<void> => trail.record(targets.map((target) => auditEntry({ target })));

  it('puts nothing past a transaction that is still open, and what that commits goes in its place', async () => {
    const { sealer, ledger } = open();
    await record('before');
    const late = await connect();
    await late.query('begin');
    await late.query(INSERT, ['held']);
    await record('after 1', 'after 2');
    await until(async () => (await sealer.run(), (await sealed()).length > 0));
    await sealer.run();
    expect(await sealed()).toEqual(['before']);
    expect(await ledger.lagSeconds()).toBeGreaterThan(0);
    await late.query(INSERT, ['held too']);
    await late.query('commit');
    await until(async () => (await sealer.run(), (await sealed()).length >= 5));
    const order = await sealed();
    expect([order[0], order.slice(1, 3).sort(), order.slice(3).sort()]).toEqual([
      'before',
      ['held', 'held too'],
      ['after 1', 'after 2'],
    ]);
    expect(await rows('select leaf_no::int from audit_leaf order by 1')).toEqual(
      [0, 1, 2, 3, 4].map((leaf_no) => ({ leaf_no })),
    );
  });

  it('leaves out what was rolled back', async () => {
    const { sealer } = open();
    const client = await connect();
    await client.query('begin');
    await client.query(INSERT, ['undone']);
    await client.query('rollback');
    await record('done');
    await until(async () => (await sealer.run(), (await sealed()).length > 0));
    expect(await sealed()).toEqual(['done']);
  });

  it('makes one chain of what several seal at once, in batches and over restarts, signed by a key that is not stored', async () => {
    const key = mintAuditKey();
    const sealers = [1, 2, 3].map(() => open({ signer: key.signer }).sealer);
    for (let batch = 0; batch < 6; batch += 1) {
      await record(...Array.from({ length: 150 }, (_, n) => `t-${batch}-${n}`));
      await Promise.all([...sealers, open({ signer: key.signer }).sealer].map((sealer) => sealer.run()));
    }
    await until(async () => (await sealers[0]!.run(), (await sealed()).length === 900));
    expect(sealers.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined]);
    const leaves = await rows<{ n: number; holes: number; twice: number }>(
      `select count(*)::int as n, (max(leaf_no) + 1 - count(*))::int as holes, (count(*) - count(distinct record_id))::int as twice from audit_leaf`,
    );
    expect(leaves).toEqual([{ n: 900, holes: 0, twice: 0 }]);
    expect(await rows('select level, no::int from audit_nodes order by 1, 2')).toEqual(
      [0, 1, 2].map((no) => ({ level: 8, no })),
    );
    const { ledger } = open();
    const heads = await ledger.headsAfter(0, 1_000);
    const [publicKey] = parseHeadKeys(key.publicPem)!;
    expect(heads.every((head) => isSignedBy(head, publicKey!))).toBe(true);
    expect(heads.at(-1)?.size).toBe(900);
    expect(await rows(`select public_key from audit_keys`)).toEqual([{ public_key: key.publicPem }]);
    expect(await ledger.lagSeconds()).toBe(0);
  });

  it('seals nothing by halves or twice when its connection, and with it the lock, dies before the end', async () => {
    const logger = new SilentLogger();
    const killed = open({ logger });
    const other = open();
    await record('a');
    await until(async () => (await killed.sealer.run(), (await sealed()).length === 1));
    const seal = killed.ledger.seal.bind(killed.ledger);
    for (const moment of ['before', 'after'] as const) {
      // It still believes that it may write.
      jest.spyOn(killed.ledger, 'seal').mockImplementationOnce((work) =>
        seal(async (session) => {
          const end = async (): Promise<unknown> =>
            owner.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'switchyard sealer'
              and datname = current_database() and xact_start is not null`);
          const write: typeof session.write = async (what) => {
            if (moment === 'before') await end();
            await session.write(what);
            if (moment === 'after') await end();
          };
          return work({ ...session, write });
        }),
      );
      await record(`b ${moment}`);
      await until(async () => (await owner.query(IS_DUE)).rowCount === 1);
      await expect(killed.sealer.run()).rejects.toMatchObject({ code: 'unavailable' });
      await Promise.all([killed.sealer.run(), other.sealer.run()]);
    }
    await until(async () => (await killed.sealer.run(), (await sealed()).length === 3));
    expect(await sealed()).toEqual(['a', 'b before', 'b after']);
    expect([logger.lines, killed.sealer.fault]).toEqual([[], undefined]);
  });

  it('seals without a key as well, and says in each head that nobody signed it', async () => {
    const { sealer, ledger } = open();
    await record('a');
    await until(async () => (await sealer.run(), (await sealed()).length === 1));
    expect(await ledger.headsAfter(0, 10)).toMatchObject([{ no: 1, size: 1, kid: null, signature: null }]);
  });

  it('seals what is left first when it wakes up in another cluster, as after a restore, and nothing twice', async () => {
    const { sealer } = open();
    await record('old 1', 'old 2');
    await until(async () => (await sealer.run(), (await sealed()).length === 2));
    await record('left 1');
    // What a restore comes to: transaction ids of another cluster, higher than any here.
    await owner.query(`update audit_state set system = '1', mark = '18446744073709551000'`);
    await record('new');
    await until(async () => (await sealer.run(), (await sealed()).length === 4));
    const order = await sealed();
    expect([order.slice(0, 2).sort(), order.slice(2)]).toEqual([
      ['old 1', 'old 2'],
      ['left 1', 'new'],
    ]);
    await record('newer');
    await until(async () => (await sealer.run(), (await sealed()).length === 5));
  });

  it('dates no head before its own time, whatever the clock of the database is set to', async () => {
    const { ledger, close } = openSealer(testDatabase.url, { daysAgo: 500 });
    closers.push(close);
    await record('a');
    await until(
      async () => (await new Sealer(ledger, new SilentLogger(), undefined).run(), (await sealed()).length === 1),
    );
    const [head] = await ledger.headsAfter(0, 1);
    expect(Math.abs(Date.parse(head!.at) - Date.now())).toBeLessThan(60_000);
  });

  it('says so when what it has sealed is gone, and goes on from what is there', async () => {
    const logger = new SilentLogger();
    const { sealer, ledger } = open({ logger });
    await record('a');
    await until(async () => (await sealer.run(), (await sealed()).length === 1));
    await record('b');
    await until(async () => (await sealer.run(), (await sealed()).length === 2));
    const [head] = await ledger.headsAfter(0, 1);
    await owner.query(`set session_replication_role = replica; delete from audit_leaf where leaf_no = 1; delete from audit_heads where size = 2;
      delete from audit_records where target = 'b'; update audit_state set size = 1, mark = '${head!.mark}'`);
    await record('c');
    await until(async () => (await sealer.run(), (await sealed()).length === 2));
    expect(logger.lines).toMatchObject([{ level: 'error', fields: { size: 1, sealed: 2 } }]);
    expect(await sealed()).toEqual(['a', 'c']);
  });

  it.each([
    ['a leaf', `update audit_leaf set digest = overlay(digest placing '\\x00'::bytea from 1) where leaf_no = 1`],
    ['a head', `update audit_heads set root = sha256('x')`],
    ['the count', `update audit_state set size = 1`],
  ])('builds on no tree in which somebody has altered %s, and says so', async (_what, sql) => {
    const key = mintAuditKey();
    await record('a', 'b', 'c');
    const first = open({ signer: key.signer }).sealer;
    await until(async () => (await first.run(), (await sealed()).length === 3));
    await owner.query(`set session_replication_role = replica; ${sql}`);
    const logger = new SilentLogger();
    const next = open({ signer: key.signer, logger }).sealer;
    await record('d');
    await until(async () => (await next.run(), next.fault !== undefined));
    expect(logger.lines).toMatchObject([{ level: 'error' }]);
    expect(await sealed()).toHaveLength(3);
  });

  it('builds on no head that a key it does not know has signed', async () => {
    const first = open({ signer: mintAuditKey().signer }).sealer;
    await record('a');
    await until(async () => (await first.run(), (await sealed()).length === 1));
    const next = open({ signer: mintAuditKey().signer }).sealer;
    await record('b');
    await until(async () => (await next.run(), next.fault !== undefined));
    expect(next.fault).toMatch(/AUDIT_KEY_FILE/);
  });
});

describe('the role of the application', () => {
  it('can neither write the tree nor change what is sealed, and that of the sealer cannot write records', async () => {
    const testDatabase = await createDatabase();
    const client = new pg.Client({ connectionString: testDatabase.url, options: '-c search_path=switchyard' });
    await client.connect();
    const refused = async (role: string, sql: string): Promise<string | undefined> => {
      await client.query('begin');
      await client.query(`set local role ${role}`);
      const code = await client.query(sql).then(
        () => 'done',
        (error: { code?: string }) => error.code,
      );
      await client.query('rollback');
      return code;
    };
    const tree = ['audit_leaf', 'audit_nodes', 'audit_heads', 'audit_keys', 'audit_state'];
    const app = [
      ...tree.flatMap((table) => [`insert into ${table} default values`, `delete from ${table}`, `truncate ${table}`]),
      'update audit_records set target = target',
      'delete from audit_records',
      'truncate audit_records',
      'update events set payload = payload',
      'delete from events',
      'truncate events',
    ];
    const sealer = [
      'insert into audit_records default values',
      'update audit_records set target = target',
      'update audit_leaf set digest = digest',
      'delete from audit_heads',
      'truncate audit_leaf',
      'select from api_keys',
      'select from secrets',
    ];
    const answers = [
      ...(await sequence(app.map((sql) => () => refused('switchyard_app', sql)))),
      ...(await sequence(sealer.map((sql) => () => refused('switchyard_sealer', sql)))),
    ];
    expect(new Set(answers)).toEqual(new Set(['42501']));
    await client.end();
    await testDatabase.drop();
  });
});

async function sequence<T>(steps: readonly (() => Promise<T>)[]): Promise<T[]> {
  const answers: T[] = [];
  for (const step of steps) answers.push(await step());
  return answers;
}
