import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type AuditEntry,
  type EventBody,
  PUSH_EVENTS,
  WEBHOOK_EVENTS,
  type PushConfig,
  type Submission,
} from '#lib/domain';
import { newArtifactId, newEventId } from '#lib/platform';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { Database } from '../database.js';
import { PgDeliveryStore } from './pg-delivery-store.js';
import { PgEventLog } from './pg-event-log.js';
import { PgPushConfigStore } from './pg-push-config-store.js';
import { PgTaskStore } from './pg-task-store.js';

const LEASE_MS = 30_000;
const made = (): EventBody => ({
  type: 'artifact.created',
  payload: {
    artifact: {
      artifact_id: newArtifactId(),
      kind: 'produced',
      name: 'a.txt',
      media_type: 'text/plain',
      size: 1,
      sha256: 'ab',
    },
  },
});
const CANCELLED: EventBody = { type: 'task.cancelled', payload: { forced: false } };
const RECOVERED: EventBody = { type: 'task.recovered', payload: {} };

let test: TestDatabase;
let database: Database;
let tasks: PgTaskStore;
let log: PgEventLog;
let configs: PgPushConfigStore;
let deliveries: PgDeliveryStore;
let backendId: string;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 8, name: 'test' });
  tasks = new PgTaskStore(database);
  log = new PgEventLog(database, database);
  configs = new PgPushConfigStore(database);
  deliveries = new PgDeliveryStore(database);
  backendId = await createBackend(test.url);
});

afterAll(async () => {
  await database?.close();
  await test?.drop();
});

const audit: AuditEntry = {
  tenant: 'acme',
  principal: 'alice',
  keyId: 'k',
  action: 'push_config.create',
  target: 't',
  outcome: 'allowed',
  details: '{}',
  requestId: 'r',
};

async function submit(): Promise<Submission> {
  const submission = createSubmission(backendId);
  await tasks.submit(submission);
  return submission;
}

async function append({ taskKey }: Submission, ...bodies: EventBody[]): Promise<void> {
  const events = bodies.map((body) => ({ eventId: newEventId(), body, json: JSON.stringify(body.payload) }));
  await log.append([{ taskKey, guard: { kind: 'control', from: ['queued', 'running'] }, events }]);
}

function put({ taskKey }: Submission, change: Partial<PushConfig> = {}, isFromStart = false): Promise<boolean> {
  const config = {
    taskKey,
    id: 'one',
    tenant: 'acme',
    principal: 'alice',
    url: 'https://a.example/x',
    credentials: null,
  };
  return configs.put({ ...config, format: 'f', ...change }, { isFromStart, maxPerTask: 3, audit });
}

/** Types of what is sent for a task, by config, in order. */
async function sent({ taskKey }: Submission): Promise<Record<string, string[]>> {
  const told: Record<string, string[]> = {};
  for (const { lane } of await deliveries.dueLanes('', { lanes: 100, perLane: 4 })) {
    for (let next = await deliveries.claim(lane, LEASE_MS); next; next = await deliveries.claim(lane, LEASE_MS)) {
      if (next.taskKey === taskKey && next.url !== null) (told[next.push!.id] ??= []).push(next.facts.type);
      await deliveries.settle(next, { status: 204, latencyMs: 1 }, { kind: 'delivered' });
    }
  }
  return told;
}

describe('configs of pushes', () => {
  it('are told what happens from then on, or from the beginning, each in order', async () => {
    const task = await submit();
    await append(task, made(), RECOVERED);
    await put(task, { id: 'early' }, true);
    await put(task, { id: 'late' });
    await append(task, CANCELLED);
    expect(await sent(task)).toEqual({ early: ['artifact.created', 'task.cancelled'], late: ['task.cancelled'] });
  });

  it('miss nothing that is stored while they are made, and are told it once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const task = await submit();
      await Promise.all([append(task, made()), put(task, {}, true), append(task, made()), put(task, {}, true)]);
      expect(await sent(task)).toEqual({ one: ['artifact.created', 'artifact.created'] });
    }
  });

  it('are bounded in number, replaced by their id, and told nothing once they are gone', async () => {
    const task = await submit();
    expect([await put(task), await put(task, { id: 'two' }), await put(task, { id: 'three' })]).toEqual([
      true,
      true,
      true,
    ]);
    expect(await put(task, { id: 'four' })).toBe(false);
    expect(await put(task, { url: 'https://b.example/y' })).toBe(true);
    await append(task, made());
    expect(await configs.remove(task.taskKey, 'two', audit)).toBe(true);
    expect(await configs.remove(task.taskKey, 'two', audit)).toBe(false);
    const left = await configs.list(task.taskKey);
    expect(left.map(({ id, url }) => [id, url])).toEqual([
      ['one', 'https://b.example/y'],
      ['three', 'https://a.example/x'],
    ]);
    expect(await sent(task)).toEqual({ one: ['artifact.created'], three: ['artifact.created'] });
    expect(await deliveries.list({ taskKey: task.taskKey }, { limit: 10 })).toEqual({ items: [] });
  });

  it('and callbacks are told the events that the trigger names', async () => {
    const [row] = await database.query<{ definition: string }>(
      {
        name: '',
        text: `select prosrc as definition from pg_proc where proname = 'tell'`,
      },
      [],
    );
    const named = [...row!.definition.matchAll(/event_type in \(([^)]+)\)/g)].map(([, list]) =>
      [...list!.matchAll(/'([a-z_.]+)'/g)].map(([, type]) => type).sort(),
    );
    expect(named).toEqual([[...WEBHOOK_EVENTS].sort(), [...PUSH_EVENTS].sort()]);
  });
});
