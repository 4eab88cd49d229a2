import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GuardedOutbound, parseOutboundRules, SecretBox, WebhookSigner } from '#lib/security';
import { Webhook } from 'standardwebhooks';
import { until } from '../../../../test/support/until.js';
import { WebhookReceiver } from '../../../../test/support/webhook-receiver.js';
import { DeliverySender, type Message } from './delivery.sender.js';

const signing = new WebhookSigner(new SecretBox([{ id: 'k', secret: randomBytes(32) }]));
const { shown, sealed } = signing.mint('mine');
const TIMEOUT_MS = 300;

let receiver: WebhookReceiver;
let sender: DeliverySender;
let message: Message;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  const outbound = new GuardedOutbound({ allowPublic: true, rules: parseOutboundRules('webhook=127.0.0.1')! });
  sender = new DeliverySender({ outbound, signing, pushes: () => ({ type: '', bodies: [] }) }, TIMEOUT_MS);
});
afterAll(() => receiver.close());
beforeEach(() => {
  receiver.received.length = 0;
  message = { id: 'evt_1', body: '{"n":1}', url: `${receiver.url}/a`, secrets: [sealed], purpose: 'mine' };
});

const latencyMs = expect.any(Number);

describe('a message that is sent', () => {
  it('is posted as JSON with a signature an independent verifier takes', async () => {
    expect(await sender.send(message)).toEqual({ status: 204, latencyMs });
    const [{ headers, text }] = receiver.received as [(typeof receiver.received)[0]];
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Switchyard-Webhooks/1' });
    expect(new Webhook(shown).verify(text, headers as Record<string, string>)).toEqual({ n: 1 });
  });

  it('is delivered with the head of the answer, however long its body goes on', async () => {
    let hasLeft = false;
    receiver.on('/a', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const drip = setInterval(() => response.write('x'.repeat(1_000)), 5);
      response.on('close', () => {
        hasLeft = true;
        clearInterval(drip);
      });
    });
    expect(await sender.send(message)).toEqual({ status: 200, latencyMs });
    expect(await until(() => hasLeft)).toBe(true);
  });

  it('is not taken elsewhere by a redirect', async () => {
    receiver.on('/a', (_, response) => void response.writeHead(307, { location: `${receiver.url}/b` }).end());
    expect(await sender.send(message)).toEqual({ status: 307, error: 'redirect', latencyMs });
    expect(receiver.at('/b')).toEqual([]);
  });

  it('says when the receiver wants it again', async () => {
    receiver.on('/a', (_, response) => void response.writeHead(503, { 'retry-after': '7' }).end());
    expect(await sender.send(message)).toEqual({ status: 503, error: 'http', latencyMs, retryAfterMs: 7_000 });
  });

  it.each([
    ['http://127.0.0.1:1/', 'unavailable'],
    ['http://169.254.169.254/', 'refused'],
    ['http://[::ffff:10.0.0.1]/', 'refused'],
  ])('to %s comes to nothing: %s', async (url, error) => {
    expect(await sender.send({ ...message, url })).toEqual({ error, latencyMs });
  });

  it('is given up when nothing answers in time', async () => {
    receiver.on('/a', () => undefined);
    const outcome = await sender.send(message);
    expect(outcome).toEqual({ error: 'timeout', latencyMs });
    expect(outcome.latencyMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 50);
  });

  it('is cut off when the process ends, and says so', async () => {
    const stopping = new AbortController();
    receiver.on('/a', () => stopping.abort());
    expect(await sender.send(message, stopping.signal)).toEqual({ error: 'interrupted', latencyMs });
  });

  it('does not leave without a signature', async () => {
    expect(await sender.send({ ...message, secrets: [] })).toEqual({ error: 'secret', latencyMs: 0 });
    expect(await sender.send({ ...message, purpose: 'another' })).toEqual({ error: 'secret', latencyMs: 0 });
    expect(receiver.received).toEqual([]);
  });
});
