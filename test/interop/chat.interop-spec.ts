import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SCOPES } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';
import { clientOf, helpersOf, Road, VERSIONS } from './chat.clients.js';
import type { Place } from './drivers/driver.js';

const PRINCIPALS = ['ann', 'bob', 'cut', 'keyed', 'twice', 'leaver', 'returner', 'reader'] as const;
type Principal = (typeof PRINCIPALS)[number];

let database: TestDatabase;
let installation: Installation;
let keys: Record<Principal, string>;

beforeAll(async () => {
  database = await createDatabase();
  const scopes = SCOPES.filter((scope) => scope !== 'tasks:all' && scope !== 'platform:admin');
  keys = await createKeys(
    database.url,
    Object.fromEntries(PRINCIPALS.map((principal) => [principal, { principal, scopes }])) as Record<Principal, object>,
  );
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env: {
      AGENTS_FILE: path.resolve('test/interop/chat.agents.yaml'),
      CHAT_GRACE_SECONDS: '1',
      CHAT_MAX_WAIT_SECONDS: '3',
    },
  });
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

/** A gateway as somebody reaches it. */
function place(gateway = 0, principal: Principal = 'ann'): Place {
  return { url: installation.gateways[gateway]!.url, key: keys[principal] };
}

const user = (content: string) => ({ role: 'user' as const, content });
const script = (...steps: readonly object[]) => [user(JSON.stringify(steps))];
const said = (id: string, ...texts: readonly string[]): object[] => [
  { event: { type: 'message.started', payload: { message_id: id, role: 'assistant' } } },
  ...texts.map((text) => ({ event: { type: 'message.delta', payload: { message_id: id, text } } })),
];
const complete = (id: string, text: string): object => ({
  event: { type: 'message.completed', payload: { message_id: id, role: 'assistant', text } },
});

/** Tasks of a principal, newest first. */
async function tasksOf(principal: Principal): Promise<Record<string, unknown>[]> {
  const { body } = await call(`${place().url}/v1/tasks`, { key: keys[principal] });
  return body['tasks'] as Record<string, unknown>[];
}

describe.each(VERSIONS)('the official client %s', (version) => {
  const client = (gateway = 0, principal: Principal = 'ann') => clientOf(version, place(gateway, principal));

  it('gets an answer, and finds its request and its task', async () => {
    const { data, response } = await client()
      .chat.completions.create({ model: 'scripted', messages: [user('The trams run again.')] })
      .withResponse();
    const taskId = response.headers.get('x-task-id')!;
    expect(data).toEqual({
      id: `chatcmpl-${taskId}`,
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'scripted',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'The trams run again.', refusal: null },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
    });
    expect(Math.abs(data.created - Date.now() / 1000)).toBeLessThan(60);
    expect((data as { _request_id?: string })._request_id).toBe(response.headers.get('x-request-id'));
  });

  it('gets the same answer as a stream as without one, whatever it says in between', async () => {
    const messages = script(
      ...said('m1', 'Let ', 'me ', 'see.'),
      complete('m1', 'Let me see.'),
      ...said('m2', 'Found', ' it.'),
      { result: 'Found it.', message_id: 'm2' },
    );
    const whole = await client().chat.completions.create({ model: 'scripted', messages });
    const streamed = await helpersOf(version, client()).stream({ model: 'scripted', messages }).finalChatCompletion();
    expect(whole.choices[0]!.message.content).toBe('Let me see.\n\nFound it.');
    expect(streamed.choices[0]).toMatchObject({
      message: { role: 'assistant', content: 'Let me see.\n\nFound it.' },
      finish_reason: 'stop',
    });
    expect(streamed.choices[0]!.message.tool_calls ?? []).toEqual([]);
  });

  it('lists agents as models, and finds one', async () => {
    const models = await client().models.list();
    expect(models.data.map(({ id }) => id)).toEqual(expect.arrayContaining(['scripted', 'caller', 'told']));
    expect(await client().models.retrieve('scripted')).toMatchObject({ id: 'scripted', object: 'model' });
    await expect(client().models.retrieve('no-such')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  });

  it.each([false, true])('calls its own tools until there is an answer (stream: %s)', async (stream) => {
    const asked: unknown[] = [];
    const tool = (name: string, answer: string) => ({
      type: 'function' as const,
      function: {
        name,
        description: 'Of the client.',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
        parse: JSON.parse,
        function: (args: unknown) => {
          asked.push([name, args]);
          return answer;
        },
      },
    });
    const body = {
      model: 'caller',
      messages: [user('together weather {"city":"Oslo"} and tides {"city":"Bergen"}')],
      tools: [tool('weather', 'rain'), tool('tides', 'low')],
    };
    const helpers = helpersOf(version, client());
    const runner = stream ? helpers.runTools({ ...body, stream: true }) : helpers.runTools(body);
    expect(await runner.finalContent()).toBe('Weather: rain\nTides: low');
    expect(asked).toEqual([
      ['weather', { city: 'Oslo' }],
      ['tides', { city: 'Bergen' }],
    ]);
  });
});

describe('a request that is sent again', () => {
  const messages = script({ wait_ms: 1_500 }, { result: 'slow' });

  it.each(['cut', 'keyed'] as const)(
    'is executed once when its connection was lost after acceptance (%s)',
    async (who) => {
      const road = new Road([place(0, who), place(1, who)], async (attempt) => {
        if (attempt > 0) return;
        await until(async () => (await tasksOf(who)).length === 1, { what: 'the first attempt to be taken' });
        throw new TypeError('fetch failed');
      });
      const client = clientOf('6', place(0, who), { maxRetries: 2, fetch: road.fetch });
      const options = who === 'keyed' ? { headers: { 'Idempotency-Key': 'once' } } : {};
      const { data, response } = await client.chat.completions
        .create({ model: 'scripted', messages }, options)
        .withResponse();
      expect(data.choices[0]!.message.content).toBe('slow');
      expect(road.asked.map(({ retry }) => retry)).toEqual(['0', '1']);
      expect((await tasksOf(who)).map(({ task_id, state }) => [task_id, state])).toEqual([
        [response.headers.get('x-task-id'), 'succeeded'],
      ]);
    },
  );

  it('is two tasks when its client asks twice', async () => {
    const client = clientOf('6', place(0, 'twice'));
    const body = { model: 'scripted', messages: [user('Once more.')] };
    await client.chat.completions.create(body);
    await client.chat.completions.create(body);
    expect(await tasksOf('twice')).toHaveLength(2);
  });
});
