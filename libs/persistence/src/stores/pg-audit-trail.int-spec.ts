import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { Database } from '../database.js';
import { PgAuditTrail } from './pg-audit-trail.js';

const entry = (changes: Partial<AuditEntry> = {}): AuditEntry => ({
  tenant: 'acme',
  principal: 'ann',
  keyId: 'k1',
  action: 'key.create',
  target: 'k2',
  outcome: 'allowed',
  details: '{"scopes":["tasks:read"]}',
  requestId: 'r-1',
  ...changes,
});

describe('the audit trail', () => {
  let testDatabase: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    testDatabase = await createDatabase();
    database = new Database({ databaseUrl: testDatabase.url, max: 2, name: 'test' });
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });

  const recorded = (action: string): Promise<object[]> =>
    database.query(
      {
        name: 'test.recorded',
        text: `select tenant, principal, key_id, action, target, outcome, details, request_id from audit_records
          where action = $1 order by target, id`,
      },
      [action],
    );
  const stored = ({ keyId, requestId, ...rest }: AuditEntry): object => ({
    ...rest,
    key_id: keyId,
    request_id: requestId,
  });

  it('keeps what it is given, also characters the database has no place for', async () => {
    const trail = new PgAuditTrail(database, new SilentLogger());
    const entries = [entry(), entry({ target: 'a\0b\ud800c' })];
    await trail.record(entries);
    await trail.record([]);
    expect(await recorded('key.create')).toEqual([
      stored(entry({ target: 'a\u{fffd}b\u{fffd}c' })),
      stored(entries[0]!),
    ]);
    await trail.close();
  });

  it('has equal denied attempts as one record with their count when the process ends', async () => {
    const trail = new PgAuditTrail(database, new SilentLogger());
    const attempt = entry({ action: 'task.read', outcome: 'denied', details: '{"code":"not_found"}' });
    for (let n = 0; n < 50; n += 1) trail.denied(attempt);
    trail.denied({ ...attempt, target: 'x'.repeat(10_000) });
    await trail.close();
    const rows = (await recorded('task.read')) as { target: string; details: string }[];
    expect(
      rows.map(({ target, details }) => [target.length, (JSON.parse(details) as { count: number }).count]),
    ).toEqual([
      [2, 50],
      [513, 1],
    ]);
  });

  it('loses no denied attempt to a database that is away, and never fails for one', async () => {
    const away = new Database({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', max: 1, name: 'away' });
    const logger = new SilentLogger();
    const trail = new PgAuditTrail(away, logger);
    trail.denied(entry({ outcome: 'denied' }));
    await trail.close();
    expect(logger.lines).toMatchObject([{ level: 'error', fields: { records: 1 } }]);
    await away.close();
  });
});
