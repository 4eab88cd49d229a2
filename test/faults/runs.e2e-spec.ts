import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { atFullSize } from '../support/full-size.js';
import { call, Installation, type Member } from '../support/installation.js';
import { until } from '../support/until.js';

const LEASE_SECONDS = 10;
const PROGRESS = { type: 'tool.completed', payload: { tool_call_id: 'c', tool_name: 'clock' } };
const RACES = atFullSize(1_000, 100);

describeEachBackingSet(({ redisUrl }) => {
  let test: TestDatabase;
  let sql: pg.Client;
  let installation: Installation;

  beforeAll(async () => {
    test = await createDatabase();
    sql = new pg.Client({ connectionString: test.url });
    await sql.connect();
    await sql.query('set search_path to switchyard');
    const env = { LEASE_SECONDS: String(LEASE_SECONDS), DRAIN_SECONDS: '1' };
    installation = await Installation.start({ databaseUrl: test.url, redisUrl, gateways: 2, runtimes: 1, env });
  }, 60_000);

  afterAll(async () => {
    await installation.stop();
    await sql.end();
    await test.drop();
  }, 60_000);

  const gateway = (index = 0): string => installation.gateways[index]!.url;

  async function submit(script: readonly unknown[]): Promise<string> {
    const { status, body } = await call(`${gateway()}/v1/tasks`, { body: { agent_id: 'scripted', input: { script } } });
    expect(status).toBe(202);
    return String(body['task_id']);
  }

  async function snapshot(taskId: string): Promise<Record<string, unknown>> {
    return (await call(`${gateway()}/v1/tasks/${taskId}`)).body;
  }

  async function stateIs(taskId: string, state: string, timeoutMs = 30_000): Promise<Record<string, unknown>> {
    return until(
      async () => {
        const body = await snapshot(taskId);
        return body['state'] === state ? body : undefined;
      },
      { timeoutMs, what: `${taskId} to be ${state}` },
    );
  }

  async function types(taskId: string): Promise<string[]> {
    const { rows } = await sql.query<{ event_type: string }>(
      'select event_type from events join tasks using (task_key) where task_id = $1 order by seq',
      [taskId],
    );
    return rows.map((row) => row.event_type);
  }

  async function metricsOf(member: Member): Promise<string> {
    return (await fetch(`${member.url}/metrics`)).text();
  }

  describe('a run', () => {
    it('of a runtime that was frozen past its lease goes on elsewhere, and what the old one writes on waking is refused', async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'switchyard-frozen-'));
      const taskId = await submit([
        { run: 1, token_to: path.join(folder, 'token') },
        { event: { type: 'step.started', payload: { step_id: 's', step_name: 'Work' } } },
        { checkpoint: 1 },
        // The first run is in the middle of telling something when it freezes, and goes on with that when it wakes.
        { run: 1, until_file: '/nowhere', every_ms: 1, meanwhile: PROGRESS },
        { event: { type: 'step.retrying', payload: { step_id: 's', attempt: 2 } }, run: 2 },
        { event: { type: 'step.completed', payload: { step_id: 's' } } },
        { result: 'done' },
      ]);
      const [old] = installation.runtimes as [Member];
      await stateIs(taskId, 'running');
      await until(async () => (await types(taskId)).includes('step.started'));
      const token = readFileSync(path.join(folder, 'token'), 'utf8');
      rmSync(folder, { recursive: true });
      const byToken = async (): Promise<number> =>
        (await call(`${gateway(1)}/v1/runtime/tools`, { key: token })).status;
      expect(await byToken()).toBe(200);
      old.signal('SIGSTOP');
      try {
        // Nobody else has the run yet: that its lease is over is enough.
        await until(async () => (await byToken()) === 401, { timeoutMs: (LEASE_SECONDS + 5) * 1000 });
        await installation.addRuntime();
        await stateIs(taskId, 'succeeded', (LEASE_SECONDS + 20) * 1000);
      } finally {
        old.signal('SIGCONT');
      }
      const atEnd = await types(taskId);
      expect(atEnd.filter((type) => type === 'task.succeeded')).toHaveLength(1);
      expect(atEnd).toContain('task.retrying');
      // The old one is awake and finds its run gone: it counts the write the database refused, and works on.
      await until(async () => /^switchyard_appends_fenced_total\{guard="run"\} [1-9]/m.test(await metricsOf(old)));
      await stateIs(await submit([{ result: 'next' }]), 'succeeded');
      expect(await types(taskId)).toEqual(atEnd);
      expect(await byToken()).toBe(401);
    }, 90_000);

    it('that ignores a cancel is abandoned after its grace, and ends as cancelled by force', async () => {
      const taskId = await submit([{ wait_ms: 60_000, stubborn: true }, { result: 'late' }]);
      await stateIs(taskId, 'running');
      const { status } = await call(`${gateway(1)}/v1/tasks/${taskId}/cancel`, { body: { reason: 'enough' } });
      expect(status).toBe(202);
      await stateIs(taskId, 'cancelled');
      const { rows } = await sql.query<{ payload: string }>(
        `select payload from events join tasks using (task_key)
         where task_id = $1 and event_type in ('task.cancel_requested', 'task.cancelled') order by seq`,
        [taskId],
      );
      const payloads = rows.map((row) => JSON.parse(row.payload) as unknown);
      expect(payloads).toEqual([{ requested_by: 'admin', reason: 'enough' }, { forced: true }]);
    }, 60_000);

    it('races its cancel over and over at two gateways, and each task has one end', async () => {
      const ids = await Promise.all(Array.from({ length: RACES }, () => submit([{ result: 'quick' }])));
      const answers = await Promise.all(
        ids.flatMap((id) =>
          [0, 1].map((at) => call(`${gateway(at)}/v1/tasks/${id}/cancel`, { method: 'POST', body: {} })),
        ),
      );
      expect(answers.filter(({ status }) => status !== 200 && status !== 202)).toEqual([]);
      await until(async () => (await sql.query('select from tasks where finished_at is null')).rows.length === 0);
      // What a caller was told was over stays as it was told, and both gateways tell the same.
      const told = answers.filter(({ status }) => status === 200).map(({ body }) => body);
      const shown = (at: number) =>
        Promise.all(ids.map(async (id) => (await call(`${gateway(at)}/v1/tasks/${id}`)).body));
      const here = await shown(0);
      expect(await shown(1)).toEqual(here);
      const states = new Map(here.map((body) => [body['task_id'], body['state']]));
      expect(told.map((body) => states.get(body['task_id']))).toEqual(told.map((body) => body['state']));
      const { rows } = await sql.query<{ ends: string; tasks: string }>(
        `select count(*) filter (where event_type in ('task.succeeded', 'task.failed', 'task.cancelled')) as ends,
           count(distinct task_key) as tasks
         from events join tasks using (task_key) where task_id = any ($1)`,
        [ids],
      );
      expect(rows).toEqual([{ ends: String(RACES), tasks: String(RACES) }]);
    }, 60_000);

    it('that is under way when its runtime is told to stop is handed over and finished by another', async () => {
      const [leaving] = installation.runtimes.splice(0, 1) as [Member];
      const others = installation.runtimes.splice(0);
      await Promise.all(others.map((member) => member.end('SIGTERM')));
      const taskId = await submit([{ checkpoint: 1 }, { run: 1, wait_ms: 60_000 }, { result: 'done' }]);
      await stateIs(taskId, 'running');
      expect(await leaving.end('SIGTERM')).toBe(0);
      expect(await snapshot(taskId)).toMatchObject({ state: 'running', run_no: 1 });
      await installation.addRuntime();
      await stateIs(taskId, 'succeeded');
      const { rows } = await sql.query<{ payload: string }>(
        `select payload from events join tasks using (task_key) where task_id = $1 and event_type = 'task.retrying'`,
        [taskId],
      );
      expect(rows.map((row) => JSON.parse(row.payload) as unknown)).toMatchObject([{ run_no: 2, reason: 'handover' }]);
    }, 60_000);
  });
});
