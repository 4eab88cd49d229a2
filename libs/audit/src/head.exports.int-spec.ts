import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import type { StoredHead } from '#lib/domain';
import { Database, PgAuditTrail } from '#lib/persistence';
import { GuardedOutbound, parseOutboundRules } from '#lib/security';
import { ownerClient } from '../../../test/support/aged-task.js';
import { auditEntry, mintAuditKey, openSealer } from '../../../test/support/audit.js';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { until } from '../../../test/support/until.js';
import { HeadExport, type HeadSink } from './head.exports.js';
import { FileSink, WebhookSink } from './head.sinks.js';

const key = mintAuditKey();

let test: TestDatabase;
let database: Database;
let owner: pg.Client;
let trail: PgAuditTrail;
let sealing: ReturnType<typeof openSealer>;
let folder: string;
let logger: SilentLogger;

beforeAll(async () => {
  test = await createDatabase();
  owner = await ownerClient(test.url);
  database = new Database({ databaseUrl: test.url, max: 1, name: 'test' });
  trail = new PgAuditTrail(database, new SilentLogger());
  sealing = openSealer(test.url, { signer: key.signer });
});

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'heads-'));
  logger = new SilentLogger();
});

afterEach(() => rm(folder, { recursive: true }));

afterAll(async () => {
  await trail.close();
  await sealing.close();
  await database.close();
  await owner.end();
  await test.drop();
});

const heads = (): Promise<readonly StoredHead[]> => sealing.ledger.headsAfter(0, 1_000);

/** So many more heads. */
async function seal(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const before = (await heads()).length;
    await trail.record([auditEntry()]);
    await until(async () => (await sealing.sealer.run(), (await heads()).length > before));
  }
}

const exportTo = (sink: HeadSink): HeadExport => new HeadExport(sealing.ledger, sink, logger);

class Place implements HeadSink {
  readonly kind = 'webhook';
  readonly got: number[] = [];
  constructor(
    readonly name: string,
    private readonly take: (heads: readonly StoredHead[]) => Promise<void>,
  ) {}
  async send(some: readonly StoredHead[]): Promise<void> {
    await this.take(some);
    this.got.push(...some.map(({ no }) => no));
  }
}

describe('heads of the audit trail', () => {
  it('arrive at a place that was down, in order and all of them, and nothing waits for it meanwhile', async () => {
    let isDown = true;
    const down = new Place('down', async () => {
      if (isDown) throw new Error('down');
    });
    const toDown = exportTo(down);
    await seal(1);
    await toDown.runOnce();
    expect([toDown.isFailing, down.got, logger.lines.length]).toEqual([true, [], 1]);
    await seal(2);
    await toDown.runOnce();
    // Told once, not each second.
    expect(logger.lines).toHaveLength(1);
    isDown = false;
    await toDown.runOnce();
    expect([toDown.isFailing, down.got]).toEqual([false, (await heads()).map(({ no }) => no)]);
    await toDown.runOnce();
    expect(down.got).toHaveLength((await heads()).length);
  });

  it('go to each place by itself: one that never answers keeps no other waiting, nor the seal', async () => {
    let answer: () => void = () => undefined;
    const slow = new Place('slow', () => new Promise((resolve) => (answer = resolve)));
    const quick = new FileSink(path.join(folder, 'quick.jsonl'));
    const hanging = exportTo(slow).runOnce();
    await seal(2);
    await exportTo(quick).runOnce();
    expect((await quick.last())?.no).toBe((await heads()).at(-1)?.no);
    expect(slow.got).toEqual([]);
    answer();
    await hanging;
    expect(slow.got.length).toBeGreaterThan(0);
  });

  it('are brought in steps that a place may take or refuse, and begin again where it refused', async () => {
    await seal(1);
    await owner.query(`insert into audit_heads (log, size, root, system, mark, at)
      select log, size, root, system, mark, at from audit_heads, generate_series(1, 250) where no = 1`);
    let left = 2;
    const place = new Place('steps', async () => {
      left -= 1;
      if (left < 0) throw new Error('no more');
    });
    await exportTo(place).runOnce();
    expect(place.got).toHaveLength(200);
    left = 10;
    await exportTo(place).runOnce();
    expect(place.got).toEqual((await heads()).map(({ no }) => no));
    await owner.query(`set session_replication_role = replica; delete from audit_heads where size = 1 and no > 1; reset session_replication_role`); // prettier-ignore
  });

  it('are complete in a file whose disk was full, and whose writer died in a line', async () => {
    const file = path.join(folder, 'heads.jsonl');
    await symlink('/dev/full', file);
    const full = exportTo(new FileSink(file));
    await full.runOnce();
    expect(full.isFailing).toBe(true);
    await rm(file);
    await full.runOnce();
    expect(full.isFailing).toBe(false);
    const whole = await readFile(file, 'utf8');
    await writeFile(file, whole.slice(0, -200));
    await full.runOnce();
    await appendFile(file, '{"no":9');
    await seal(1);
    await full.runOnce();
    const lines = (await readFile(file, 'utf8')).split('\n');
    const read = lines.flatMap((line) => {
      try {
        return [(JSON.parse(line) as StoredHead).no];
      } catch {
        return [];
      }
    });
    expect(read).toEqual((await heads()).map(({ no }) => no));
  });

  it('of a history that goes on from an older one, as after a restore, get into the file as well', async () => {
    const file = new FileSink(path.join(folder, 'heads.jsonl'));
    await exportTo(file).runOnce();
    const before = await heads();
    const kept = before.at(-3)!;
    // Back to what it was two heads ago; numbers, too, are given out again.
    await owner.query(`set session_replication_role = replica`);
    await owner.query(`delete from audit_records where id in (select record_id from audit_leaf where leaf_no >= $1)`, [kept.size]); // prettier-ignore
    await owner.query('delete from audit_leaf where leaf_no >= $1', [kept.size]);
    await owner.query('delete from audit_heads where no > $1', [kept.no]);
    await owner.query('update audit_state set size = $1, mark = $2::text::xid8', [kept.size, kept.mark]);
    await owner.query('update audit_exports set head_no = least(head_no, $1)', [kept.no]);
    await owner.query(`alter table audit_heads alter column no restart with ${kept.no + 1}`);
    await owner.query('reset session_replication_role');
    await seal(1);
    await exportTo(file).runOnce();
    await seal(1);
    await exportTo(file).runOnce();
    const lines = (await readFile(path.join(folder, 'heads.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as StoredHead)).toEqual([...before, ...(await heads()).slice(-2)]);
  });
});

describe('a webhook', () => {
  let server: Server;
  let answer: { status: number; headers?: Record<string, string> };
  const got: number[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        if (answer.status === 200) got.push(...(JSON.parse(text) as { heads: StoredHead[] }).heads.map(({ no }) => no));
        response.writeHead(answer.status, answer.headers).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => void server.close());

  it('has got what it answered 2xx to and nothing else, and gets the rest later', async () => {
    const { port } = server.address() as AddressInfo;
    const outbound = new GuardedOutbound({ rules: parseOutboundRules('webhook=127.0.0.1')!, allowPublic: false });
    const hook = exportTo(new WebhookSink(`http://127.0.0.1:${port}/`, outbound));
    const answers = [{ status: 500 }, { status: 404 }, { status: 302, headers: { location: '/elsewhere' } }];
    for (answer of answers) {
      await hook.runOnce();
      expect([hook.isFailing, got]).toEqual([true, []]);
    }
    answer = { status: 200 };
    await hook.runOnce();
    expect([hook.isFailing, got]).toEqual([false, (await heads()).map(({ no }) => no)]);
    await new Promise((resolve) => server.close(resolve));
    await seal(1);
    await hook.runOnce();
    expect([hook.isFailing, got.length]).toEqual([true, (await heads()).length - 1]);
  });
});
