import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { SCOPES } from '#lib/domain';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream, type ReceivedFrame } from '../support/event-stream.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

const STORY = [
  { event: { type: 'step.started', payload: { step_id: 's1', step_name: 'plan' } } },
  { event: { type: 'message.delta', payload: { message_id: 'm1', text: 'half ' } } },
  { artifact: { name: 'report.txt', text: 'the report' } },
  { event: { type: 'step.completed', payload: { step_id: 's1' } } },
  { result: 'the end' },
];
const TOLD = [
  'task.created',
  'task.started',
  'step.started',
  'artifact.created',
  'step.completed',
  'message.completed',
  'task.succeeded',
];

describeEachBackingSet(({ redisUrl }) => {
  let database: TestDatabase;
  let installation: Installation;
  let here: string;
  let there: string;
  let keys: Record<'ann' | 'bob' | 'auditor' | 'stranger', string>;

  beforeAll(async () => {
    database = await createDatabase();
    const own = SCOPES.filter((scope) => scope !== 'tasks:all' && scope !== 'platform:admin');
    keys = await createKeys(database.url, {
      ann: { principal: 'ann', scopes: own },
      bob: { principal: 'bob', scopes: own },
      auditor: { principal: 'zoe', scopes: ['tasks:read', 'tasks:all'] },
      stranger: { tenant: 'other', principal: 'ann', scopes: own },
    });
    installation = await Installation.start({ databaseUrl: database.url, redisUrl, gateways: 2, runtimes: 1 });
    [here, there] = installation.gateways.map(({ url }) => url) as [string, string];
  });

  afterAll(async () => {
    await installation?.stop();
    await database?.drop();
  });

  const submit = (body: object, key = keys.ann, url = here): ReturnType<typeof call> =>
    call(`${url}/v1/tasks`, { key, body: { agent_id: 'scripted', ...body } });
  const read = (
    path: string,
    key = keys.ann,
    url = here,
    headers: Record<string, string> = {},
  ): ReturnType<typeof call> => call(`${url}${path}`, { key, headers });
  const ended = async (id: string): Promise<Record<string, unknown>> =>
    (await read(`/v1/tasks/${id}/wait?timeout_seconds=30`)).body;

  async function frames(path: string, headers?: Record<string, string>, url = here): Promise<ReceivedFrame[]> {
    const stream = await EventStream.open(`${url}${path}`, { key: keys.ann, headers });
    const all: ReceivedFrame[] = [];
    for await (const frame of stream) if (frame.id !== undefined) all.push(frame);
    return all;
  }

  it('tells a task submitted on one gateway to readers of both, live and again, in the same bytes', async () => {
    const answer = await submit({
      task_id: 'story',
      type: 'tale',
      input: { script: [{ wait_ms: 300 }, ...STORY] },
      priority: 7,
    });
    expect([answer.status, answer.headers.get('location'), answer.body]).toEqual([
      202,
      '/v1/tasks/story',
      {
        task_id: 'story',
        status: 'pending',
        state: 'queued',
        links: {
          self: '/v1/tasks/story',
          events: '/v1/tasks/story/events',
          wait: '/v1/tasks/story/wait',
          cancel: '/v1/tasks/story/cancel',
          artifacts: '/v1/tasks/story/artifacts',
        },
      },
    ]);

    const [live, other] = await Promise.all([
      frames('/v1/tasks/story/events'),
      frames('/v1/tasks/story/events', {}, there),
    ]);
    expect(live.map(({ event }) => event)).toEqual(TOLD);
    expect(live.map(({ id }) => Number(id))).toEqual(TOLD.map((_, index) => index + 1));
    expect(other).toEqual(live);
    expect(await frames('/v1/tasks/story/events', {}, there)).toEqual(live);

    const page = await fetch(`${there}/v1/tasks/story/events`, {
      headers: { 'x-api-key': keys.ann, accept: 'application/json' },
    });
    expect(await page.text()).toBe(
      `{"events":[${live.map(({ data }) => data).join(',')}],"next_seq":7,"has_more":false,"state":"succeeded"}`,
    );
  });

  it('goes on behind any cursor, and shows no more than was asked for', async () => {
    const all = await frames('/v1/tasks/story/events');
    const eventId = (JSON.parse(all[2]!.data) as { event_id: string }).event_id;
    expect(await frames('/v1/tasks/story/events?from_seq=3')).toEqual(all.slice(3));
    expect(await frames('/v1/tasks/story/events', { 'last-event-id': '5' })).toEqual(all.slice(5));
    expect(await frames('/v1/tasks/story/events?from_seq=6', { 'last-event-id': '1' })).toEqual(all.slice(6));
    expect(await frames(`/v1/tasks/story/events?from_seq=${eventId}`)).toEqual(all.slice(3));
    expect(await frames('/v1/tasks/story/events?from_seq=99')).toEqual([]);
    expect(await frames('/v1/tasks/story/events?types=task.created,task.succeeded')).toEqual([all[0], all[6]]);

    const pages: unknown[] = [];
    let next = 0;
    for (let hasMore = true; hasMore;) {
      const { body } = await read(`/v1/tasks/story/events?limit=3&from_seq=${next}`, keys.ann, here, {
        accept: 'application/json',
      });
      pages.push(...(body['events'] as unknown[]));
      next = body['next_seq'] as number;
      hasMore = body['has_more'] as boolean;
    }
    expect(pages).toEqual(all.map(({ data }) => JSON.parse(data) as unknown));
  });

  it('shows where the task stands, whole, with an ETag that saves the next look', async () => {
    const { status, headers, body } = await read('/v1/tasks/story', keys.ann, there);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect([status, headers.get('etag')]).toEqual([200, 'W/"7"']);
    expect(body).toEqual({
      task_id: 'story',
      session_id: null,
      type: 'tale',
      agent_id: 'scripted',
      backend: { runner: 'scripted', version: expect.any(String) },
      state: 'succeeded',
      status: 'success',
      run_no: 1,
      last_seq: 7,
      event_count: 7,
      current_step: null,
      result: { text: 'the end', metadata: { model: 'scripted' } },
      usage: null,
      error: null,
      pending_confirms: [],
      wait_id: null,
      waiting_on: null,
      blocked_by: null,
      stalled: false,
      cancel_requested: false,
      artifact_count: 1,
      last_heartbeat_at: body['last_heartbeat_at'] === null ? null : time,
      last_progress_at: time,
      deadline_at: time,
      held_until: null,
      priority: 7,
      detail: 'status',
      created_by: 'ann',
      created_at: time,
      started_at: time,
      updated_at: time,
      finished_at: time,
    });
    const again = await read('/v1/tasks/story', keys.ann, there, { 'if-none-match': 'W/"7"' });
    expect([again.status, again.body]).toEqual([304, {}]);
  });

  it('lists steps and artifacts, and hands out the bytes to whoever has the link', async () => {
    const steps = await read('/v1/tasks/story/steps');
    expect(steps.body).toEqual({
      steps: [
        expect.objectContaining({ step_id: 's1', step_name: 'plan', state: 'completed', attempt: 1, error: null }),
      ],
      next_cursor: null,
    });
    const { body } = await read('/v1/tasks/story/artifacts', keys.ann, there);
    const [artifact] = body['artifacts'] as Record<string, string>[];
    expect(artifact).toMatchObject({ kind: 'produced', name: 'report.txt', media_type: 'text/plain', size: 10 });
    const one = await read(`/v1/tasks/story/artifacts/${artifact!['artifact_id']}`);
    expect(one.body).toMatchObject({ artifact_id: artifact!['artifact_id'], sha256: artifact!['sha256'] });

    const link = artifact!['download_url']!;
    const bytes = await fetch(link);
    expect([bytes.status, bytes.headers.get('x-content-type-options'), await bytes.text()]).toEqual([
      200,
      'nosniff',
      'the report',
    ]);
    const head = await fetch(link, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '10']);
    const changed = await Promise.all(
      [
        link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
        link.replace('exp=', 'exp=9'),
        link.replace(/\?.*/, ''),
      ].map((url) => fetch(url)),
    );
    expect(changed.map(({ status }) => status)).toEqual([403, 403, 403]);
  });

  it('answers a submission with its stream, also when it comes again', async () => {
    const stream = async (url: string): Promise<[number, string | undefined, string[]]> => {
      const opened = await EventStream.open(`${url}/v1/tasks`, {
        key: keys.ann,
        body: { task_id: 'streamed', agent_id: 'scripted', input: 'hello' },
      });
      const events: string[] = [];
      for await (const frame of opened) if (frame.id !== undefined) events.push(`${frame.id} ${frame.event}`);
      return [opened.status, opened.headers['location'], events];
    };
    const first = await stream(here);
    expect(first).toEqual([
      200,
      '/v1/tasks/streamed',
      ['1 task.created', '2 task.started', '3 message.completed', '4 task.succeeded'],
    ]);
    expect(await stream(there)).toEqual(first);
  });

  it('makes one task of fifty equal submissions to two gateways, and refuses another body under the same key', async () => {
    const once = (index: number): ReturnType<typeof call> =>
      call(`${index % 2 ? here : there}/v1/tasks`, {
        key: keys.ann,
        headers: { 'idempotency-key': 'k-1' },
        body: { agent_id: 'scripted', input: 'x', context: { a: 1, b: 2 } },
      });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => once(index)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${String(body['task_id'])}`)).size).toBe(1);
    const other = await call(`${there}/v1/tasks`, {
      key: keys.ann,
      headers: { 'idempotency-key': 'k-1' },
      body: { agent_id: 'scripted', input: 'y' },
    });
    expect([other.status, other.body['code']]).toEqual([409, 'idempotency_conflict']);
    const reordered = await call(`${here}/v1/tasks`, {
      key: keys.ann,
      headers: { 'idempotency-key': 'k-1' },
      body: { context: { b: 2, a: 1 }, input: 'x', agent_id: 'scripted' },
    });
    expect(reordered.body['task_id']).toBe(answers[0]!.body['task_id']);
    const foreign = await call(`${here}/v1/tasks`, {
      key: keys.bob,
      headers: { 'idempotency-key': 'k-1' },
      body: { agent_id: 'scripted', input: 'y' },
    });
    expect([foreign.status, foreign.body['task_id'] === answers[0]!.body['task_id']]).toEqual([202, false]);
  });

  it('waits until the time is over, or until the task has ended on another gateway', async () => {
    await submit({ task_id: 'slow', input: { script: [{ wait_ms: 30_000 }] } });
    await until(async () => (await read('/v1/tasks/slow')).body['state'] === 'running');
    const over = await read('/v1/tasks/slow/wait?timeout_seconds=1');
    expect(over.body).toMatchObject({ state: 'running', timed_out: true });

    const waiting = read('/v1/tasks/slow/wait?timeout_seconds=30', keys.ann, there);
    const stopped = await call(`${here}/v1/tasks/slow/cancel`, { key: keys.ann, body: { reason: 'enough' } });
    expect([stopped.status, stopped.body['cancel_requested']]).toEqual([202, true]);
    const done = await waiting;
    expect(done.body).toMatchObject({ state: 'cancelled', status: 'cancelled', timed_out: false });
    const again = await call(`${there}/v1/tasks/slow/cancel`, { key: keys.ann, body: {} });
    expect([again.status, again.body['state']]).toEqual([200, 'cancelled']);
    const story = await frames('/v1/tasks/slow/events');
    expect(
      story.slice(-2).map(({ event, data }) => [event, (JSON.parse(data) as { payload: object }).payload]),
    ).toEqual([
      ['task.cancel_requested', { requested_by: 'ann', reason: 'enough' }],
      ['task.cancelled', expect.objectContaining({ forced: false })],
    ]);
  });

  it('hands a page out when an event comes, to those who wait for it', async () => {
    await submit({ task_id: 'later', input: { script: [{ wait_ms: 800 }, { result: 'x' }] } });
    await until(async () => (await read('/v1/tasks/later')).body['last_seq'] === 2);
    const { body } = await read('/v1/tasks/later/events?from_seq=2&wait_seconds=20', keys.ann, there, {
      accept: 'application/json',
    });
    expect((body['events'] as { seq: number }[])[0]?.seq).toBe(3);
  });

  it('lists by filter and in pages, to each what is theirs', async () => {
    for (const index of [1, 2, 3]) await submit({ task_id: `listed-${index}`, type: 'listed', input: 'x' });
    await submit({ task_id: 'listed-1', type: 'listed', input: 'x' }, keys.stranger);
    await submit({ task_id: 'listed-bob', type: 'listed', input: 'x' }, keys.bob);
    for (const index of [1, 2, 3]) await ended(`listed-${index}`);
    const list = async (key: string, query = ''): Promise<unknown[]> => {
      const ids: unknown[] = [];
      for (let cursor: unknown = ''; cursor !== null;) {
        const { body } = await read(
          `/v1/tasks?type=listed&limit=2${query}${cursor === '' ? '' : `&cursor=${String(cursor)}`}`,
          key,
          there,
        );
        ids.push(...(body['tasks'] as { task_id: string }[]).map(({ task_id }) => task_id));
        cursor = body['next_cursor'];
      }
      return ids;
    };
    expect(await list(keys.ann)).toEqual(['listed-3', 'listed-2', 'listed-1']);
    expect(await list(keys.ann, '&state=succeeded&agent_id=scripted')).toEqual(['listed-3', 'listed-2', 'listed-1']);
    expect(await list(keys.ann, '&state=failed&state=cancelled')).toEqual([]);
    expect(await list(keys.ann, '&created_before=2020-01-01T00:00:00Z')).toEqual([]);
    expect(await list(keys.stranger)).toEqual(['listed-1']);
    expect(await list(keys.auditor)).toEqual(['listed-bob', 'listed-3', 'listed-2', 'listed-1']);
  });

  it('shows to each tenant the agents it may use', async () => {
    const ids = async (key: string): Promise<unknown> =>
      ((await read('/v1/agents', key)).body['agents'] as { agent_id: string }[]).map(({ agent_id }) => agent_id);
    expect(await ids(keys.ann)).toEqual(['closed', 'scripted', 'strict']);
    expect(await ids(keys.stranger)).toEqual(['closed', 'scripted']);
    const hidden = await read('/v1/agents/strict', keys.stranger);
    const can = await read('/v1/agents/scripted/capabilities');
    expect([hidden.status, can.body]).toEqual([
      404,
      expect.objectContaining({ agent_id: 'scripted', cancel: true, input_modes: ['text', 'data'] }),
    ]);
  });

  it('ends its streams with a time to come back when a gateway stops, and the other goes on', async () => {
    const leaving = await installation.addGateway();
    await submit({ task_id: 'outlives', input: { script: [{ wait_ms: 30_000 }] } });
    const stream = await EventStream.open(`${leaving.url}/v1/tasks/outlives/events`, { key: keys.ann });
    const text = stream.text();
    const code = await leaving.end('SIGTERM');
    installation.gateways.splice(installation.gateways.indexOf(leaving), 1);
    expect([code, (await text).endsWith('retry: 1000\n\n')]).toEqual([0, true]);
    const stopped = await call(`${here}/v1/tasks/outlives/cancel`, { key: keys.ann, body: {} });
    expect([stopped.status, (await ended('outlives'))['state']]).toEqual([202, 'cancelled']);
  });

  it('prints its log, a line of JSON each, and nothing else', () => {
    for (const { printed } of [...installation.gateways, ...installation.runtimes]) {
      const lines = printed.split('\n').filter((line) => line !== '');
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.filter((line) => !line.startsWith('{"') || !line.endsWith('}'))).toEqual([]);
    }
  });
});
