import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { Scope } from '#lib/domain';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { RedisServer } from '../support/redis-server.js';
import type { ScriptStep } from '../support/scripted/index.js';
import { until } from '../support/until.js';
import { type Received, WebhookReceiver } from '../support/webhook-receiver.js';

jest.setTimeout(90_000);

type Body = Record<string, unknown>;
type Answer = Awaited<ReturnType<typeof call>>;

const SCOPES: readonly Scope[] = [
  'tasks:submit',
  'tasks:read',
  'tasks:cancel',
  'tasks:decide',
  'webhooks:read',
  'webhooks:write',
  'audit:read',
];
const DONE: readonly ScriptStep[] = [{ result: 'done' }];
const ASKING: readonly ScriptStep[] = [
  { pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Well?' }] },
  { result: 'answered' },
];
const BURST = 200;
const HANG = (): void => undefined;
const headersOf = ({ headers }: Received): Record<string, string> => headers as Record<string, string>;
const verify = (secret: string, message: Received): unknown =>
  new Webhook(secret).verify(message.text, headersOf(message));
const typesOf = (messages: readonly Received[]): string[] => messages.map(({ body }) => body.type);

describeEachBackingSet(({ name }) => {
  let database: TestDatabase;
  let redis: RedisServer | undefined;
  let installation: Installation;
  let receiver: WebhookReceiver;
  let keys: Record<'ann' | 'bob' | 'boss' | 'stranger', string>;
  let paths = 0;

  beforeAll(async () => {
    database = await createDatabase();
    keys = await createKeys(database.url, {
      ann: { principal: 'ann', scopes: SCOPES },
      bob: { principal: 'bob', scopes: SCOPES },
      boss: { principal: 'boss', scopes: [...SCOPES, 'tasks:all'] },
      stranger: { tenant: 'other', principal: 'ann', scopes: [...SCOPES, 'tasks:all'] },
    });
    redis = name === 'redis' ? await RedisServer.start() : undefined;
    receiver = await WebhookReceiver.start();
    installation = await Installation.start({
      databaseUrl: database.url,
      redisUrl: redis?.url,
      gateways: 2,
      runtimes: 1,
      env: {
        OUTBOUND_ALLOW: 'webhook=127.0.0.1',
        WEBHOOK_TIMEOUT_SECONDS: '1',
        WEBHOOK_RETRY_SECONDS: '1,1,1,2,2,2,60',
      },
    });
  });

  afterAll(async () => {
    await installation?.stop();
    await receiver?.close();
    await redis?.remove();
    await database?.drop();
  });

  const at = (path: string, gateway = 0): string => `${installation.gateways[gateway]!.url}/v1${path}`;
  const newPath = (): string => `/hook-${(paths += 1)}`;

  async function ok(answer: Promise<Answer>): Promise<Body> {
    const { status, body } = await answer;
    expect({ status, body: status < 300 ? undefined : body }).toEqual({ status, body: undefined });
    return body;
  }

  const subscribe = (path: string, more: Body = {}, key = keys.ann): Promise<Body> =>
    ok(call(at('/webhooks'), { key, body: { url: `${receiver.url}${path}`, ...more } }));
  const callback = (path: string): Body => ({ callback: { url: `${receiver.url}${path}` } });

  async function submit(script: readonly ScriptStep[], more: Body = {}, key = keys.ann): Promise<string> {
    const body = { agent_id: 'scripted', input: { script }, ...more };
    return String((await ok(call(at('/tasks', 1), { key, body })))['task_id']);
  }

  /** Ends a task nobody has begun, on the spot. */
  async function cancelled(more: Body = {}, key = keys.ann): Promise<string> {
    const taskId = await submit([{ wait_ms: 60_000 }], more, key);
    await ok(call(at(`/tasks/${taskId}/cancel`), { method: 'POST', key }));
    return taskId;
  }

  const deliveriesOf = async (webhookId: unknown): Promise<Body[]> =>
    (await ok(call(at(`/webhooks/${String(webhookId)}/deliveries`), { key: keys.boss })))['deliveries'] as Body[];
  const arrived = (path: string, count = 1): Promise<readonly Received[]> =>
    until(() => (receiver.at(path).length >= count ? receiver.at(path) : undefined), { timeoutMs: 25_000 });

  it('a webhook and a callback are told the end of a task, each signed with its own secret', async () => {
    const [hook, back] = [newPath(), newPath()];
    const { secret } = await subscribe(hook, { events: ['task.succeeded'] });
    const { secret: ofCallbacks } = await ok(call(at('/callback-secret:rotate'), { method: 'POST', key: keys.ann }));
    const taskId = await submit(DONE, callback(back));
    const [[told], [called]] = [await arrived(hook), await arrived(back)];
    expect(verify(String(secret), told!)).toEqual(told!.body);
    expect(verify(String(ofCallbacks), called!)).toEqual(called!.body);
    expect(() => verify(String(secret), called!)).toThrow();
    expect(called!.text).toBe(told!.text);
    expect(told!.body).toMatchObject({
      type: 'task.succeeded',
      data: {
        task_id: taskId,
        agent_id: 'scripted',
        state: 'succeeded',
        status: 'success',
        result: { text: 'done' },
        error: null,
      },
    });
    expect(told!.body.data['event_id']).toBe(told!.id);
    const [delivery] = (await ok(call(at(`/tasks/${taskId}/deliveries`), { key: keys.ann })))['deliveries'] as Body[];
    expect(delivery).toMatchObject({
      delivery_id: told!.id,
      state: 'delivered',
      attempts: [{ attempt: 1, status: 204 }],
    });
  });

  it('attempts go on until one succeeds, under one name and newly signed, and what comes later waits', async () => {
    const path = newPath();
    const { secret, webhook_id: id } = await subscribe(path);
    let attempts = 0;
    receiver.on(path, (_, response) => {
      attempts += 1;
      if (attempts === 1) return 500;
      if (attempts === 2) return void response.writeHead(302, { location: `${receiver.url}/elsewhere` }).end();
      if (attempts === 3) return HANG();
      return 204;
    });
    const taskId = await submit(ASKING);
    await until(
      async () => (await call(at(`/tasks/${taskId}`), { key: keys.ann })).body['state'] === 'waiting_for_input',
    );
    await ok(call(at(`/tasks/${taskId}/resume`), { key: keys.ann, body: { input: 'so' } }));
    const messages = await arrived(path, 5);
    expect(typesOf(messages)).toEqual([...Array<string>(4).fill('task.waiting_for_input'), 'task.succeeded']);
    expect(new Set(messages.slice(0, 4).map(({ id, text }) => `${id} ${text}`)).size).toBe(1);
    for (const message of messages) expect(verify(String(secret), message)).toEqual(message.body);
    expect(messages[0]!.body.data).toMatchObject({
      state: 'waiting_for_input',
      wait_id: expect.any(String),
      pending_confirms: [{ tool_call_id: 'q', kind: 'question', prompt: 'Well?' }],
    });
    expect(receiver.at('/elsewhere')).toEqual([]);
    const [later, first] = await until(async () => {
      const found = await deliveriesOf(id);
      return found.every(({ state }) => state === 'delivered') ? found : undefined;
    });
    expect((first!['attempts'] as Body[]).map(({ status, error }) => [status, error])).toEqual([
      [500, 'http'],
      [302, 'redirect'],
      [null, 'timeout'],
      [204, null],
    ]);
    expect(later).toMatchObject({ event: 'task.succeeded', attempts: [{ attempt: 1, status: 204, error: null }] });
  });

  it('a gateway that dies with a message sent and nothing recorded leaves it to others, under the same name', async () => {
    const path = newPath();
    const { webhook_id: id } = await subscribe(path, { events: ['task.cancelled'] });
    receiver.on(path, HANG);
    await cancelled();
    await arrived(path);
    await Promise.all(installation.gateways.splice(0).map((gateway) => gateway.end('SIGKILL')));
    receiver.on(path, () => 204);
    await Promise.all([installation.addGateway(), installation.addGateway()]);
    const [first, second] = await arrived(path, 2);
    expect([second!.id, second!.text]).toEqual([first!.id, first!.text]);
    const [delivery] = await until(async () => {
      const found = await deliveriesOf(id);
      return found[0]!['state'] === 'delivered' ? found : undefined;
    });
    expect(delivery!['attempts']).toMatchObject([{ attempt: 2, status: 204 }]);
  });

  if (name === 'redis') {
    it('messages go out while Redis is away', async () => {
      const path = newPath();
      await subscribe(path, { events: ['task.cancelled'] });
      await redis!.kill();
      const taskId = await cancelled();
      const [message] = await arrived(path);
      expect(message!.body.data['task_id']).toBe(taskId);
      await redis!.start();
    });
    return;
  }

  // What does not depend on where the queue lives is shown once.

  it('an independent verifier refuses what was changed, is old, or has another name', async () => {
    const path = newPath();
    const { secret } = await subscribe(path);
    await cancelled();
    const [message] = await arrived(path);
    const verifier = new Webhook(String(secret));
    const headers = headersOf(message!);
    expect(verifier.verify(message!.text, headers)).toEqual(message!.body);
    expect(() => verifier.verify(message!.text.replace('cancelled', 'succeeded'), headers)).toThrow();
    expect(() => verifier.verify(message!.text, { ...headers, 'webhook-id': 'evt_other' })).toThrow();
    const old = String(Number(headers['webhook-timestamp']) - 600);
    expect(() => verifier.verify(message!.text, { ...headers, 'webhook-timestamp': old })).toThrow();
  });

  it('Retry-After puts the next attempt off', async () => {
    const path = newPath();
    await subscribe(path);
    receiver.on(path, (_, response) => {
      if (receiver.at(path).length > 1) return 204;
      return void response.writeHead(429, { 'retry-after': '3' }).end();
    });
    await cancelled();
    const [first, second] = await arrived(path, 2);
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(3_000);
  });

  it('410 switches a webhook off on the record; switched on, it is told what happens from then on, and the rest by hand', async () => {
    const path = newPath();
    const { webhook_id: id } = await subscribe(path);
    const place = `/webhooks/${String(id)}`;
    receiver.on(path, () => 410);
    const lost = await cancelled();
    const off = await until(async () => {
      const { body } = await call(at(place, 1), { key: keys.ann });
      return body['enabled'] === false ? body : undefined;
    });
    expect(off).toMatchObject({ disabled_reason: 'gone', disabled_at: expect.any(String) });
    await cancelled();
    receiver.on(path, () => 204);
    const [delivery] = await deliveriesOf(id);
    const replay = `${place}/deliveries/${String(delivery!['delivery_id'])}:replay`;
    expect((await call(at(replay), { method: 'POST', key: keys.ann })).status).toBe(400);
    const on = await ok(call(at(place), { method: 'PATCH', key: keys.ann, body: { enabled: true } }));
    expect(on).toMatchObject({ enabled: true, disabled_reason: null, disabled_at: null, failing_since: null });
    const next = await cancelled();
    await arrived(path, 2);
    expect(await ok(call(at(replay), { method: 'POST', key: keys.ann }))).toMatchObject({ state: 'pending' });
    const messages = await arrived(path, 3);
    expect(messages.map(({ body }) => body.data['task_id'])).toEqual([lost, next, lost]);
    expect(messages[2]!.id).toBe(messages[0]!.id);
  });

  it('both secrets sign while one follows the other, and then the new one alone', async () => {
    const path = newPath();
    const { webhook_id: id, secret: first } = await subscribe(path);
    const rotate = (overlap: number): Promise<Body> =>
      ok(call(at(`/webhooks/${String(id)}/secret:rotate`), { key: keys.ann, body: { overlap_seconds: overlap } }));
    const { secret: second, old_secret_until: until1 } = await rotate(3_600);
    expect(until1).toEqual(expect.any(String));
    const test = await ok(call(at(`/webhooks/${String(id)}/test`), { method: 'POST', key: keys.ann }));
    expect(test).toEqual({ delivered: true, status: 204, error: null, latency_ms: expect.any(Number) });
    const [ping] = await arrived(path);
    expect(ping!.body).toMatchObject({ type: 'webhook.test', data: { webhook_id: id } });
    for (const secret of [first, second]) expect(verify(String(secret), ping!)).toEqual(ping!.body);
    const { secret: third } = await rotate(0);
    await ok(call(at(`/webhooks/${String(id)}/test`), { method: 'POST', key: keys.ann }));
    const [, alone] = await arrived(path, 2);
    expect(verify(String(third), alone!)).toEqual(alone!.body);
    for (const secret of [first, second]) expect(() => verify(String(secret), alone!)).toThrow();
    const { records } = await ok(call(at(`/audit?action=webhook.test&target=${String(id)}`), { key: keys.ann }));
    const record = { principal: 'ann', outcome: 'allowed', details: { origin: receiver.url } };
    expect(records).toMatchObject([record, record]);
  });

  it('everybody is told of what they may see, and nobody reaches what is another’s', async () => {
    const wanted = { ann: newPath(), bob: newPath(), boss: newPath(), stranger: newPath() };
    const made = {} as Record<keyof typeof wanted, Body>;
    for (const who of Object.keys(wanted) as (keyof typeof wanted)[]) {
      made[who] = await subscribe(wanted[who], { events: ['task.cancelled'] }, keys[who]);
    }
    expect([made.ann['reach'], made.boss['reach']]).toEqual(['own', 'tenant']);
    const tasks = [await cancelled({}, keys.ann), await cancelled({}, keys.bob), await cancelled({}, keys.stranger)];
    await arrived(wanted.boss, 2);
    await Promise.all([arrived(wanted.ann), arrived(wanted.bob), arrived(wanted.stranger)]);
    const seen = (path: string): number[] =>
      receiver.at(path).map(({ body }) => tasks.indexOf(String(body.data['task_id'])));
    expect(Object.values(wanted).map((path) => seen(path).toSorted())).toEqual([[0], [1], [0, 1], [2]]);
    const place = `/webhooks/${String(made.ann['webhook_id'])}`;
    for (const key of [keys.bob, keys.stranger]) {
      expect((await call(at(place), { key })).status).toBe(404);
      expect((await call(at(place), { method: 'PATCH', key, body: { enabled: false } })).status).toBe(404);
      expect((await call(at(`${place}/test`), { method: 'POST', key })).status).toBe(404);
    }
    const listed = (await ok(call(at('/webhooks'), { key: keys.bob })))['webhooks'] as Body[];
    expect(listed.map(({ webhook_id: id }) => id)).toEqual([made.bob['webhook_id']]);
    expect(JSON.stringify(listed)).not.toContain('whsec_');
    expect((await call(at(place), { method: 'DELETE', key: keys.boss })).status).toBe(204);
    expect((await call(at(place), { key: keys.ann })).status).toBe(404);
  });

  it('what cannot be sent to is refused with its path, before anything is stored', async () => {
    const refusedAt = async (url: string): Promise<unknown> => {
      const { status, body } = await call(at('/webhooks'), { key: keys.ann, body: { url } });
      return [status, (body['errors'] as Body[])[0]!['path']];
    };
    for (const url of [
      'http://169.254.169.254/',
      'http://[::1]:3000/',
      'ftp://a.example/',
      'nonsense',
      'http://a:b@127.0.0.1/',
    ])
      expect(await refusedAt(url)).toEqual([400, '/url']);
    const task = { agent_id: 'scripted', input: 'x', callback: { url: 'http://10.0.0.1/' } };
    expect(await call(at('/tasks'), { key: keys.ann, body: task })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ path: '/callback/url' }] },
    });
  });

  it('one receiver that hangs holds up nobody else, and all messages arrive once each', async () => {
    const [slow, quick] = [newPath(), newPath()];
    const { webhook_id: id } = await subscribe(slow, { events: ['task.cancelled'] });
    await subscribe(quick, { events: ['task.cancelled'] });
    receiver.on(slow, HANG);
    const tasks: string[] = [];
    while (tasks.length < BURST) tasks.push(...(await Promise.all(Array.from({ length: 20 }, () => cancelled()))));
    const messages = await arrived(quick, BURST);
    expect(messages.map(({ body }) => String(body.data['task_id'])).toSorted()).toEqual(tasks.toSorted());
    expect((await deliveriesOf(id)).map(({ state }) => state)).not.toContain('delivered');
    receiver.on(slow, () => 410);
  });
});
