import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CancelledRun, EventBody, HeldRun, TaskKey } from '#lib/domain';
import { newEventId } from '#lib/platform';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { until } from '../../../../test/support/until.js';
import { Database } from '../database.js';
import { PgEventLog } from '../stores/pg-event-log.js';
import { PgRunStore } from '../stores/pg-run-store.js';
import { PgTaskStore } from '../stores/pg-task-store.js';
import { type LeaseOptions, ThreadLeaseKeeper } from './thread-lease-keeper.js';

const threadFile = pathToFileURL(path.resolve('dist/libs/persistence/src/lease/lease.thread.js'));
const LEASE_MS = 1_200;

let test: TestDatabase;
let database: Database;
let log: PgEventLog;
let keeper: ThreadLeaseKeeper | undefined;

beforeEach(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 2, name: 'test' });
  log = new PgEventLog(database, database);
});

afterEach(async () => {
  await keeper?.close();
  keeper = undefined;
  await database.close();
  await test.drop();
});

function keep(change: Partial<LeaseOptions> = {}): ThreadLeaseKeeper {
  const logger = new SilentLogger();
  const options = { databaseUrl: test.url, runtimeId: 'rt', leaseMs: LEASE_MS, capacity: 4, logger, threadFile };
  keeper = new ThreadLeaseKeeper({ ...options, ...change });
  return keeper;
}

async function claimed(): Promise<HeldRun> {
  const submission = createSubmission(await createBackend(test.url));
  await new PgTaskStore(database).submit(submission);
  const job = { taskKey: submission.taskKey, runNo: 1, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 };
  const runtime = { id: 'rt', leaseMs: LEASE_MS };
  const claims = await new PgRunStore(database).claim([{ job, eventId: newEventId() }], runtime);
  expect(claims).toHaveLength(1);
  return { taskKey: submission.taskKey, runNo: 1 };
}

async function column<T>(name: string, taskKey: TaskKey): Promise<T | undefined> {
  const statement = {
    name: `test.${name}`,
    text: `select ${name} as value from task_heads join tasks using (task_key) where task_key = $1`,
  };
  const [row] = await database.query<{ value: T }>(statement, [taskKey]);
  return row?.value;
}

function control(run: HeldRun, body: EventBody): Promise<unknown> {
  const events = [{ eventId: newEventId(), body, json: JSON.stringify(body.payload) }];
  return log.append([{ taskKey: run.taskKey, guard: { kind: 'control', from: ['running'] }, events }]);
}

const leaseUntil = ({ taskKey }: HeldRun): Promise<Date | undefined> => column<Date>('lease_until', taskKey);

describe('the lease thread', () => {
  it('renews what is held, again and again, and says when it asked', async () => {
    const run = await claimed();
    const first = await leaseUntil(run);
    const leases = keep();
    leases.hold(run, 60_000);
    const heldAtMs = performance.now();
    await until(async () => (await leaseUntil(run))! > first!);
    const second = await leaseUntil(run);
    await until(async () => (await leaseUntil(run))! > second!);
    await until(() => leases.renewedAtMs() > heldAtMs);
    expect(leases.renewedAtMs()).toBeLessThanOrEqual(performance.now());
  });

  it('leaves a run alone once it is released', async () => {
    const run = await claimed();
    const leases = keep();
    leases.hold(run, 60_000);
    leases.release(run);
    const [lost] = await until(async () => {
      const runs = await new PgRunStore(database).lostRuns(10);
      return runs.length > 0 ? runs : undefined;
    });
    expect(lost).toMatchObject(run);
  });

  it('tells of a run that is not ours any more', async () => {
    const run = await claimed();
    await control(run, { type: 'task.cancelled', payload: { forced: true } });
    const lost: HeldRun[] = [];
    const leases = keep();
    leases.onLost((news) => lost.push(news));
    leases.hold(run, 60_000);
    await until(() => lost.length > 0);
    expect(lost[0]).toEqual(run);
  });

  it('tells of a cancel with how long ago it was asked', async () => {
    const run = await claimed();
    await control(run, { type: 'task.cancel_requested', payload: { requested_by: 'alice' } });
    const cancelled: CancelledRun[] = [];
    const leases = keep();
    leases.onCancel((news) => cancelled.push(news));
    leases.hold(run, 60_000);
    const first = await until(() => cancelled[0]);
    expect(first).toMatchObject(run);
    expect(first.elapsedMs).toBeGreaterThan(0);
  });

  it('writes down that the run lives', async () => {
    const run = await claimed();
    keep().hold(run, 10);
    await expect(until(() => column<Date>('last_heartbeat_at', run.taskKey))).resolves.toBeInstanceOf(Date);
  });

  it('renews while the main loop is blocked, and says in the log that it is, and that it goes on', async () => {
    const run = await claimed();
    const leases = keep();
    leases.hold(run, 60_000);
    await until(() => leases.renewedAtMs() > 0);
    const endMs = performance.now() + 2 * LEASE_MS;
    while (performance.now() < endMs);
    expect(await new PgRunStore(database).lostRuns(10)).toEqual([]);
    const page = await log.page(run.taskKey, 2, { maxEvents: 1, maxBytes: 10_000 });
    expect(page.map(({ type, payload }) => [type, payload])).toEqual([['task.stalled', '{"reason":"blocked"}']]);
    const recovered = await until(async () => (await log.page(run.taskKey, 3, { maxEvents: 10, maxBytes: 10_000 }))[0]);
    expect([recovered.type, recovered.seq]).toEqual(['task.recovered', 4]);
    expect(await column<boolean>('stalled', run.taskKey)).toBe(false);
  });

  it('refuses a run too many', async () => {
    const leases = keep({ capacity: 1 });
    const run = await claimed();
    leases.hold(run, 60_000);
    expect(() => leases.hold({ ...run, runNo: 2 }, 60_000)).toThrow('more runs than leases');
    leases.release(run);
    expect(() => leases.hold({ ...run, runNo: 2 }, 60_000)).not.toThrow();
  });
});
