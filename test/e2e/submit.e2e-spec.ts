import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SCOPES } from '#lib/domain';
import path from 'node:path';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

const LOOK = { name: 'look', description: 'Looks out of the window.', parameters: { type: 'object', properties: {} } };
const ALL_TOOLS = ['summarise', 'score_sentiment', 'extract_key_phrases'];

type Json = Record<string, unknown>;

describeEachBackingSet(({ redisUrl }) => {
  let database: TestDatabase;
  let installation: Installation;
  let urls: string[];
  let url: string;
  let key: string;
  let bob: string;

  beforeAll(async () => {
    database = await createDatabase();
    const own = SCOPES.filter((scope) => scope !== 'tasks:all');
    ({ ann: key, bob } = await createKeys(database.url, {
      ann: { principal: 'ann', scopes: own },
      bob: { principal: 'bob', scopes: own },
    }));
    const env = {
      AGENTS_FILE: path.join(import.meta.dirname, 'submit.agents.yaml'),
      SYNC_WAIT_SECONDS: '5',
      CONTEXT_ATTRIBUTES: 'ticket, agentId,absent',
    };
    installation = await Installation.start({ databaseUrl: database.url, redisUrl, gateways: 2, runtimes: 1, env });
    urls = installation.gateways.map((gateway) => gateway.url);
    [url] = urls as [string];
  });

  afterAll(async () => {
    await installation?.stop();
    await database?.drop();
  });

  const submit = (body: Json, headers: Record<string, string> = {}): ReturnType<typeof call> =>
    call(`${url}/v1/tasks`, { key, headers, body: { agent_id: 'tooled', ...body } });
  const ended = async (id: unknown): Promise<Json> =>
    (await call(`${url}/v1/tasks/${String(id)}/wait?timeout_seconds=30`, { key })).body;
  const eventsOf = async (id: unknown): Promise<{ event_type: string; payload: Json }[]> => {
    const headers = { accept: 'application/json' };
    const { body } = await call(`${url}/v1/tasks/${String(id)}/events`, { key, headers });
    return body['events'] as { event_type: string; payload: Json }[];
  };
  /** What the run of such a task was told under these names. */
  const toldOf = async (names: readonly string[], body: Json): Promise<Json> => {
    const { status, body: answer } = await submit({ input: { script: [{ tell: names }] }, ...body });
    expect(status).toBe(202);
    const { result } = await ended(answer['task_id']);
    return (result as { data: Json }).data;
  };
  const toolsTold = async (body: Json): Promise<string[]> => {
    const { tools } = await toldOf(['tools'], body);
    return (tools as { list: { name: string }[] }).list.map(({ name }) => name);
  };

  describe('a submission in sync mode', () => {
    const sync = { 'x-api-mode': 'sync' };

    it('is answered with the snapshot of the task when it has ended, however it ended', async () => {
      const done = await submit({ task_id: 'sync-done', input: 'hello' }, sync);
      expect([done.status, done.headers.get('location'), done.headers.get('etag')]).toEqual([
        200,
        '/v1/tasks/sync-done',
        'W/"4"',
      ]);
      expect(done.body).toEqual((await call(`${url}/v1/tasks/sync-done`, { key })).body);
      expect(done.body).toMatchObject({ state: 'succeeded', result: { text: 'hello' } });
      const script = [{ throw: { kind: 'budget' } }];
      const failed = await submit({ mode: 'sync', input: { script } });
      expect([failed.status, failed.body['state'], (failed.body['error'] as Json)['code']]).toEqual([
        200,
        'failed',
        'budget_exceeded',
      ]);
    });

    it('is answered when the task waits for somebody', async () => {
      const pause = [{ tool_call_id: 'q', kind: 'question', prompt: 'Which?' }];
      const { status, body } = await submit({ input: { script: [{ pause }] } }, sync);
      expect([status, body['state'], (body['pending_confirms'] as Json[]).map(({ prompt }) => prompt)]).toEqual([
        200,
        'waiting_for_input',
        ['Which?'],
      ]);
    });

    it('is answered as any other when the time is over, and the task goes on', async () => {
      const { status, body } = await submit(
        { task_id: 'sync-late', input: { script: [{ wait_ms: 6_000 }, { result: 'late' }] } },
        sync,
      );
      expect([status, body['task_id'], Object.keys(body)]).toEqual([
        202,
        'sync-late',
        ['task_id', 'status', 'state', 'links'],
      ]);
      expect((await ended('sync-late'))['state']).toBe('succeeded');
    });

    it('that comes again waits for the same task, on either gateway', async () => {
      const body = { agent_id: 'tooled', input: { script: [{ wait_ms: 500 }, { result: 'once' }] } };
      const headers = { ...sync, 'idempotency-key': 'sync-once' };
      const [first, second] = await Promise.all(urls.map((at) => call(`${at}/v1/tasks`, { key, headers, body })));
      const third = await call(`${url}/v1/tasks`, { key, headers, body });
      expect([first!.status, second!.status, third.status]).toEqual([200, 200, 200]);
      expect(second!.body).toEqual(first!.body);
      expect(third.body).toEqual(first!.body);
    });

    it('leaves the task alone when its caller leaves', async () => {
      const leaving = new AbortController();
      const request = fetch(`${url}/v1/tasks`, {
        method: 'POST',
        signal: leaving.signal,
        headers: { 'x-api-key': key, 'content-type': 'application/json', ...sync },
        body: JSON.stringify({
          task_id: 'sync-left',
          agent_id: 'tooled',
          input: { script: [{ wait_ms: 1_000 }, { result: 'x' }] },
        }),
      });
      await until(async () => (await call(`${url}/v1/tasks/sync-left`, { key })).body['state'] === 'running');
      leaving.abort();
      await expect(request).rejects.toThrow();
      expect((await ended('sync-left'))['state']).toBe('succeeded');
      expect(installation.gateways[0]!.log).not.toContain('request failed');
    });
  });

  describe('the tools of a task', () => {
    it('are those of its agent and route when the caller says nothing', async () => {
      expect(await toolsTold({})).toEqual(ALL_TOOLS);
      expect(await toolsTold({ type: 'narrow' })).toEqual(['summarise']);
    });

    it('are narrowed by what the caller allows and denies, and never widened', async () => {
      expect(await toolsTold({ context: { allow_tools: ['summarise', 'score_sentiment', 'rm'] } })).toEqual([
        'summarise',
        'score_sentiment',
      ]);
      const deny = [{ tool_name: 'summarise', behavior: 'DENY', source: 'parent' }];
      expect(await toolsTold({ context: { deny_rules: deny } })).toEqual(['score_sentiment', 'extract_key_phrases']);
      expect(await toolsTold({ type: 'narrow', context: { deny_rules: deny } })).toEqual([]);
    });

    it('can be called, and a denied one cannot: the platform tells the denial', async () => {
      const tool = (name: string): Json => ({ tool: { name, args: { text: 'Good work.' }, id: name } });
      const { body } = await submit({
        input: { script: [tool('summarise'), tool('score_sentiment'), { result: 'done' }] },
        context: { deny_rules: [{ tool_name: 'summarise' }] },
      });
      await ended(body['task_id']);
      const calls = (await eventsOf(body['task_id'])).filter(({ event_type }) => event_type.startsWith('tool.'));
      expect(calls.map(({ event_type, payload }) => [event_type, payload['tool_name']])).toEqual([
        ['tool.invoked', 'summarise'],
        ['tool.denied', 'summarise'],
        ['tool.invoked', 'score_sentiment'],
        ['tool.completed', 'score_sentiment'],
      ]);
    });

    it('are told back where a wish was understood in another sense, also to a repeat', async () => {
      const body = {
        task_id: 'warned',
        input: 'x',
        context: { allow_tools: ['nobody'], deny_rules: [{ tool_name: 'summarise', rule_content: 'long texts' }] },
      };
      const warnings = [
        expect.objectContaining({ path: '/context/deny_rules/0/rule_content', code: 'whole_tool_denied' }),
        expect.objectContaining({ path: '/context/allow_tools/0', code: 'unknown_tool' }),
      ];
      expect((await submit(body)).body['warnings']).toEqual(warnings);
      expect((await submit(body)).body['warnings']).toEqual(warnings);
      expect((await submit({ input: 'x' })).body).not.toHaveProperty('warnings');
    });

    it('include those the caller runs itself, in the run only that asked for them', async () => {
      const { clientTools, tools } = await toldOf(['tools', 'clientTools'], { tools: [LOOK] });
      expect(clientTools).toEqual([{ ...LOOK, idempotent: false }]);
      expect((tools as { list: unknown[] }).list).toHaveLength(ALL_TOOLS.length);
      expect(await toldOf(['clientTools'], {})).toEqual({ clientTools: [] });
    });

    it('wait for the caller when the model calls one of its own, and go on with its result', async () => {
      const tools = [{ ...LOOK, parameters: { type: 'object', properties: { at: { type: 'string' } } } }];
      const input = 'Please look {"at":"the sea"} for me.';
      const waiting = await submit({ task_id: 'own-tool', agent_id: 'reader', mode: 'sync', input, tools });
      expect(waiting.body).toMatchObject({
        state: 'waiting_for_input',
        pending_confirms: [{ kind: 'client_tool', tool_name: 'look', arguments: { at: 'the sea' } }],
      });
      const [{ tool_call_id }] = waiting.body['pending_confirms'] as [Json];
      const results = [{ tool_call_id, output: { weather: 'calm' } }];
      const answered = await call(`${url}/v1/tasks/own-tool/resume`, { key, body: { results } });
      const { state, result } = await ended('own-tool');
      expect([answered.status, state, (result as { text: string }).text]).toEqual([
        202,
        'succeeded',
        expect.stringContaining('calm'),
      ]);
    });

    it('are refused as a whole where a name is taken or the runner cannot hand calls over', async () => {
      const taken = await submit({ input: 'x', tools: [LOOK, { name: 'summarise' }] });
      expect([taken.status, taken.body['code'], taken.body['errors']]).toEqual([
        422,
        'unsupported_input',
        [expect.objectContaining({ path: '/tools/1/name', code: 'name_taken' })],
      ]);
      const deaf = await submit({ agent_id: 'deaf', input: 'x', tools: [LOOK] });
      expect([deaf.status, deaf.body['code'], deaf.body['errors']]).toEqual([
        422,
        'unsupported_input',
        [expect.objectContaining({ path: '/tools' })],
      ]);
    });

    it('are promised of an agent that takes them, and of no other', async () => {
      const promised = async (agent: string): Promise<unknown> =>
        (await call(`${url}/v1/agents/${agent}/capabilities`)).body['client_tools'];
      expect([await promised('tooled'), await promised('deaf')]).toEqual([true, false]);
    });
  });

  describe('parts of an input', () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const upload = async (text: string, type = 'text/plain', as = key): Promise<string> => {
      const headers = { 'x-api-key': as, 'content-type': type };
      const response = await fetch(`${url}/v1/artifacts?name=up.txt`, { method: 'POST', headers, body: text });
      expect(response.status).toBe(201);
      return ((await response.json()) as { artifact_id: string }).artifact_id;
    };

    it('reach the run exactly as sent, with the bytes of each and the texts of those that are texts', async () => {
      const artifact_id = await upload('uploaded ü');
      const input = [
        { type: 'text', text: 'look' },
        { type: 'data', data: { n: [1, null] } },
        { type: 'image', media_type: 'image/png', name: 'p.png', data: base64('png') },
        { type: 'file', artifact_id },
      ];
      const { body } = await submit({ agent_id: 'teller', mode: 'sync', input });
      const { data } = body['result'] as { data: Json };
      expect(data['input']).toEqual(input);
      expect(data['readableInput']).toEqual([...input.slice(0, 3), { type: 'text', text: 'uploaded ü' }]);
      expect(data['files']).toEqual([
        { index: 2, type: 'image', mediaType: 'image/png', name: 'p.png', size: 3 },
        { index: 3, type: 'file', mediaType: 'text/plain', name: 'up.txt', size: 11 },
      ]);
    });

    it('are analysed by an agent that reads text files, sent along or uploaded before', async () => {
      const text = 'The harbour was quiet. Ships waited for the tide. Nobody spoke of the storm that had passed.';
      const artifact_id = await upload(text);
      const inline = { type: 'file', media_type: 'text/plain', data: base64(text) };
      const answers = await Promise.all(
        [text, [inline], [{ type: 'file', artifact_id }]].map((input) =>
          submit({ agent_id: 'reader', mode: 'sync', input }),
        ),
      );
      const [plain, ...files] = answers.map(({ body }) => (body['result'] as { data: Json }).data);
      expect(plain).toHaveProperty('summary');
      expect(files).toEqual([plain, plain]);
    });

    it('are refused by path where the agent does not take them', async () => {
      const image = { type: 'image', media_type: 'image/png', data: base64('png') };
      const pdf = { type: 'file', media_type: 'application/pdf', data: base64('%PDF') };
      const foreign = await upload('theirs', 'text/plain', bob);
      const cases: readonly (readonly [Json, number, string, string])[] = [
        [{ agent_id: 'reader', input: [{ type: 'text', text: 'x' }, image] }, 422, 'unsupported_input', '/input/1'],
        [{ agent_id: 'reader', input: [pdf] }, 422, 'unsupported_input', '/input/0'],
        [
          { agent_id: 'teller', input: [{ type: 'file', artifact_id: foreign }] },
          422,
          'unsupported_input',
          '/input/0/artifact_id',
        ],
        [
          { agent_id: 'teller', input: [{ type: 'file', url: 'file:///etc/passwd' }] },
          400,
          'invalid_request',
          '/input/0/url',
        ],
        [{ agent_id: 'teller', input: [{ ...pdf, data: 'JVBERg' }] }, 400, 'invalid_request', '/input/0/data'],
      ];
      for (const [body, status, code, at] of cases) {
        const answer = await submit(body);
        const [first] = answer.body['errors'] as { path: string }[];
        expect([answer.status, answer.body['code'], first?.path]).toEqual([status, code, at]);
      }
    });
  });

  describe('the context of a task', () => {
    const context = {
      user_id: 'u-1',
      parent_session_id: 'p-1',
      stream: true,
      attributes: { ticket: 'T-7', agentId: 'forged', hidden: [1] },
      theirs: { deep: { constructor: 1 } },
    };
    const told = {
      context,
      userId: 'u-1',
      parentSessionId: 'p-1',
      attributes: { 'agentprotocol.context.attributes': context.attributes, ticket: 'T-7' },
    };
    const names = Object.keys(told);

    it('reaches the run unchanged, with the attributes an operator lets through by their own names', async () => {
      expect(await toldOf(names, { context })).toEqual(told);
      expect(await toldOf(['context', 'attributes'], {})).toEqual({ context: {}, attributes: {} });
    });

    it('reaches every later run unchanged, after an error and after an answer', async () => {
      const pause = [{ tool_call_id: 'q', kind: 'question', prompt: 'Which?' }];
      const script = [{ run: 1, throw: { kind: 'unavailable' } }, { run: 2, pause }, { tell: names }];
      const { body } = await submit({ task_id: 'kept', context, input: { script } });
      await until(async () => (await call(`${url}/v1/tasks/kept`, { key })).body['state'] === 'waiting_for_input');
      const answered = await call(`${url}/v1/tasks/kept/resume`, { key, body: { input: 'this one' } });
      expect([body['task_id'], answered.status]).toEqual(['kept', 202]);
      const { result, run_no } = await ended('kept');
      expect([run_no, (result as { data: Json }).data]).toEqual([3, told]);
    });
  });

  describe('the deadline of a task', () => {
    it('ends it also while it waits for somebody', async () => {
      const pause = [{ tool_call_id: 'q', kind: 'question', prompt: 'Which?' }];
      await submit({ task_id: 'due', deadline_seconds: 2, input: { script: [{ pause }] } });
      const now = async (): Promise<Json> => (await call(`${url}/v1/tasks/due`, { key })).body;
      await until(async () => (await now())['state'] === 'failed', { timeoutMs: 20_000 });
      expect(await now()).toMatchObject({ error: { code: 'deadline_exceeded' }, pending_confirms: [], wait_id: null });
    });

    it('is that of its agent when it names none, and refused out of bounds', async () => {
      const { body } = await submit({ mode: 'sync', input: 'x' });
      const life = Date.parse(String(body['deadline_at'])) - Date.parse(String(body['created_at']));
      expect(Math.round(life / 60_000)).toBe(604_800 / 60);
      for (const deadline_seconds of [0, 2_592_001, 1.5, '60']) {
        const { status, body: refused } = await submit({ deadline_seconds, input: 'x' });
        expect([status, (refused['errors'] as Json[])[0]?.['path']]).toEqual([400, '/deadline_seconds']);
      }
    });
  });
});
