import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type AuditEntry,
  type ClaimedDelivery,
  type DeliveryVerdict,
  type EventBody,
  encodeNotice,
  type Submission,
  type TaskState,
  WEBHOOK_EVENTS,
  type WebhookRecord,
  type WebhookSettings,
} from '#lib/domain';
import { newEventId, newMessageId } from '#lib/platform';
import type pg from 'pg';
import { ownerClient } from '../../../../test/support/aged-task.js';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { until } from '../../../../test/support/until.js';
import { Database } from '../database.js';
import { PgDeliveryStore } from './pg-delivery-store.js';
import { PgEventLog } from './pg-event-log.js';
import { PgTaskStore } from './pg-task-store.js';
import { PgWebhookStore } from './pg-webhook-store.js';

const STALLED: EventBody = { type: 'task.stalled', payload: { reason: 'no_progress', waiting_on: 'worker' } };
const RECOVERED: EventBody = { type: 'task.recovered', payload: {} };
const CANCELLED: EventBody = { type: 'task.cancelled', payload: { forced: false, reason: 'enough' } };
const LEASE_MS = 30_000;
const DELIVERED: DeliveryVerdict = { kind: 'delivered' };
const GIVEN_UP: DeliveryVerdict = { kind: 'failed', endpointGone: false };
const GONE: DeliveryVerdict = { kind: 'failed', endpointGone: true };
const later = (delayMs: number): DeliveryVerdict => ({ kind: 'retry', delayMs });
const SUCCESS = { status: 204, latencyMs: 3 };
const FAILURE = { status: 500, error: 'http', latencyMs: 3 } as const;

let test: TestDatabase;
let database: Database;
let owner: pg.Client;
let tasks: PgTaskStore;
let log: PgEventLog;
let webhooks: PgWebhookStore;
let deliveries: PgDeliveryStore;
let backendId: string;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 4, name: 'test' });
  owner = await ownerClient(test.url);
  tasks = new PgTaskStore(database);
  log = new PgEventLog(database, database);
  webhooks = new PgWebhookStore(database);
  deliveries = new PgDeliveryStore(database);
  backendId = await createBackend(test.url);
});

beforeEach(async () => {
  await owner.query('truncate webhooks, callback_secrets, webhook_deliveries');
});

afterAll(async () => {
  await owner?.end();
  await database?.close();
  await test?.drop();
});

const audit = (action: string): AuditEntry => ({
  tenant: 'acme',
  principal: 'alice',
  keyId: 'k',
  action,
  target: 't',
  outcome: 'allowed',
  details: '{}',
  requestId: 'r',
});

type Terms = Partial<WebhookSettings> & { readonly tenant?: string; readonly principal?: string };

async function subscribe({ tenant = 'acme', principal = 'alice', ...terms }: Terms = {}): Promise<WebhookRecord> {
  const settings: WebhookSettings = {
    url: 'https://receiver.example/hook',
    description: null,
    events: WEBHOOK_EVENTS,
    agentIds: null,
    enabled: true,
    reach: 'own',
    ...terms,
  };
  const id = newMessageId().replace('msg_', 'wh_');
  const made = { secret: Buffer.from('sealed'), maxPerTenant: 100, audit: audit('webhook.create') };
  return (await webhooks.create({ id, tenant, principal, ...settings }, made))!;
}

async function submit(change: Partial<Submission> = {}): Promise<Submission> {
  const submission = createSubmission(backendId, change);
  await tasks.submit(submission);
  return submission;
}

async function append({ taskKey }: Pick<Submission, 'taskKey'>, ...bodies: EventBody[]): Promise<void> {
  const events = bodies.map((body) => ({ eventId: newEventId(), body, json: JSON.stringify(body.payload) }));
  const from: readonly TaskState[] = ['queued', 'running'];
  const appended = await log.append([{ taskKey, guard: { kind: 'control', from }, events }]);
  expect(appended).toHaveLength(1);
}

const lanes = async (): Promise<readonly string[]> =>
  (await deliveries.dueLanes('', { lanes: 100, perLane: 4 })).filter(({ due }) => due > 0).map(({ lane }) => lane);
const claim = (lane: string, leaseMs = LEASE_MS): Promise<ClaimedDelivery | undefined> =>
  deliveries.claim(lane, leaseMs);
const makeDue = async (): Promise<unknown> =>
  owner.query(`update webhook_deliveries set next_attempt_at = now() - interval '1 s' where state = 'pending'`);
const list = async (webhookId: string) => (await deliveries.list({ webhookId }, { limit: 50 })).items;

describe('deliveries', () => {
  it('are made with the event, for those who may see the task and asked for it, and for nobody else', async () => {
    const own = await subscribe();
    const all = await subscribe({ principal: 'boss', reach: 'tenant' });
    const [stranger, bob, elsewhere, off, picky] = [
      await subscribe({ tenant: 'other', reach: 'tenant' }),
      await subscribe({ principal: 'bob' }),
      await subscribe({ agentIds: ['b'] }),
      await subscribe({ enabled: false }),
      await subscribe({ events: ['task.failed'], agentIds: ['a'] }),
    ];
    const task = await submit();
    expect(await lanes()).toEqual([]);
    await append(task, STALLED);
    await append(task, CANCELLED);
    expect((await lanes()).toSorted()).toEqual([own.id, all.id].toSorted());
    for (const { id } of [stranger, bob, elsewhere, off, picky]) expect(await list(id)).toEqual([]);
    expect((await list(own.id)).map(({ event, seq, state }) => [event, seq, state])).toEqual([
      ['task.cancelled', 3, 'pending'],
      ['task.stalled', 2, 'pending'],
    ]);
  });

  it('are made for the callback of a task, in one lane per tenant and origin', async () => {
    const callbackUrl = 'https://Caller.example/a?b=1';
    const [one, two, far] = [
      await submit({ callbackUrl }),
      await submit({ callbackUrl: 'https://caller.example/other' }),
      await submit({ callbackUrl, tenant: 'other' }),
    ];
    await webhooks.ensureCallbackSecret({ tenant: 'acme', principal: 'alice' }, Buffer.from('first'));
    for (const task of [one, two, far]) await append(task, CANCELLED);
    const found = await lanes();
    expect(found).toHaveLength(2);
    const claimed = await Promise.all(found.map((lane) => claim(lane)));
    const ours = claimed.find((delivery) => delivery?.tenant === 'acme');
    expect(ours).toMatchObject({ webhookId: null, secrets: [Buffer.from('first')], attempt: 1, tries: 0 });
    expect(claimed.find((delivery) => delivery?.tenant === 'other')?.secrets).toEqual([]);
    const { items } = await deliveries.list({ taskKey: one.taskKey }, { limit: 5 });
    expect(items).toMatchObject([{ event: 'task.cancelled', taskId: one.taskId, attempts: [] }]);
  });

  it('tell the task as it was at the event, in the same bytes each time', async () => {
    const { id } = await subscribe();
    const task = await submit();
    await append(task, STALLED);
    await append(task, CANCELLED);
    const first = (await claim(id))!;
    const body = encodeNotice(first.facts);
    expect(JSON.parse(body)).toMatchObject({
      type: 'task.stalled',
      data: {
        task_id: task.taskId,
        state: 'queued',
        status: 'pending',
        last_seq: 2,
        stalled: true,
        waiting_on: 'worker',
      },
    });
    await deliveries.settle(first, FAILURE, later(0));
    expect(encodeNotice((await claim(id))!.facts)).toBe(body);
  });
});

describe('a claim', () => {
  it('takes a delivery once, however many ask at a time', async () => {
    const { id } = await subscribe();
    for (let n = 0; n < 5; n += 1) await append(await submit(), CANCELLED);
    const claimed = await Promise.all(Array.from({ length: 12 }, () => claim(id)));
    const won = claimed.filter((delivery) => delivery !== undefined);
    expect(new Set(won.map(({ eventId }) => eventId)).size).toBe(won.length);
    let rest = 0;
    while (await claim(id)) rest += 1;
    expect(won.length + rest).toBe(5);
  });

  it('leaves a later event of the task until the earlier one is delivered or given up', async () => {
    const { id } = await subscribe();
    const task = await submit();
    await append(task, STALLED);
    await append(task, RECOVERED);
    await append(task, CANCELLED);
    const first = (await claim(id))!;
    expect(first.facts.type).toBe('task.stalled');
    expect(await claim(id)).toBeUndefined();
    await deliveries.settle(first, FAILURE, later(3_600_000));
    await owner.query(`update webhook_deliveries set next_attempt_at = now() where seq > 2`);
    expect(await claim(id)).toBeUndefined();
    await makeDue();
    const again = (await claim(id))!;
    expect(again).toMatchObject({ eventId: first.eventId, attempt: 2, tries: 1 });
    await deliveries.settle(again, SUCCESS, DELIVERED);
    const second = (await claim(id))!;
    expect(second.facts.type).toBe('task.recovered');
    await deliveries.settle(second, FAILURE, GIVEN_UP);
    expect((await claim(id))?.facts.type).toBe('task.cancelled');
  });

  it('is over with its lease: who was slower records nothing', async () => {
    const { id } = await subscribe();
    await append(await submit(), CANCELLED);
    const slow = (await claim(id, 0))!;
    const quick = (await claim(id))!;
    expect(quick).toMatchObject({ eventId: slow.eventId, attempt: 2 });
    expect(await deliveries.settle(slow, FAILURE, GONE)).toEqual({ recorded: false });
    expect(await deliveries.settle(quick, SUCCESS, DELIVERED)).toEqual({ recorded: true });
    expect(await list(id)).toMatchObject([{ state: 'delivered', attempts: [{ attempt: 2, status: 204 }] }]);
    expect((await webhooks.find({ tenant: 'acme' }, id))?.enabled).toBe(true);
  });
});

describe('an endpoint', () => {
  it('that says it is gone is switched off with what is left for it, on the record', async () => {
    const { id } = await subscribe();
    for (let n = 0; n < 3; n += 1) await append(await submit(), CANCELLED);
    const outcome = { status: 410, error: 'http', latencyMs: 1 } as const;
    expect(await deliveries.settle((await claim(id))!, outcome, GONE)).toEqual({ recorded: true, stopped: 'gone' });
    expect(await webhooks.find({ tenant: 'acme' }, id)).toMatchObject({ enabled: false, stoppedBy: 'gone' });
    expect((await list(id)).map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
    const { rows } = await owner.query(`select * from audit_records where target = $1`, [id]);
    expect(rows).toMatchObject([
      { action: 'webhook.disable', tenant: 'acme', principal: 'system', outcome: 'allowed' },
    ]);
    await append(await submit(), CANCELLED);
    expect(await lanes()).toEqual([]);
  });

  it('is switched off when every attempt of five days has failed, and not when one has not', async () => {
    const { id } = await subscribe();
    await append(await submit(), CANCELLED);
    const find = () => webhooks.find({ tenant: 'acme' }, id);
    const fail = async () => {
      await makeDue();
      return deliveries.settle((await claim(id))!, FAILURE, later(1_000));
    };
    const age = (days: number) =>
      owner.query(`update webhooks set failing_since = now() - make_interval(days => $1)`, [days]);
    await fail();
    expect((await find())?.failingSinceMs).not.toBeNull();
    await age(4);
    expect(await fail()).toEqual({ recorded: true });
    await makeDue();
    await deliveries.settle((await claim(id))!, SUCCESS, DELIVERED);
    expect(await find()).toMatchObject({ enabled: true, failingSinceMs: null });
    await append(await submit(), CANCELLED);
    await fail();
    await age(6);
    expect(await fail()).toEqual({ recorded: true, stopped: 'failing' });
    const stopped = (await find())!;
    expect(stopped).toMatchObject({ enabled: false, stoppedBy: 'failing' });
    const on = await webhooks.update(stopped, { ...stopped, enabled: true }, audit('webhook.change'));
    expect(on).toMatchObject({ enabled: true, stoppedBy: null, stoppedAtMs: null, failingSinceMs: null });
  });

  it('that was changed since it was read is not changed by who read it before', async () => {
    const seen = await subscribe();
    await webhooks.update(seen, { ...seen, enabled: false }, audit('webhook.change'));
    expect(await webhooks.update(seen, { ...seen, url: 'https://b.example' }, audit('webhook.change'))).toBeUndefined();
    expect(await webhooks.find({ tenant: 'acme' }, seen.id)).toMatchObject({
      enabled: false,
      stoppedBy: 'owner',
      url: seen.url,
    });
  });

  it('that is off or removed gets nothing of what was claimed for it before', async () => {
    const [one, two] = [await subscribe(), await subscribe()];
    await append(await submit(), CANCELLED);
    const claimed = (await claim(one.id, 0))!;
    await owner.query('update webhooks set enabled = false where webhook_id = $1', [one.id]);
    expect(await claim(one.id)).toMatchObject({ eventId: claimed.eventId, url: null });
    expect(await webhooks.remove(two, audit('webhook.delete'))).toBe(true);
    expect(await lanes()).toEqual([]);
    expect((await list(two.id)).map(({ state }) => state)).toEqual(['failed']);
  });

  it('is one of so many at most', async () => {
    const { id, ...webhook } = await subscribe();
    const made = { secret: Buffer.from('s'), maxPerTenant: 1, audit: audit('webhook.create') };
    expect(await webhooks.create({ ...webhook, id: `${id}2` }, made)).toBeUndefined();
    expect(await webhooks.create({ ...webhook, id: `${id}2`, tenant: 'other' }, made)).toBeDefined();
  });
});

describe('a secret', () => {
  it('goes on beside the new one for as long as was asked', async () => {
    const webhook = await subscribe();
    const change = { secret: Buffer.from('second'), overlapMs: 60_000, audit: audit('webhook.rotate') };
    const rotated = await webhooks.rotate(webhook, change);
    expect(rotated!.oldSecretUntilMs! - rotated!.secretSinceMs).toBe(60_000);
    expect(await webhooks.secrets(webhook.id)).toEqual([Buffer.from('second'), Buffer.from('sealed')]);
    await append(await submit(), CANCELLED);
    expect((await claim(webhook.id, 0))?.secrets).toEqual([Buffer.from('second'), Buffer.from('sealed')]);
    await owner.query(`update webhooks set old_secret_until = now()`);
    expect(await webhooks.secrets(webhook.id)).toEqual([Buffer.from('second')]);
    expect((await claim(webhook.id, 0))?.secrets).toEqual([Buffer.from('second')]);
    expect((await webhooks.find({ tenant: 'acme' }, webhook.id))?.oldSecretUntilMs).toBeNull();
  });

  it('of callbacks is made once, and rotated like that of a webhook', async () => {
    const who = { tenant: 'acme', principal: 'alice' };
    const change = { secret: Buffer.from('b'), overlapMs: 60_000, audit: audit('callbacks.rotate') };
    expect(await webhooks.rotateCallbackSecret(who, change)).toBeNull();
    await webhooks.ensureCallbackSecret(who, Buffer.from('c'));
    expect(await webhooks.rotateCallbackSecret(who, { ...change, secret: Buffer.from('d') })).toEqual(
      expect.any(Number),
    );
    const task = await submit({ callbackUrl: 'https://caller.example/' });
    await append(task, CANCELLED);
    const [lane] = await lanes();
    expect((await claim(lane!))?.secrets).toEqual([Buffer.from('d'), Buffer.from('b')]);
  });
});

describe('a replay', () => {
  it('sends what was delivered or given up again, under its name, and holds nobody up', async () => {
    const { id } = await subscribe();
    const task = await submit();
    await append(task, STALLED);
    const first = (await claim(id))!;
    await deliveries.settle(first, FAILURE, GIVEN_UP);
    const replayed = await deliveries.replay({ webhookId: id }, first.eventId, audit('webhook.replay'));
    expect(replayed).toMatchObject({ state: 'pending', attempts: [{ attempt: 1, status: 500 }] });
    await append(task, CANCELLED);
    const types = [(await claim(id))!, (await claim(id))!].map(({ facts, attempt, tries }) => [
      facts.type,
      attempt,
      tries,
    ]);
    expect(types).toEqual([
      ['task.stalled', 2, 0],
      ['task.cancelled', 1, 0],
    ]);
    expect(await deliveries.replay({ webhookId: 'wh_x' }, first.eventId, audit('webhook.replay'))).toBeUndefined();
    const elsewhere = { taskKey: task.taskKey };
    expect(await deliveries.replay(elsewhere, first.eventId, audit('webhook.replay'))).toBeUndefined();
  });

  it('leaves the newest attempts in the log', async () => {
    const { id } = await subscribe();
    await append(await submit(), CANCELLED);
    // Times are rounded to the millisecond: at once may be half of one from now.
    for (let n = 0; n < 33; n += 1) await deliveries.settle(await until(() => claim(id)), FAILURE, later(0));
    const [delivery] = await list(id);
    expect(delivery?.attempts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 30 }, (_, n) => n + 4));
  });
});

it('lanes are found past any number of others, page by page', async () => {
  const hooks = await Promise.all(Array.from({ length: 7 }, () => subscribe()));
  await append(await submit(), CANCELLED);
  const found: string[] = [];
  for (let after = ''; ; after = found.at(-1)!) {
    const page = await deliveries.dueLanes(after, { lanes: 3, perLane: 4 });
    found.push(...page.map(({ lane }) => lane));
    if (page.length < 3) break;
  }
  expect(found).toEqual(hooks.map(({ id }) => id).toSorted());
});
