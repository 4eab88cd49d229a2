import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Chance } from '../support/chance.js';
import { assertClean, checkHistory } from '../support/checker.js';
import { atFullSize, IS_FULL_SIZE } from '../support/full-size.js';
import { ClientHistory } from '../support/history.js';
import { Installation } from '../support/installation.js';
import { LoadClient } from '../support/load-client.js';
import { PostgresServer } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';
import { testRedisUrl } from '../support/redis.js';
import { type Fault, Saboteur } from '../support/saboteur.js';
import { readEffects, type ScriptStep } from '../support/scripted/index.js';
import { until } from '../support/until.js';

const TASKS = atFullSize(1_000, 60);
const SESSIONS = atFullSize(100, 40);
const CHAOS_MS = atFullSize(300_000, 12_000);
/** Up to so long between one fault and the next. */
const PAUSE_MS = atFullSize(5_000, 1_000);
/** What there is time for when there is little. */
const FEW: readonly Fault[] = [
  'SIGKILL of a runtime',
  'crash of Postgres',
  'SIGKILL of a gateway',
  'restart of Redis, which forgets everything',
];
const CALM_MS = 150_000;
const LEASE_SECONDS = '10';

const seed = Math.floor(Math.random() * 2 ** 31);
const chance = new Chance(seed);
const world = mkdtempSync(path.join(tmpdir(), 'switchyard-world-'));
const effects = path.join(world, 'effects');

let redis: RedisServer;
let postgres: PostgresServer;
let installation: Installation;
let stop = (): void => undefined;

const describeWithRedis = testRedisUrl() === undefined ? describe.skip : describe;

async function rowsOf<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
  const sql = new pg.Client({ connectionString: postgres.url, options: '-c search_path=switchyard' });
  await sql.connect();
  try {
    return (await sql.query<Row>(text)).rows;
  } finally {
    await sql.end();
  }
}

/** A few steps with waits in them, checkpoints, questions, and things done to the world. Each run has its own step ids. */
function createScript(): ScriptStep[] {
  const steps = Array.from({ length: chance.between(1, 5) }, (_, at): ScriptStep[] => [
    { event: { type: 'step.started', payload: { step_id: `s${at}-{run}`, step_name: 'Work' } } },
    { wait_ms: chance.between(0, 1_500) },
    { event: { type: 'step.completed', payload: { step_id: `s${at}-{run}` } } },
    { checkpoint: at },
    ...(chance.next() < 0.5 ? [{ effect: effects }] : []),
    ...(chance.next() < 0.1
      ? [{ pause: [{ tool_call_id: `q${at}`, kind: 'question', prompt: 'Which?' }] as const }]
      : []),
  ]);
  return [...steps.flat(), { result: 'done' }];
}

describeWithRedis('everything that can die, dying over and over under load', () => {
  beforeAll(async () => {
    [redis, postgres] = await Promise.all([RedisServer.start(), PostgresServer.start()]);
    const env = { LEASE_SECONDS, AGENTS_FILE: 'test/faults/agents.yaml' };
    installation = await Installation.start({
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      gateways: 2,
      runtimes: 2,
      env,
    });
  }, 180_000);

  afterAll(async () => {
    stop();
    await installation?.stop();
    await Promise.all([redis?.remove(), postgres?.remove()]);
    rmSync(world, { recursive: true, force: true });
  }, 180_000);

  it(
    `loses nothing of ${TASKS} tasks, does nothing twice, and shows every reader the whole of every log`,
    async () => {
      const history = new ClientHistory();
      const client = new LoadClient(history, () => installation.gateways.map(({ url }) => url));
      let busy = 0;
      const cancelled = new Set<string>();

      async function live(at: number): Promise<void> {
        const [taskId, sessionId] = [`chaos-${at}`, `session-${chance.between(1, SESSIONS)}`];
        const [submitAfterMs, cancelAfterMs] = [chance.next() * CHAOS_MS, chance.between(0, 4_000)];
        const isCancelled = chance.next() < 0.15;
        const script = createScript();
        await delay(submitAfterMs, undefined, { ref: false });
        busy += 1;
        await client.submit(taskId, { agent_id: 'scripted', session_id: sessionId, input: { script } });
        const decisions: Promise<void>[] = [];
        const followed = client.follow(taskId, ({ event, data }) => {
          if (event !== 'task.waiting_for_input') return;
          const { payload } = JSON.parse(data) as { payload: { wait_id: string } };
          decisions.push(client.decide(taskId, payload.wait_id));
        });
        if (isCancelled) {
          await delay(cancelAfterMs);
          cancelled.add(taskId);
          await client.cancel(taskId);
        }
        await followed;
        await Promise.all(decisions);
        busy -= 1;
      }

      const saboteur = new Saboteur({ installation, postgres, redis, busy: () => busy }, history, chance);
      // Whatever fails here, nothing may go on behind it.
      stop = () => {
        client.stop();
        saboteur.stop();
      };
      const lives = Promise.all(Array.from({ length: TASKS }, (_, at) => live(at)));
      const limit = delay(CHAOS_MS + CALM_MS, undefined, { ref: false });
      const broken = IS_FULL_SIZE ? saboteur.goOn(CHAOS_MS, PAUSE_MS) : saboteur.breakEach(FEW, PAUSE_MS);
      await Promise.all([broken, Promise.race([lives, limit])]);
      stop();
      await lives;

      const quiet = async (): Promise<boolean> =>
        (await rowsOf('select from task_heads where run_open union all select from outbox')).length === 0;
      await until(quiet, { timeoutMs: 30_000, what: 'everything to be quiet' });
      const verdict = await checkHistory(postgres.url, history, readEffects(effects));
      process.stdout.write(`${JSON.stringify({ seed, faults: verdict.faults, checked: verdict.checked })}\n`);
      assertClean(verdict);
      expect(verdict.checked.tasks).toBe(TASKS);
      // What is cut off from its services waits for them.
      expect(installation.casualties).toEqual([]);
      const others = await rowsOf<{ task_id: string; state: string }>(
        `select task_id, state from tasks join task_heads using (task_key) where state <> 'succeeded'`,
      );
      expect(others.filter(({ task_id, state }) => state !== 'cancelled' || !cancelled.has(task_id))).toEqual([]);
    },
    CHAOS_MS + 2 * CALM_MS,
  );
});
