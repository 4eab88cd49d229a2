import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import type { ScriptStep } from '../support/scripted/index.js';
import { until } from '../support/until.js';

jest.setTimeout(90_000);

/** Runs of one tenant in a round, as the queue has it, and those that may start at the same moment. */
const ROUND = 32;
const SLOTS = 2;
const TENANTS = ['flood', 'second', 'late', 'steady'] as const;
type Tenant = (typeof TENANTS)[number];

const QUESTION: ScriptStep = { pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Go on?' }] };
const UNTIL_KILLED: readonly ScriptStep[] = [{ checkpoint: {} }, { run: 1, until_file: '/nowhere/at/all' }];

interface Start {
  readonly task_id: string;
  readonly tenant: Tenant;
  readonly run_no: number;
  readonly at: Date;
}

describeEachBackingSet(({ redisUrl }) => {
  let database: TestDatabase;
  let installation: Installation;
  let keys: Record<Tenant, string>;
  let sql: pg.Pool;

  beforeAll(async () => {
    database = await createDatabase();
    const wishes = TENANTS.map((tenant) => [tenant, { tenant }] as const);
    keys = await createKeys(database.url, Object.fromEntries(wishes) as Record<Tenant, { tenant: string }>);
    sql = new pg.Pool({ connectionString: database.url, max: 2, options: '-c search_path=switchyard' });
    const env = { RUN_SLOTS: String(SLOTS) };
    installation = await Installation.start({ databaseUrl: database.url, redisUrl, gateways: 1, runtimes: 1, env });
  });

  afterAll(async () => {
    await installation?.stop();
    await sql?.end();
    await database?.drop();
  });

  const request = async (tenant: Tenant, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await call(`${installation.gateways[0]!.url}/v1/tasks${path}`, { body, key: keys[tenant] });
    expect(answer.status).toBeLessThan(300);
    return answer.body;
  };
  const submit = async (tenant: Tenant, script: readonly ScriptStep[] = [{ result: 'x' }]): Promise<string> =>
    String((await request(tenant, '', { agent_id: 'scripted', input: { script } }))['task_id']);
  const submitMany = async (tenant: Tenant, count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 20)
      await Promise.all(Array.from({ length: Math.min(20, left) }, () => submit(tenant)));
  };
  const reaches = (tenant: Tenant, taskId: string, state: string): Promise<unknown> =>
    until(async () => (await request(tenant, `/${taskId}`))['state'] === state);
  const unfinished = async (tenant: Tenant): Promise<number> => {
    const text = 'select count(*)::int as n from tasks where tenant = $1 and finished_at is null';
    return (await sql.query<{ n: number }>(text, [tenant])).rows[0]!.n;
  };
  /** When the runs of a tenant have started. */
  const startsOf = async (tenant: Tenant): Promise<readonly Start[]> => {
    const text = `select t.task_id, t.tenant, e.at,
        row_number() over (partition by t.task_key order by e.seq)::int as run_no
      from tasks t join events e using (task_key)
      where t.tenant = $1 and e.event_type in ('task.started', 'task.retrying') order by e.at, e.seq`;
    return (await sql.query<Start>(text, [tenant])).rows;
  };
  const before = (starts: readonly Start[], at: Date): number => starts.filter((start) => start.at < at).length;

  it('one tenant’s flood leaves another served, whoever else floods, and sets nothing back that goes on', async () => {
    const [lost, asking] = await Promise.all([
      submit('flood', UNTIL_KILLED),
      submit('flood', [QUESTION, { result: 'y' }]),
    ]);
    await Promise.all([reaches('flood', lost, 'running'), reaches('flood', asking, 'waiting_for_input')]);
    await installation.runtimes.shift()!.end('SIGKILL');
    await submitMany('flood', 300);
    const late = await submit('late');
    await submitMany('second', 200);
    await request('flood', `/${asking}/resume`, { input: 'yes' });
    // As if its lease had run out; the sweep of the gateway finds it.
    await sql.query('update task_heads set lease_until = clock_timestamp() where run_open');
    await until(async () => (await sql.query('select from outbox where run_no = 2')).rowCount === 2, {
      timeoutMs: 20_000,
    });
    await installation.addRuntime();
    await until(async () => (await unfinished('flood')) + (await unfinished('second')) === 0, { timeoutMs: 45_000 });

    const [flood, second, [other]] = await Promise.all([startsOf('flood'), startsOf('second'), startsOf('late')]);
    const fresh = flood.filter(({ task_id }) => task_id !== lost && task_id !== asking);
    expect([fresh.length, second.length, other?.task_id]).toEqual([300, 200, late]);
    expect(before(fresh, other!.at)).toBeLessThanOrEqual(ROUND + SLOTS);
    for (const taskId of [lost, asking]) {
      const again = flood.find(({ task_id, run_no }) => task_id === taskId && run_no === 2)!;
      expect(before(fresh, again.at)).toBeLessThanOrEqual(ROUND + SLOTS);
    }
    // Whenever some of the second flood have started, so have about as many of the first, though all of that came before.
    for (const [index, { at }] of second.entries())
      expect(Math.abs(before(fresh, at) - index)).toBeLessThanOrEqual(2 * ROUND);
  });

  it('a flood goes on while another tenant submits as fast as it is served', async () => {
    await submitMany('flood', 400);
    const served = async (): Promise<number> => {
      let count = 0;
      while ((await unfinished('flood')) > 0) {
        await reaches('steady', await submit('steady', [{ wait_ms: 10 }, { result: 'z' }]), 'succeeded');
        count += 1;
      }
      return count;
    };
    const counts = await Promise.all(Array.from({ length: 4 * SLOTS }, served));
    const steady = counts.reduce((sum, count) => sum + count);
    // They get the same, give or take what is looked at once a second.
    expect(steady).toBeGreaterThan(ROUND);
    expect(steady).toBeLessThan(2 * 400);
    expect(await unfinished('flood')).toBe(0);
  });
});
