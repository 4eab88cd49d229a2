import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { exportLines } from '#lib/audit';
import { AUDIT_FIELDS, type AuditFilter, type StoredHead } from '#lib/domain';
import { Database, PgAuditReader, PgAuditTrail } from '#lib/persistence';
import { auditEntry, mintAuditKey, openSealer } from '../../../test/support/audit.js';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { until } from '../../../test/support/until.js';
import { run } from './main.js';

const RECORDS = 600;

let testDatabase: TestDatabase;
let owner: pg.Client;
let reader: PgAuditReader;
let folder: string;
let heads: StoredHead[];
const key = mintAuditKey();

beforeAll(async () => {
  testDatabase = await createDatabase();
  folder = await mkdtemp(path.join(tmpdir(), 'audit-'));
  owner = new pg.Client({ connectionString: testDatabase.url, options: '-c search_path=switchyard' });
  await owner.connect();
  const database = new Database({ databaseUrl: testDatabase.url, max: 1, name: 'test' });
  const trail = new PgAuditTrail(database, new SilentLogger());
  const { sealer, ledger, close } = openSealer(testDatabase.url, { signer: key.signer });
  for (let n = 0; n < RECORDS; n += 50) {
    const entries = Array.from({ length: 50 }, (_, at) =>
      auditEntry({ target: `t-${n + at}`, tenant: at % 5 === 0 ? 'other' : 'acme', requestId: `r-${n + at}` }),
    );
    await trail.record(entries);
    const sealed = async (): Promise<number> => (await ledger.headsAfter(0, 1_000)).at(-1)?.size ?? 0;
    await until(async () => (await sealer.run(), (await sealed()) === n + 50));
  }
  heads = [...(await ledger.headsAfter(0, 1_000))];
  await Promise.all([trail.close(), close()]);
  await database.close();
  // Reads in the transaction that alters, which is then rolled back.
  const query = async (statement: { text: string }, values: unknown[]): Promise<unknown[]> =>
    (await owner.query(statement.text, values)).rows;
  reader = new PgAuditReader({ query } as unknown as Database);
  await writeFile(at('pub.pem'), key.publicPem);
  await writeFile(at('heads.jsonl'), heads.map((head) => `${JSON.stringify(head)}\n`).join(''));
});

afterAll(async () => {
  await owner.end();
  await rm(folder, { recursive: true });
  await testDatabase.drop();
});

const at = (name: string): string => path.join(folder, name);

interface Outcome {
  readonly code: number;
  readonly text: string;
}

async function verify(lines: string, ...options: string[]): Promise<Outcome> {
  await writeFile(at('export.jsonl'), lines);
  return cli('audit', 'verify', at('export.jsonl'), ...(options.length > 0 ? options : ['--key', at('pub.pem')]));
}

async function cli(...args: string[]): Promise<Outcome> {
  let text = '';
  const write = (part: string): void => void (text += part);
  return { code: await run(args, { out: write, err: write, colours: false }), text };
}

async function exported(filter: AuditFilter = {}): Promise<string> {
  let text = '';
  for await (const page of exportLines(reader, filter)) for (const line of page) text += `${JSON.stringify(line)}\n`;
  return text;
}

/** What a superuser has done, exported; it is undone afterwards. */
async function after(...statements: string[]): Promise<string> {
  await owner.query('begin; set local session_replication_role = replica');
  try {
    for (const statement of statements) await owner.query(statement);
    return await exported();
  } finally {
    await owner.query('rollback');
  }
}

const RECORD_AT = (leaf: number): string => `(select record_id from audit_leaf where leaf_no = ${leaf})`;
const firstOf = ({ text }: Outcome): string | undefined => /^→ (.*)$/m.exec(text)?.[1];
const idOf = async (leaf: number): Promise<string> =>
  ((await owner.query<{ id: string }>(`select ${RECORD_AT(leaf)}::text as id`)).rows[0] as { id: string }).id;

describe('an export nobody has touched', () => {
  it('verifies, against the heads that were kept elsewhere too', async () => {
    const outcome = await verify(await exported(), '--key', at('pub.pem'), '--heads', at('heads.jsonl'));
    expect(outcome).toMatchObject({ code: 0, text: expect.stringContaining('✓ The audit trail is what was sealed.') });
    expect(outcome.text).toContain(`${RECORDS} of ${RECORDS}`);
    expect(outcome.text).toContain(`${heads.length} of ${heads.length} compared`);
  });

  it('of one tenant verifies as well, and shows nothing of others', async () => {
    const text = await exported({ tenant: 'other' });
    expect(text).not.toContain('acme');
    const outcome = await verify(text);
    expect([outcome.code, outcome.text]).toEqual([0, expect.stringContaining('120 of 600 (a part was asked for)')]);
  });

  it('of one record verifies as well', async () => {
    const text = await exported({ target: 't-333' });
    expect(text.split('\n').length).toBeLessThan(30);
    expect((await verify(text)).code).toBe(0);
  });

  it('says so in JSON when asked', async () => {
    const { text } = await verify(await exported(), '--key', at('pub.pem'), '--json');
    expect(JSON.parse(text)).toMatchObject({ verified: true, records: RECORDS, unsealed: 0, findings: [] });
  });
});

describe('a superuser who', () => {
  const VALUES: Partial<Record<string, string>> = {
    id: 'gen_random_uuid()',
    at: `at + interval '1 microsecond'`,
    xid: `'1'::xid8`,
  };

  it.each(AUDIT_FIELDS.filter((field) => field !== 'id'))(
    'alters %s of a record is found out, by name',
    async (field) => {
      const text = await after(
        `update audit_records set ${field} = ${VALUES[field] ?? `${field} || 'x'`} where id = ${RECORD_AT(17)}`,
      );
      const outcome = await verify(text);
      expect([outcome.code, firstOf(outcome)]).toEqual([1, `record 17 (${await idOf(17)}) is altered: ${field}`]);
    },
  );

  it('alters the id of a record is found out: the one is missing, the other was put in', async () => {
    const id = await idOf(17);
    const text = await after(`update audit_records set id = gen_random_uuid() where id = '${id}'`);
    const outcome = await verify(text);
    expect([outcome.code, firstOf(outcome)]).toEqual([1, `record 17 (${id}) is missing`]);
    expect(outcome.text).toContain('was inserted behind the seal');
  });

  it('alters a record and its digest is found out: the root is not the one that was signed', async () => {
    const text = await after(
      `update audit_records set target = 'other' where id = ${RECORD_AT(17)}`,
      `update audit_leaf set digest = (select digest from audit_leaf where leaf_no = 18) where leaf_no = 17`,
    );
    expect(await verify(text)).toMatchObject({ code: 1, text: expect.stringContaining('record 17') });
  });

  it('deletes a record is found out', async () => {
    const id = await idOf(42);
    const outcome = await verify(await after(`delete from audit_records where id = '${id}'`));
    expect([outcome.code, firstOf(outcome)]).toEqual([1, `record 42 (${id}) is missing`]);
  });

  it('deletes a record and its leaf is found out', async () => {
    const outcome = await verify(
      await after(`delete from audit_records where id = ${RECORD_AT(42)}`, 'delete from audit_leaf where leaf_no = 42'),
    );
    expect([outcome.code, firstOf(outcome)]).toEqual([1, 'record 42 is missing']);
  });

  it('deletes a record, its leaf, and closes the gap is found out', async () => {
    const outcome = await verify(
      await after(
        `delete from audit_records where id = ${RECORD_AT(42)}`,
        'delete from audit_leaf where leaf_no = 42',
        'update audit_leaf set leaf_no = -leaf_no where leaf_no > 42',
        'update audit_leaf set leaf_no = -leaf_no - 1 where leaf_no < 0',
      ),
    );
    expect([outcome.code, firstOf(outcome)]).toEqual([1, 'record 42 is missing']);
  });

  it('swaps two records is found out', async () => {
    const [one, two] = [await idOf(5), await idOf(9)];
    const swapped = await after(
      `update audit_leaf set record_id = '00000000-0000-0000-0000-000000000000' where leaf_no = 5`,
      `update audit_leaf set record_id = '${one}' where leaf_no = 9`,
      `update audit_leaf set record_id = '${two}' where leaf_no = 5`,
    );
    const outcome = await verify(swapped);
    expect([outcome.code, firstOf(outcome)]).toEqual([
      1,
      `record ${two} is reordered: it stands as 5 and was sealed as 9`,
    ]);
    const renumbered = await after(
      'update audit_leaf set leaf_no = -1 where leaf_no = 5',
      'update audit_leaf set leaf_no = 5 where leaf_no = 9',
      'update audit_leaf set leaf_no = 9 where leaf_no = -1',
    );
    expect(firstOf(await verify(renumbered))).toBe(`record ${two} is reordered: it stands as 5 and was sealed as 9`);
  });

  const INSERT = `insert into audit_records (id, at, xid, tenant, principal, key_id, action, target, outcome, details, request_id)
    select '018f0000-0000-7000-8000-00000000beef', at, xid, tenant, principal, key_id, action, 'forged', outcome, details, request_id
    from audit_records where id = ${RECORD_AT(99)}`;

  it('puts a record in between is found out', async () => {
    const outcome = await verify(await after(INSERT));
    expect([outcome.code, firstOf(outcome)]).toEqual([
      1,
      'record 018f0000-0000-7000-8000-00000000beef was inserted behind the seal',
    ]);
  });

  it('puts a record in between and makes room for it is found out', async () => {
    const outcome = await verify(
      await after(
        INSERT,
        'update audit_leaf set leaf_no = -leaf_no where leaf_no >= 100',
        'update audit_leaf set leaf_no = 1 - leaf_no where leaf_no < 0',
        `insert into audit_leaf select 100, '018f0000-0000-7000-8000-00000000beef', tenant, digest from audit_leaf where leaf_no = 99`,
        'delete from audit_leaf where leaf_no = 600',
      ),
    );
    expect([outcome.code, firstOf(outcome)]).toEqual([
      1,
      'record 100 (018f0000-0000-7000-8000-00000000beef) was inserted',
    ]);
  });

  it('cuts the tail, heads and all, is found out by a head that was kept elsewhere, and by nothing else', async () => {
    const text = await after(
      'delete from audit_records where id in (select record_id from audit_leaf where leaf_no >= 550)',
      'delete from audit_leaf where leaf_no >= 550',
      'delete from audit_heads where size > 550',
      'update audit_state set size = 550',
    );
    expect((await verify(text)).code).toBe(0);
    const outcome = await verify(text, '--key', at('pub.pem'), '--heads', at('heads.jsonl'));
    expect([outcome.code, firstOf(outcome)]).toEqual([1, 'the tail is cut: records 550 to 599 are missing']);
  });

  it('writes history anew with all its hashes, without the key, is found out', async () => {
    const other = mintAuditKey();
    await owner.query('begin; set local session_replication_role = replica');
    const rewritten = await rewrite(300, other.signer.sign.bind(other.signer));
    await owner.query('rollback');
    const outcome = await verify(rewritten);
    expect(outcome.code).toBe(1);
    expect(outcome.text).toMatch(/the heads are signed by the key [0-9a-f]{16}, not by/);
    // With the real signatures put back in, the roots do not match them.
    const resigned = rewritten
      .split('\n')
      .map((line) => {
        if (!line.startsWith('{"type":"head"')) return line;
        const head = JSON.parse(line) as StoredHead;
        const real = heads.find(({ size }) => size === head.size)!;
        return JSON.stringify({ ...head, kid: real.kid, signature: real.signature });
      })
      .join('\n');
    const forged = await verify(resigned);
    expect([forged.code, firstOf(forged)]).toEqual([
      1,
      expect.stringMatching(/^the signature of the head of 350 records/),
    ]);
    const original = rewritten
      .split('\n')
      .map((line) => {
        if (!line.startsWith('{"type":"head"')) return line;
        const { size } = JSON.parse(line) as StoredHead;
        return JSON.stringify({ type: 'head', ...heads.find((head) => head.size === size) });
      })
      .join('\n');
    const named = await verify(original);
    expect([named.code, firstOf(named)]).toEqual([
      1,
      'records 300 to 349 were rewritten: they have other hashes than the head of 350 records that was signed',
    ]);
  });

  it('has made another history of the same size is found out by the head of either', async () => {
    const other = { ...heads[3]!, root: 'ab'.repeat(32) };
    const { kid, signature } = key.signer.sign(other);
    for (const [name, kept] of Object.entries({
      first: [{ ...other, kid, signature }, heads[3]],
      last: [heads[3], { ...other, kid, signature }],
    })) {
      await writeFile(at(`${name}.jsonl`), kept.map((head) => `${JSON.stringify(head)}\n`).join(''));
      const outcome = await verify(await exported(), '--key', at('pub.pem'), '--heads', at(`${name}.jsonl`));
      expect([outcome.code, firstOf(outcome)]).toEqual([1, expect.stringContaining('in the file of heads')]);
    }
  });
});

/** The export with record 300 altered and everything that follows from it hashed and signed again. */
async function rewrite(leaf: number, sign: (head: StoredHead) => object): Promise<string> {
  const { digestRecord, leafHash, TreeEdge } = await import('#lib/audit');
  const edge = TreeEdge.empty();
  const lines: string[] = [];
  for (const text of (await exported()).trimEnd().split('\n')) {
    const line = JSON.parse(text) as { type: string; leaf: number; record: never; digest: string } & StoredHead;
    if (line.type === 'record') {
      const record = line.leaf === leaf ? { ...(line.record as object), target: 'forged' } : line.record;
      const digest = digestRecord(record as never, line.leaf);
      edge.add(leafHash(digest));
      lines.push(JSON.stringify({ ...line, record, digest: digest.toString('base64') }));
    } else if (line.type === 'head') {
      const { type, no, kid: _kid, signature: _signature, ...body } = line;
      const root = Buffer.from(edge.root()).toString('hex');
      lines.push(JSON.stringify({ type, no, ...sign({ ...body, root } as unknown as StoredHead) }));
    } else lines.push(text);
  }
  return `${lines.join('\n')}\n`;
}

describe('a file that', () => {
  it('was cut off is told from a whole one', async () => {
    const lines = (await exported()).split('\n');
    const outcome = await verify(lines.slice(0, 200).join('\n'));
    expect([outcome.code, firstOf(outcome)]).toEqual([
      1,
      expect.stringMatching(/^the file ends early, at record \d+$/),
    ]);
  });

  it('has lost a line, has one twice or has two in another order is told from a whole one', async () => {
    const lines = (await exported()).split('\n');
    const place = lines.findIndex((line) => line.startsWith('{"type":"record","leaf":77,'));
    const without = await verify(lines.toSpliced(place, 1).join('\n'));
    expect([without.code, firstOf(without)]).toEqual([1, 'record 77 is missing']);
    const twice = await verify(lines.toSpliced(place, 0, lines[place]!).join('\n'));
    expect([twice.code, firstOf(twice)]).toEqual([1, expect.stringContaining('is reordered')]);
    const swapped = await verify(lines.toSpliced(place, 2, lines[place + 1]!, lines[place]!).join('\n'));
    expect([swapped.code, firstOf(swapped)]).toEqual([
      1,
      expect.stringContaining(`record ${await idOf(77)} is reordered`),
    ]);
  });

  it('has a history that was forged with all its hashes, and the true signed heads elsewhere than behind it, is found out', async () => {
    const forged = (await rewrite(300, (head) => head)).trimEnd().split('\n');
    const own = forged.filter((line) => !line.startsWith('{"type":"head"'));
    const signed = heads.map((head) => JSON.stringify({ type: 'head', ...head }));
    for (const text of [own.toSpliced(1, 0, ...signed), own.toSpliced(1, 0, signed.at(-1)!), own]) {
      const outcome = await verify(text.join('\n'));
      expect([outcome.code, firstOf(outcome)]).toEqual([1, 'the head of 600 records is not signed']);
    }
  });

  it('says of itself what it is not, or twice, is found out', async () => {
    const [first, ...rest] = (await exported()).trimEnd().split('\n');
    const header = JSON.parse(first!) as object;
    const records = rest.filter((line) => !line.startsWith('{"type":"head"')).slice(0, 20);
    const end = rest.at(-1)!;
    const claims = [
      { size: undefined },
      { size: null },
      { size: -1 },
      { size: 0 },
      { size: 20 },
      { size: '600' },
      { filter: null },
      { log: undefined },
    ];
    for (const claim of claims) {
      const outcome = await verify([JSON.stringify({ ...header, ...claim }), ...records, end].join('\n'));
      expect([claim, outcome.code]).toEqual([claim, 1]);
    }
    const hidden = JSON.stringify({ ...header, filter: { target: 'x' } });
    const subtrees = (await exported({ target: 'none' }))
      .split('\n')
      .filter((line) => line.startsWith('{"type":"subtree"'));
    const last = JSON.stringify({ type: 'head', ...heads.at(-1) });
    const twice = await verify([hidden, ...subtrees, last, first, end].join('\n'));
    expect([twice.code, firstOf(twice)]).toEqual([1, expect.stringContaining('the file has begun already')]);
    const more = (await exported()).replace('"request_id":', '"note":"x","request_id":');
    expect((await verify(more)).code).toBe(1);
  });

  it('says that it is as large as can be is checked in bounded time', async () => {
    const lines = (await exported()).split('\n');
    const place = lines.findIndex((line) => line.startsWith('{"type":"record","leaf":77,'));
    const line = JSON.parse(lines[place]!) as { digest: string };
    const digest = Buffer.from(line.digest, 'base64').fill(0, 0, 32).toString('base64');
    const header = JSON.stringify({ ...(JSON.parse(lines[0]!) as object), size: Number.MAX_SAFE_INTEGER });
    const outcome = await verify([header, ...lines.slice(1, place), JSON.stringify({ ...line, digest })].join('\n'));
    expect([outcome.code, firstOf(outcome)]).toEqual([
      1,
      expect.stringMatching(/^record 77 .* is altered, together with/),
    ]);
  });

  it.each([
    ['is empty', ''],
    ['is something else', '{"a":1}\n'],
    ['is no JSON', 'a,b\n1,2\n'],
    [
      'holds lines of other shapes',
      '{"type":"export","format":"switchyard-audit-export/1"}\n{"type":"record"}\nnull\n[]\n',
    ],
  ])('%s does not verify', async (_what, text) => {
    const outcome = await verify(text);
    expect(outcome.code).toBe(1);
    expect(outcome.text).not.toMatch(/\bat .*\.[jt]s/);
  });
});

describe('the command line', () => {
  it('says what is wrong in one line, with another code than for what it finds', async () => {
    await writeFile(at('no.pem'), 'nothing');
    await writeFile(at('good.jsonl'), await exported());
    const outcomes = await Promise.all([
      cli('audit', 'verify'),
      cli('audit', 'verify', at('good.jsonl')),
      cli('audit', 'verify', at('good.jsonl'), '--key', at('no.pem')),
      cli('audit', 'verify', at('good.jsonl'), '--key', at('none.pem')),
      cli('audit', 'verify', at('none.jsonl'), '--key', at('pub.pem')),
      cli('audit', 'verify', folder, '--key', at('pub.pem')),
      cli('audit', 'verify', at('good.jsonl'), '--what'),
      cli('audit', 'verify', at('good.jsonl'), '--key', at('pub.pem'), '--keep-days', '400d'),
      cli('audit', 'verify', at('good.jsonl'), '--key', at('pub.pem'), '--heads', at('pub.pem')),
    ]);
    expect(outcomes.map(({ code, text }) => [code, text.trimEnd().split('\n').length])).toEqual(
      outcomes.map(() => [2, 1]),
    );
  });

  it('tells a key that is not that of the trail', async () => {
    await writeFile(at('other.pem'), mintAuditKey().publicPem);
    const outcome = await verify(await exported(), '--key', at('other.pem'));
    expect([outcome.code, firstOf(outcome)]).toEqual([1, expect.stringMatching(/^the heads are signed by the key/)]);
  });

  it('knows older keys beside the new one, and shows help', async () => {
    await writeFile(at('other.pem'), mintAuditKey().publicPem);
    expect((await verify(await exported(), '--key', at('other.pem'), '--key', at('pub.pem'))).code).toBe(0);
    expect(await cli()).toMatchObject({ code: 0, text: expect.stringContaining('audit verify') });
    expect(await cli('audit', 'verify', '--help')).toMatchObject({ code: 0, text: expect.stringContaining('--heads') });
    expect((await cli('what')).code).toBe(2);
  });
});
