import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type DomainError, isDomainError } from '#lib/domain';
import { Database, PgTaskStore, PgUsageStore } from '#lib/persistence';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { RecordingMetrics } from '../../../../test/support/recording-metrics.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import type { Caller } from './caller.js';
import { parseLimitsFile } from './limits-file.js';
import { Quotas } from './quotas.js';

const LIMITS = parseLimitsFile(`
every_tenant: { requests_per_second: unlimited, queued_tasks: unlimited, running_tasks: unlimited }
tenants:
  rated: { requests_per_second: 10, request_burst: 100 }
  held: { open_streams: 4 }
  queued: { queued_tasks: 10 }
  running: { running_tasks: 2 }
  bytes: { artifact_bytes: 1000 }
keys:
  thrifty: { queued_tasks: 2 }
`);

let test: TestDatabase;
let database: Database;
let tasks: PgTaskStore;
let backendId: string;
let sql: pg.Client;
let nowMs: number;
let gateways: Quotas[];
let seen: RecordingMetrics;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 4, name: 'quotas' });
  tasks = new PgTaskStore(database);
  backendId = await createBackend(test.url);
  sql = new pg.Client({ connectionString: test.url, options: '-c search_path=switchyard' });
  await sql.connect();
});

afterAll(async () => {
  // Their states were set here, not by events.
  await sql.query('truncate tasks, task_heads');
  await sql.end();
  await database.close();
  await test.drop();
});

beforeEach(() => {
  nowMs = 0;
  gateways = [];
  seen = new RecordingMetrics();
});

afterEach(async () => {
  for (const gateway of gateways) await gateway.close();
});

function gateway(over: Database = database): Quotas {
  const ports = { limits: LIMITS, usage: new PgUsageStore(over), metrics: seen, logger: new SilentLogger() };
  const quotas = new Quotas(ports, () => nowMs);
  gateways.push(quotas);
  return quotas;
}

/** So many that they know each other. */
async function gatewaysTogether(count: number): Promise<[Quotas, Quotas, ...Quotas[]]> {
  const all = Array.from({ length: count }, () => gateway());
  await synchronised(all);
  return all as [Quotas, Quotas];
}

async function synchronised(all: readonly Quotas[]): Promise<void> {
  for (const each of [...all, ...all]) await each.synchronise();
}

const callerOf = (tenant: string, keyId = `key-of-${tenant}`, principal = 'ann'): Caller => ({
  tenant,
  principal,
  keyId,
  scopes: new Set(),
});

/** The policy that refused, where one did. */
async function refusal(work: () => unknown): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!isDomainError(error) || error.code !== 'rate_limited') throw error;
    return error.limit?.policy;
  }
}

/** How many of so many requests pass. */
function passing(quotas: Quotas, count: number, caller = callerOf('rated')): number {
  let passed = 0;
  for (let index = 0; index < count; index++) {
    try {
      quotas.request(caller);
      passed++;
    } catch {
      // Refused.
    }
  }
  return passed;
}

/** Admits one task and stores it, as a submission does. */
async function submit(quotas: Quotas, caller: Caller): Promise<void> {
  const admission = await quotas.task(caller);
  await tasks.submit(createSubmission(backendId, { tenant: caller.tenant, principal: caller.principal }));
  admission(true);
}

const stored = async (tenant: string): Promise<number> =>
  (await sql.query<{ n: number }>('select count(*)::int as n from tasks where tenant = $1', [tenant])).rows[0]!.n;

describe('a rate', () => {
  it('allows the burst at once and then what comes back with time, to the request', () => {
    const alone = gateway();
    expect(passing(alone, 150)).toBe(100);
    nowMs += 1_000;
    expect(passing(alone, 50)).toBe(10);
    nowMs += 99_000;
    expect(passing(alone, 500)).toBe(100);
  });

  it('says what is left once it is less than half, and when there is more once nothing is', async () => {
    const alone = gateway();
    const standings = Array.from({ length: 60 }, () => alone.request(callerOf('rated')));
    expect(standings.findIndex((standing) => standing !== undefined)).toBe(50);
    expect(standings.at(-1)).toEqual({
      policy: 'tenant-requests',
      quota: 100,
      unit: 'requests',
      windowSeconds: 10,
      remaining: 40,
      resetSeconds: 1,
    });
    passing(alone, 100);
    const error = (await Promise.resolve()
      .then(() => alone.request(callerOf('rated')))
      .catch((thrown: unknown) => thrown)) as DomainError;
    expect(error).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1, limit: { remaining: 0 } });
    expect(seen.counted).toContainEqual(['switchyard_limits_refused_total', { scope: 'tenant', limit: 'requests' }, 1]);
  });

  it('holds over all gateways with time: what was too much in a burst is owed', async () => {
    const all = await gatewaysTogether(3);
    const inBurst = all.map((each) => passing(each, 1_000));
    expect(inBurst).toEqual([100, 100, 100]);
    await synchronised(all);
    // 300 went through where 100 might: 200 are owed, at 10 a second.
    nowMs += 19_000;
    expect(all.map((each) => passing(each, 5))).toEqual([0, 0, 0]);
    let passed = 0;
    for (let second = 0; second < 60; second++) {
      nowMs += 1_000;
      passed += all.reduce((sum, each) => sum + passing(each, 1_000), 0);
      await synchronised(all);
    }
    // 60 seconds' worth, and at the most what the three let through in the last second before they told each other.
    expect(passed).toBeGreaterThanOrEqual(560);
    expect(passed).toBeLessThanOrEqual(630);
  });

  it('of a gateway that comes later counts what the others have let through lately', async () => {
    const first = gateway();
    passing(first, 100);
    await first.synchronise();
    const second = gateway();
    await second.synchronise();
    expect(passing(second, 50)).toBe(0);
  });

  it('goes on by itself while the database is away, and tells what was missed when it is back', async () => {
    const lost = new Database({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', max: 1, name: 'lost', waitMs: 100 });
    const alone = gateway(lost);
    await alone.synchronise();
    expect(passing(alone, 150)).toBe(100);
    await lost.close();
  });
});

describe('what is held open', () => {
  it('counts over all gateways, and is free again when it is let go, once', async () => {
    const [here, there] = await gatewaysTogether(2);
    const caller = callerOf('held');
    const slots = [here, here, here].map((each) => each.hold('streams', caller));
    await synchronised([here, there]);
    slots.push(there.hold('streams', caller));
    expect(await refusal(() => there.hold('streams', caller))).toBe('tenant-streams');
    await synchronised([here, there]);
    expect(await refusal(() => here.hold('streams', caller))).toBe('tenant-streams');
    slots[0]!.release();
    slots[0]!.release();
    slots.push(here.hold('streams', caller));
    expect(await refusal(() => here.hold('streams', caller))).toBe('tenant-streams');
    for (const slot of slots) slot.release();
    await synchronised([here, there]);
    expect(await refusal(() => there.hold('streams', caller))).toBeUndefined();
  });

  it('at a gateway that is gone does not count any more', async () => {
    const [here, there] = await gatewaysTogether(2);
    const caller = callerOf('held');
    for (let index = 0; index < 4; index++) there.hold('streams', caller);
    await synchronised([there, here]);
    expect(await refusal(() => here.hold('streams', caller))).toBe('tenant-streams');
    await there.close();
    await here.synchronise();
    expect(await refusal(() => here.hold('streams', caller))).toBeUndefined();
  });
});

describe('queued tasks', () => {
  beforeEach(async () => void (await sql.query('truncate tasks, task_heads, submit_keys, outbox')));
  const caller = callerOf('queued');

  it('never pass the limit of a gateway that is alone, however many are asked for at once', async () => {
    const alone = gateway();
    const answers = await Promise.all(Array.from({ length: 60 }, () => refusal(() => submit(alone, caller))));
    expect(answers.filter((policy) => policy === undefined)).toHaveLength(10);
    expect(answers.filter((policy) => policy === 'tenant-queued-tasks')).toHaveLength(50);
    expect(await stored('queued')).toBe(10);
  });

  it('come one after another to exactly the limit over two gateways that each give out a share', async () => {
    const both = await gatewaysTogether(2);
    let refused = 0;
    for (let index = 0; refused < 4 && index < 100; index++)
      if ((await refusal(() => submit(both[index % 2]!, caller))) !== undefined) refused++;
    expect(await stored('queued')).toBe(10);
  });

  it('may all go to one of two gateways: a share is no limit of its own', async () => {
    const [here] = await gatewaysTogether(2);
    for (let index = 0; index < 10; index++) await submit(here, caller);
    expect(await stored('queued')).toBe(10);
    expect(await refusal(() => submit(here, caller))).toBe('tenant-queued-tasks');
  });

  it('that were not stored after all take nothing', async () => {
    const alone = gateway();
    for (let index = 0; index < 30; index++) (await alone.task(caller))(false);
    for (let index = 0; index < 10; index++) await submit(alone, caller);
    expect(await stored('queued')).toBe(10);
  });

  it('that have ended make room', async () => {
    const alone = gateway();
    for (let index = 0; index < 10; index++) await submit(alone, caller);
    expect(await refusal(() => submit(alone, caller))).toBe('tenant-queued-tasks');
    await sql.query(`update tasks set finished_at = now() where task_key in (select task_key from tasks limit 3)`);
    nowMs += 200;
    for (let index = 0; index < 3; index++) await submit(alone, caller);
    expect(await refusal(() => submit(alone, caller))).toBe('tenant-queued-tasks');
  });

  it('of one principal are limited by its key, those of the others are not', async () => {
    const alone = gateway();
    const thrifty = callerOf('other', 'thrifty', 'bob');
    for (let index = 0; index < 2; index++) await submit(alone, thrifty);
    expect(await refusal(() => submit(alone, thrifty))).toBe('key-queued-tasks');
    for (let index = 0; index < 5; index++) await submit(alone, callerOf('other', 'generous', 'carl'));
    expect(await stored('other')).toBe(7);
  });

  it('are counted seldom while they are few, and not at all without a limit', async () => {
    const counting = new CountingStore(database);
    const ports = { limits: LIMITS, usage: counting, metrics: seen, logger: new SilentLogger() };
    const alone = new Quotas(ports, () => nowMs);
    for (let second = 0; second < 20; second++) {
      nowMs += 1_000;
      (await alone.task(caller))(false);
      (await alone.task(callerOf('free')))(false);
    }
    expect(counting.counts).toBe(1);
  });

  it('are found by an index, those of this tenant alone', async () => {
    await sql.query('set enable_seqscan to off');
    const { rows } = await sql.query<{ 'QUERY PLAN': string }>(
      `explain select task_key, created_by from tasks where tenant = 'a' and finished_at is null order by task_key limit 10`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('tasks_live');
  });
});

describe('running tasks', () => {
  it('at their limit stop submissions until one has ended', async () => {
    const alone = gateway();
    const caller = callerOf('running');
    for (let index = 0; index < 5; index++) await submit(alone, caller);
    await sql.query(
      `update task_heads h set state = case when n = 1 then 'waiting_for_input' else 'running' end
       from (select task_key, row_number() over () as n from tasks where tenant = 'running' limit 2) t
       where h.task_key = t.task_key`,
    );
    nowMs += 31_000;
    // The count that is begun now is known to the next.
    await submit(alone, caller);
    nowMs += 2_000;
    expect(await refusal(() => submit(alone, caller))).toBe('tenant-running-tasks');
    await sql.query(
      `update tasks set finished_at = now() where task_key in (select task_key from task_heads where state = 'running')`,
    );
    nowMs += 2_000;
    expect(await refusal(() => submit(alone, caller))).toBeUndefined();
  });
});

describe('stored bytes', () => {
  beforeAll(async () => {
    await sql.query(
      `insert into artifacts (artifact_id, tenant, created_by, kind, name, media_type, size, sha256, created_at)
       values ('art_1', 'bytes', 'ann', 'input', 'x', 'text/plain', 600, 'x', now())`,
    );
  });
  const caller = callerOf('bytes');

  it('and those on their way are one sum; what does not come takes nothing', async () => {
    const alone = gateway();
    const settle = await alone.room(caller, 300);
    expect(await refusal(() => alone.room(caller, 101))).toBe('tenant-artifact-bytes');
    expect(await refusal(async () => (await alone.room(caller, 100))(0))).toBeUndefined();
    settle(0);
    (await alone.room(caller, 400))(400);
    expect(await refusal(() => alone.room(caller, 0))).toBe('tenant-artifact-bytes');
    expect(await refusal(() => alone.task(caller))).toBe('tenant-artifact-bytes');
  });

  it('that are asked for at once are not given out twice', async () => {
    const alone = gateway();
    const answers = await Promise.all([1, 2, 3, 4].map(() => refusal(() => alone.room(caller, 150))));
    expect(answers.filter((policy) => policy === undefined)).toHaveLength(2);
  });
});

class CountingStore extends PgUsageStore {
  counts = 0;

  override openTasks(tenant: string, atMost: number): ReturnType<PgUsageStore['openTasks']> {
    this.counts++;
    return super.openTasks(tenant, atMost);
  }
}
