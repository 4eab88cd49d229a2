import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { AuditTrail, DEFAULT_POLICY, DomainError, Logger, SCOPES } from '#lib/domain';
import type { BlobRange, KeyRecord, Scope, TaskFilter, TaskId, TaskKey, TaskSnapshot } from '#lib/domain';
import type { Tool } from '#lib/tools';
import { ToolsService, type ToolView } from '../core/tools.service.js';
import { AgentEditsService } from '../core/agent-edits.service.js';
import { AgentsService } from '../core/agents.service.js';
import type { AgentView } from '../core/agents.service.js';
import { AnswersService } from '../core/answers.service.js';
import type { ResumeRequest } from '../core/answers.service.js';
import { ArtifactsService } from '../core/artifacts.service.js';
import type { ContentRequest } from '../core/artifacts.service.js';
import { Authenticator } from '../core/authenticator.js';
import type { Caller } from '../core/caller.js';
import { StreamsService } from '../core/streams.service.js';
import type { PageView } from '../core/streams.service.js';
import { ReleasesService } from '../core/releases.service.js';
import { CancellationsService } from '../core/cancellations.service.js';
import { SubmissionsService } from '../core/submissions.service.js';
import type { SubmitRequest } from '../core/submissions.service.js';
import { receivedBytes } from '../core/received-bytes.js';
import { KeysService } from '../core/keys.service.js';
import { SyncService } from '../core/sync.service.js';
import { TasksService } from '../core/tasks.service.js';
import { UploadsService, type UploadRequest } from '../core/uploads.service.js';
import { DeliveriesService } from '../core/deliveries.service.js';
import { WebhooksService } from '../core/webhooks.service.js';
import { EdgeAdapter } from '../http/express.adapter.js';
import { HttpModule } from '../http/http.module.js';
import { describeApi } from '../http/openapi.js';
import { NativeModule } from './native.module.js';

const TASK: TaskSnapshot = {
  taskKey: 'key-1' as TaskKey,
  taskId: 't-1' as TaskId,
  tenant: 'acme',
  sessionId: null,
  type: 'summary',
  agentId: 'text-analyst',
  backend: { runner: 'dialogue', version: 'v1' },
  pool: 'dialogue',
  state: 'running',
  runNo: 1,
  runOpen: true,
  runtimeId: 'r-1',
  lastSeq: 3,
  currentStep: null,
  result: null,
  usage: null,
  error: null,
  pendingConfirmations: [],
  waitId: null,
  waitingOn: null,
  blockedBy: null,
  stalled: false,
  cancelRequested: false,
  artifactCount: 0,
  lastHeartbeatAtMs: null,
  lastProgressAtMs: 2000,
  deadlineAtMs: 9000,
  heldUntilMs: null,
  priority: 5,
  detail: 'status',
  createdBy: 'ann',
  createdAtMs: 1000,
  startedAtMs: 2000,
  updatedAtMs: 2000,
  finishedAtMs: null,
};

const ENCODED = {
  task_id: 't-1',
  session_id: null,
  type: 'summary',
  agent_id: 'text-analyst',
  backend: { runner: 'dialogue', version: 'v1' },
  state: 'running',
  status: 'running',
  run_no: 1,
  last_seq: 3,
  event_count: 3,
  current_step: null,
  result: null,
  usage: null,
  error: null,
  pending_confirms: [],
  wait_id: null,
  waiting_on: null,
  blocked_by: null,
  stalled: false,
  cancel_requested: false,
  artifact_count: 0,
  last_heartbeat_at: null,
  last_progress_at: '1970-01-01T00:00:02.000Z',
  deadline_at: '1970-01-01T00:00:09.000Z',
  held_until: null,
  priority: 5,
  detail: 'status',
  created_by: 'ann',
  created_at: '1970-01-01T00:00:01.000Z',
  started_at: '1970-01-01T00:00:02.000Z',
  updated_at: '1970-01-01T00:00:02.000Z',
  finished_at: null,
};

const LINKS = {
  self: '/v1/tasks/t-1',
  events: '/v1/tasks/t-1/events',
  wait: '/v1/tasks/t-1/wait',
  cancel: '/v1/tasks/t-1/cancel',
  artifacts: '/v1/tasks/t-1/artifacts',
};

/** What a service offers, without what it is made of. */
type Fake<T> = Pick<T, keyof T>;

/** What reached the core, newest last. */
let seen: unknown[] = [];

class KeyPerScope extends Authenticator {
  async authenticate(credential: string): Promise<Caller> {
    const scopes = credential === 'all' ? SCOPES : [credential as Scope];
    return { tenant: 'acme', principal: 'ann', keyId: 'k', scopes: new Set(scopes) };
  }

  async lapsed(): Promise<ReadonlySet<Caller>> {
    return new Set();
  }
}

const submissions: Fake<SubmissionsService> = {
  submit: async (_caller: Caller, submission: SubmitRequest) => {
    seen.push(submission);
    return { taskKey: TASK.taskKey, taskId: TASK.taskId, state: 'queued', lastSeq: 1, created: true, warnings: [] };
  },
};

const tasks: Fake<TasksService> = {
  snapshot: async (_caller, id) => {
    if (id !== 't-1') throw new DomainError('not_found', 'There is no such task.');
    return TASK;
  },
  request: async () => ({ input: '"x"', context: '{}' }),
  find: async () => TASK,
  seek: async () => TASK,
  list: async (_caller, filter: TaskFilter, page) => {
    seen.push({ filter, page });
    return { items: [TASK], nextCursor: 'next' };
  },
  listByState: async () => ({ items: [TASK], total: 1 }),
  steps: async () => ({
    items: [
      { stepId: 's', name: 'plan', state: 'running', attempt: 1, error: null, startedAtMs: 0, finishedAtMs: null },
    ],
  }),
  wait: async (_caller, _id, { timeoutMs }) => ({ task: TASK, timedOut: timeoutMs === 1000 }),
  waitFrom: async () => ({ task: TASK, timedOut: true }),
  assertStill: async () => undefined,
};

const cancellations: Fake<CancellationsService> = {
  cancel: async (_caller, id, cancel) => {
    seen.push(cancel);
    return { task: TASK, accepted: id === 't-1' };
  },
};

const releases: Fake<ReleasesService> = {
  release: async (_caller, id, release) => {
    seen.push(release);
    return { task: { ...TASK, heldUntilMs: 5000 }, released: id === 't-1' };
  },
};

/** What a submission in sync mode comes to in time, if anything. */
let outcome: TaskSnapshot | undefined;
const sync: Fake<SyncService> = { outcome: async () => outcome };

const LAST = { wait_id: 'w', decided_by: 'bob', decided_at: '1970-01-01T00:00:00.000Z', decisions: [] };

const answers: Fake<AnswersService> = {
  resume: async (_caller, id, resume: ResumeRequest) => {
    seen.push(resume);
    if (id === 't-1') return { taskId: TASK.taskId, state: 'running', runNo: 2 };
    throw new DomainError('not_waiting', 'The task is not waiting for an answer.', { extensions: { decision: LAST } });
  },
};

async function* frames(...texts: string[]): AsyncGenerator<string> {
  yield* texts;
}

const logs: Fake<Pick<StreamsService, 'open' | 'openSubmitted' | 'page'>> = {
  open: async (_caller, id, view) => {
    if (id !== 't-1') throw new DomainError('not_found', 'There is no such task.');
    seen.push(view);
    return frames('id: 4\n\n', 'id: 5\n\n');
  },
  openSubmitted: async () => frames('id: 1\n\n'),
  page: async (_caller, _id, { signal: _signal, ...view }: PageView) => {
    seen.push(view);
    return { events: ['{"seq":4,"payload":{"n":1.0}}', '{"seq":6}'], nextSeq: 7, hasMore: true, state: 'running' };
  },
};

const linked = {
  taskKey: TASK.taskKey,
  tenant: 'acme',
  artifact_id: 'a-1',
  kind: 'produced' as const,
  name: 'out.txt',
  media_type: 'text/plain',
  size: 3,
  sha256: 'ab',
  createdAtMs: 0,
  downloadUrl: 'http://here/v1/artifacts/a-1/content?exp=1&sig=k.x',
  downloadExpiresAtMs: 600_000,
};

const artifacts: Fake<Omit<ArtifactsService, 'content'>> = {
  list: async () => ({ items: [linked] }),
  get: async () => linked,
  open: async (link: ContentRequest) => {
    seen.push(link);
    const read = async (range?: BlobRange): Promise<AsyncIterable<Uint8Array>> =>
      (async function* () {
        yield Buffer.from('abc').subarray(range?.start, range?.end);
      })();
    return { headers: { 'Content-Type': 'text/plain' }, size: 3, etag: '"e"', read };
  },
  link: () => linked,
  baseUrl: 'http://here',
  urlOf: () => linked.downloadUrl,
};

const uploads: Fake<UploadsService> = {
  maxBytes: 10,
  upload: async (_caller, { content, ...upload }: UploadRequest) => {
    let size = 0;
    for await (const chunk of receivedBytes(content, { maxBytes: 10, expected: upload.expected })) size += chunk.length;
    seen.push({ ...upload, size });
    return linked;
  },
  list: async () => ({ items: [linked] }),
  get: async () => linked,
};

const agent = (id: string): AgentView => ({
  agent: {
    id,
    name: id,
    description: '',
    enabled: true,
    default: false,
    types: [],
    inputModes: ['text'],
    tools: [],
    policy: DEFAULT_POLICY,
    routes: [],
    source: { id, secret: 'runner' },
    version: 7,
    updatedAtMs: 0,
  },
});

const agents: Fake<AgentsService> = {
  list: async () => ['a', 'b', 'c'].map(agent),
  get: async (_caller, id) => agent(id),
  view: async (_caller, all) => all.map((each) => ({ agent: each, activeTasks: 2 })),
  capabilities: async (_caller, agentId) => ({
    agentId,
    types: ['x'],
    inputModes: ['text'],
    tools: [],
    events: [],
    pause: false,
    resume: true,
    cancel: true,
    clientTools: false,
  }),
};

const edits: Fake<AgentEditsService> = {
  put: async (_caller, edit) => {
    seen.push(edit);
    return { ...agent(edit.agentId), isNew: edit.agentId === 'new' };
  },
  patch: async (_caller, edit) => {
    seen.push(edit);
    return { ...agent(edit.agentId), isNew: false };
  },
};

const tool: Tool = {
  name: 'clock',
  description: 'Tells the time.',
  parameters: { type: 'object' },
  idempotent: true,
  kind: 'http',
  version: 'digest',
  timeoutMs: 5_000,
  secretFields: [],
  execute: () => Promise.reject(new Error('not called')),
};
const toolView = (id: string): ToolView => ({
  id,
  kind: 'http',
  standing: 'ready',
  tool,
  stored: { id, source: { kind: 'http' }, origin: 'api', version: 3, updatedAtMs: 0 },
});
const tools: Fake<ToolsService> = {
  list: () => ['b', 'a', 'c'].map(toolView),
  get: (_caller, id) => toolView(id),
  put: async (_caller, edit) => {
    seen.push(edit);
    return { view: toolView(edit.toolId), isNew: edit.toolId === 'new' };
  },
  remove: async (_caller, edit) => void seen.push(edit),
  accept: async (_caller, ...given) => {
    seen.push(given);
    return toolView('a');
  },
};

const KEY: KeyRecord = {
  id: 'k1',
  secretHash: new Uint8Array(32),
  retiring: [
    { secretHash: new Uint8Array(32), untilMs: 1 },
    { secretHash: new Uint8Array(32), untilMs: Date.parse('2999-01-01T00:00:00Z') },
  ],
  tenant: 'acme',
  principal: 'ann',
  scopes: ['tasks:read'],
  label: null,
  createdAtMs: 0,
  rotatedAtMs: 1000,
  expiresAtMs: null,
  revokedAtMs: null,
  lastUsedAtMs: null,
};

const keys: Fake<KeysService> = {
  list: async (...asked) => {
    seen.push(asked.slice(1));
    return { items: [KEY], nextCursor: 'next' };
  },
  get: async () => KEY,
  create: async (_caller, wish) => {
    seen.push(wish);
    return { key: KEY, text: 'swy_k1_secret' };
  },
  rotate: async (_caller, deed) => {
    seen.push(deed);
    return { key: KEY, text: 'swy_k1_secret' };
  },
  revoke: async () => ({ ...KEY, revokedAtMs: 2000 }),
};

const ports = [
  { provide: Authenticator, useClass: KeyPerScope },
  { provide: AuditTrail, useValue: { denied: () => undefined } },
  { provide: KeysService, useValue: keys },
  { provide: Logger, useValue: { error: (...line: unknown[]) => seen.push(line) } },
  { provide: SubmissionsService, useValue: submissions },
  { provide: SyncService, useValue: sync },
  { provide: TasksService, useValue: tasks },
  { provide: CancellationsService, useValue: cancellations },
  { provide: ReleasesService, useValue: releases },
  { provide: AnswersService, useValue: answers },
  { provide: StreamsService, useValue: logs },
  { provide: ArtifactsService, useValue: artifacts },
  { provide: UploadsService, useValue: uploads },
  { provide: AgentsService, useValue: agents },
  { provide: AgentEditsService, useValue: edits },
  { provide: WebhooksService, useValue: {} },
  { provide: DeliveriesService, useValue: {} },
  { provide: ToolsService, useValue: tools },
];

@Module({ providers: ports, exports: ports.map(({ provide }) => provide) })
class PortsModule {}

let app: INestApplication;
beforeAll(async () => {
  const http = HttpModule.over([PortsModule]);
  const module = await Test.createTestingModule({ imports: [http, NativeModule.over([PortsModule, http])] }).compile();
  app = module.createNestApplication(new EdgeAdapter(), { bodyParser: false, logger: false });
  describeApi(app);
  await app.init();
});
afterAll(() => app.close());
beforeEach(() => {
  seen = [];
});

const get = (path: string): request.Test => request(app.getHttpServer()).get(path).set('X-API-Key', 'all');
const post = (path: string, body?: string): request.Test => {
  const call = request(app.getHttpServer()).post(path).set('X-API-Key', 'all');
  return body === undefined
    ? call
    : call
        .set('Content-Type', 'application/json')
        .serialize((text: string) => text)
        .send(body);
};

describe('submitting', () => {
  it('answers 202 with the place of the task, and hands input and context over as they were spelt', async () => {
    const answer = await post(
      '/v1/tasks',
      '{"task_id":"t-1","input":{"n":1.0,"toString":1},"context":{ "user_id":"u","mine":[1e2],"detail":"full"},"session_id":"s 1","priority":9,"deadline_seconds":5}',
    )
      .set('Idempotency-Key', 'abc')
      .set('X-Request-Id', 'req-1');
    expect([answer.status, answer.headers['location'], answer.body]).toEqual([
      202,
      '/v1/tasks/t-1',
      { task_id: 't-1', status: 'pending', state: 'queued', links: LINKS },
    ]);
    expect(seen).toEqual([
      {
        taskId: 't-1',
        sessionId: 's 1',
        idempotencyKey: 'abc',
        input: { text: '{"n":1.0,"toString":1}', value: { n: 1, toString: 1 } },
        context: {
          text: '{ "user_id":"u","mine":[1e2],"detail":"full"}',
          value: { user_id: 'u', mine: [100], detail: 'full' },
        },
        deadlineSeconds: 5,
        priority: 9,
        detail: 'full',
        body: expect.objectContaining({ task_id: 't-1' }),
        requestId: 'req-1',
      },
    ]);
  });

  it('streams the new task to those who accept nothing else', async () => {
    const answer = await post('/v1/tasks', '{"input":"x"}').set('Accept', 'text/event-stream');
    expect([answer.status, answer.headers['location'], answer.headers['content-type'], answer.text]).toEqual([
      200,
      '/v1/tasks/t-1',
      'text/event-stream; charset=utf-8',
      'id: 1\n\n',
    ]);
  });

  it.each([
    '{"input":"x","task_id":null,"agent_id":null,"type":null,"session_id":null,"tools":null,"context":null,"priority":null,"deadline_seconds":null,"callback":null,"mode":null}',
    '{"input":[{"type":"text","text":"x"}],"mode":"async","context":{}}',
  ])('takes %s', async (body) => {
    const answer = await post('/v1/tasks', body);
    expect(answer.status).toBe(202);
  });

  it.each([
    ['{"input":"x","task_id":".."}', '/task_id'],
    ['{"input":"x","task_id":"a/b"}', '/task_id'],
    ['{"input":"x","task_id":""}', '/task_id'],
    ['{"input":"x","task_id":7}', '/task_id'],
    ['{"input":"x","agent_id":"a\\u0000"}', '/agent_id'],
    ['{"input":"x","type":"\\ud800"}', '/type'],
    ['{"input":"x","priority":10}', '/priority'],
    ['{"input":"x","priority":0.5}', '/priority'],
    ['{"input":"x","deadline_seconds":0}', '/deadline_seconds'],
    ['{"input":"x","deadline_seconds":2592001}', '/deadline_seconds'],
    ['{"input":"x","mode":"later"}', '/mode'],
    ['{"input":"x","session_id":""}', '/session_id'],
    ['{"input":"x","session_id":7}', '/session_id'],
    ['{"input":"x","session_id":"a\\u0000b"}', '/session_id'],
    [`{"input":"x","session_id":"${'s'.repeat(201)}"}`, '/session_id'],
    ['{"input":"x","context":[]}', '/context'],
    ['{"input":"x","context":{"user_id":7}}', '/context/user_id'],
    ['{"input":"x","context":{"attributes":[]}}', '/context/attributes'],
    ['{"input":"x","user_id":"u"}', '/user_id'],
    ['{"input":"x","callback":"http://x"}', '/callback'],
    ['{"input":"x","callback":{}}', '/callback/url'],
    ['{"input":"x","callback":{"url":"http://x","secret":"s"}}', '/callback/secret'],
  ])('refuses %s at %s and stores nothing', async (body, path) => {
    const answer = await post('/v1/tasks', body);
    expect([answer.status, answer.body.code, answer.body.errors[0].path, seen]).toEqual([
      400,
      'invalid_request',
      path,
      [],
    ]);
  });

  it.each([
    ['Idempotency-Key', ''],
    ['Idempotency-Key', 'a b'],
    ['Idempotency-Key', 'x'.repeat(256)],
    ['X-API-Mode', 'later'],
  ])('refuses %s: %j', async (header, value) => {
    const answer = await post('/v1/tasks', '{"input":"x"}').set(header, value);
    expect([answer.status, answer.body.errors[0].path, seen]).toEqual([400, `header.${header.toLowerCase()}`, []]);
  });

  it.each([
    ['{"input":"x","mode":"sync"}', undefined],
    ['{"input":"x"}', 'sync'],
    ['{"input":"x","mode":"sync"}', 'sync'],
  ])('answers %s with the header %j by the outcome, when it comes in time', async (body, mode) => {
    const headers = mode === undefined ? {} : { 'X-API-Mode': mode };
    outcome = { ...TASK, state: 'waiting_for_input' };
    const settled = await post('/v1/tasks', body).set(headers);
    expect([settled.status, settled.headers['location'], settled.headers['etag'], settled.body]).toEqual([
      200,
      '/v1/tasks/t-1',
      'W/"3"',
      { ...ENCODED, state: 'waiting_for_input', status: 'awaiting_confirm' },
    ]);
    outcome = undefined;
    const late = await post('/v1/tasks', body).set(headers);
    expect([late.status, late.headers['location'], late.body]).toEqual([
      202,
      '/v1/tasks/t-1',
      { task_id: 't-1', status: 'pending', state: 'queued', links: LINKS },
    ]);
  });

  it('refuses a mode in the body and another in the header', async () => {
    const answer = await post('/v1/tasks', '{"input":"x","mode":"async"}').set('X-API-Mode', 'sync');
    expect([answer.status, answer.body.errors[0].path, seen]).toEqual([400, 'header.x-api-mode', []]);
  });

  it('streams in sync mode as well: a stream lasts as long as the task', async () => {
    const answer = await post('/v1/tasks', '{"input":"x","mode":"sync"}').set('Accept', 'text/event-stream');
    expect([answer.status, answer.text]).toEqual([200, 'id: 1\n\n']);
  });

  it('answers 406 when no form of the answer is acceptable', async () => {
    const answer = await post('/v1/tasks', '{"input":"x"}').set('Accept', 'image/png');
    expect([answer.status, answer.body.code, answer.body.errors[0].path, seen]).toEqual([
      406,
      'not_acceptable',
      'header.accept',
      [],
    ]);
  });
});

describe('reading tasks', () => {
  it('gives the whole snapshot with its ETag, and 304 to those who have it', async () => {
    const answer = await get('/v1/tasks/t-1');
    expect([answer.status, answer.headers['etag'], answer.body]).toEqual([200, 'W/"3"', ENCODED]);
    const again = await get('/v1/tasks/t-1').set('If-None-Match', 'W/"3"');
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('answers 404 for a task that is not there', async () => {
    const answer = await get('/v1/tasks/t-2');
    expect([answer.status, answer.body.code, answer.body.instance]).toEqual([404, 'not_found', '/v1/tasks/t-2']);
  });

  it('lists by every filter', async () => {
    const answer = await get(
      '/v1/tasks?state=queued&state=running&agent_id=a&type=t&session_id=s&created_after=2026-01-01T00:00:00Z&created_before=2026-01-02T00:00:00.5%2B01:00&limit=7&cursor=c',
    );
    expect([answer.status, answer.body]).toEqual([200, { tasks: [ENCODED], next_cursor: 'next' }]);
    expect(seen).toEqual([
      {
        filter: {
          states: ['queued', 'running'],
          agentId: 'a',
          type: 't',
          sessionId: 's',
          createdAfterMs: 1767225600000,
          createdBeforeMs: 1767308400500,
        },
        page: { limit: 7, cursor: 'c' },
      },
    ]);
  });

  it.each([
    ['/v1/tasks?state=done', 'query.state'],
    ['/v1/tasks?state=queued&state=done', 'query.state'],
    ['/v1/tasks?limit=0', 'query.limit'],
    ['/v1/tasks?limit=201', 'query.limit'],
    ['/v1/tasks?created_after=yesterday', 'query.created_after'],
    ['/v1/tasks?created_after=2026-13-01T00:00:00Z', 'query.created_after'],
    ['/v1/tasks?agent_id=%00', 'query.agent_id'],
    ['/v1/tasks/t-1/wait?timeout_seconds=0', 'query.timeout_seconds'],
    ['/v1/tasks/t-1/wait?timeout_seconds=271', 'query.timeout_seconds'],
    ['/v1/tasks/t-1/wait?timeout=1', 'query.timeout'],
    ['/v1/tasks/t-1/events?limit=501', 'query.limit'],
    ['/v1/tasks/t-1/events?wait_seconds=61', 'query.wait_seconds'],
    ['/v1/tasks/t-1/events?form_seq=1', 'query.form_seq'],
    ['/v1/tasks/t-1/steps?limit=x', 'query.limit'],
    ['/v1/agents?limit=-1', 'query.limit'],
  ])('refuses %s at %s', async (path, fault) => {
    const answer = await get(path);
    expect([answer.status, answer.body.code, answer.body.errors[0].path]).toEqual([400, 'invalid_request', fault]);
  });

  it('waits, and says when the time ran out', async () => {
    const over = await get('/v1/tasks/t-1/wait?timeout_seconds=1');
    const done = await get('/v1/tasks/t-1/wait');
    expect([over.body, done.body]).toEqual([
      { ...ENCODED, timed_out: true },
      { ...ENCODED, timed_out: false },
    ]);
  });

  it('lists steps and artifacts', async () => {
    const steps = await get('/v1/tasks/t-1/steps');
    expect(steps.body).toEqual({
      steps: [
        {
          step_id: 's',
          step_name: 'plan',
          state: 'running',
          attempt: 1,
          error: null,
          started_at: '1970-01-01T00:00:00.000Z',
          finished_at: null,
        },
      ],
      next_cursor: null,
    });
    const artifact = {
      artifact_id: 'a-1',
      kind: 'produced',
      name: 'out.txt',
      media_type: 'text/plain',
      size: 3,
      sha256: 'ab',
      created_at: '1970-01-01T00:00:00.000Z',
      download_url: linked.downloadUrl,
      download_expires_at: '1970-01-01T00:10:00.000Z',
    };
    const list = await get('/v1/tasks/t-1/artifacts');
    const one = await get('/v1/tasks/t-1/artifacts/a-1');
    expect([list.body, one.body]).toEqual([{ artifacts: [artifact], next_cursor: null }, artifact]);
  });
});

describe('starting', () => {
  it('answers 202 when it has released the task, and 200 when there was nothing to release', async () => {
    const released = await post('/v1/tasks/t-1/start').set('X-Request-Id', 'r');
    const started = await post('/v1/tasks/t-9/start').set('X-Request-Id', 'r');
    expect([released.status, started.status, seen]).toEqual([202, 200, [{ requestId: 'r' }, { requestId: 'r' }]]);
    expect(released.body).toEqual({ ...ENCODED, held_until: '1970-01-01T00:00:05.000Z' });
  });
});

describe('cancelling', () => {
  it('is 202 when it did something, 200 when there was nothing to stop, with or without a reason', async () => {
    const stopped = await post('/v1/tasks/t-1/cancel', '{"reason":"changed my mind"}').set('X-Request-Id', 'r');
    const ended = await post('/v1/tasks/t-9/cancel').set('X-Request-Id', 'r');
    expect([stopped.status, stopped.body, ended.status]).toEqual([202, ENCODED, 200]);
    expect(seen).toEqual([
      { reason: 'changed my mind', requestId: 'r' },
      { reason: undefined, requestId: 'r' },
    ]);
  });

  it.each(['{"reason":7}', '{"why":"x"}', '[]', '{'])('refuses %s', async (body) => {
    const answer = await post('/v1/tasks/t-1/cancel', body);
    expect([answer.status, seen]).toEqual([400, []]);
  });
});

describe('answering', () => {
  it('hands the answer on as it was sent, and says what follows', async () => {
    const edited = '{"toString":{"constructor":1},"2":"b","hasOwnProperty":null}';
    const body = `{"wait_id":"w-1","input":"why not","decisions":[{"tool_call_id":"c1","approved":true,"edited_args":${edited}},
      {"tool_call_id":"c2","approved":"true","reason":null}],"results":[{"tool_call_id":"t1","output":{"valueOf":[]}}]}`;
    const answer = await post('/v1/tasks/t-1/resume', body).set('X-Request-Id', 'r');
    expect([answer.status, answer.body]).toEqual([
      202,
      { task_id: 't-1', status: 'running', state: 'running', run_no: 2, links: LINKS },
    ]);
    const { wait_id: waitId, ...told } = JSON.parse(body) as { wait_id: string };
    expect(seen).toEqual([{ waitId, answer: told, requestId: 'r' }]);
    const [{ answer: seenAnswer }] = seen as [ResumeRequest];
    expect(JSON.stringify(seenAnswer.decisions[0]!.edited_args)).toBe(JSON.stringify(JSON.parse(edited)));
  });

  it('takes null for what is left out, and an answer that says nothing', async () => {
    for (const body of ['{}', '{"wait_id":null,"input":null,"decisions":null,"results":null}']) {
      expect((await post('/v1/tasks/t-1/resume', body).set('X-Request-Id', 'r')).status).toBe(202);
    }
    const nothing = { decisions: [], results: [], input: undefined };
    expect(seen).toEqual(Array(2).fill({ waitId: undefined, answer: nothing, requestId: 'r' }));
  });

  it('that comes too late is told what was decided', async () => {
    const answer = await post('/v1/tasks/t-9/resume', '{"input":"yes"}');
    expect([answer.status, answer.body]).toEqual([
      409,
      {
        type: 'urn:switchyard:error:not_waiting',
        title: 'The task is not waiting for input',
        status: 409,
        code: 'not_waiting',
        detail: 'The task is not waiting for an answer.',
        instance: '/v1/tasks/t-9/resume',
        decision: LAST,
      },
    ]);
  });

  it.each([
    ['{"approved":true}', '/approved'],
    ['{"decisions":{}}', '/decisions'],
    ['{"decisions":["c1"]}', '/decisions/0'],
    ['{"decisions":[{"approved":true}]}', '/decisions/0/tool_call_id'],
    ['{"decisions":[{"tool_call_id":"c1","args":{}}]}', '/decisions/0/args'],
    ['{"decisions":[{"tool_call_id":"c1","reason":7}]}', '/decisions/0/reason'],
    ['{"decisions":[{"tool_call_id":"c1","edited_args":{"__proto__":{}}}]}', '/decisions/0/edited_args/__proto__'],
    ['{"decisions":[{"tool_call_id":"c1","edited_args":{"a":12345678901234567890}}]}', '/decisions/0/edited_args/a'],
    ['{"results":[{"tool_call_id":"c1","output":{"a":1,"a":2}}]}', '/results/0/output/a'],
    ['{"results":[{"tool_call_id":"c1","error":{}}]}', '/results/0/error'],
    ['{"input":["yes"]}', '/input'],
    ['{"wait_id":"a\\u0000b"}', '/wait_id'],
  ])('refuses %s where it is wrong', async (body, path) => {
    const answer = await post('/v1/tasks/t-1/resume', body);
    const [fault] = answer.body.errors as { path: string }[];
    expect([answer.status, answer.body.code, fault!.path, seen]).toEqual([400, 'invalid_request', path, []]);
  });

  it('refuses more decisions than any pause asks for', async () => {
    const answer = await post('/v1/tasks/t-1/resume', `{"decisions":[${Array(1_001).fill('{}').join(',')}]}`);
    const { errors } = answer.body as { errors: object[] };
    expect([answer.status, errors]).toEqual([400, [expect.objectContaining({ code: 'array_max_size' })]]);
  });
});

describe('events', () => {
  it('are a stream unless JSON is asked for', async () => {
    const answer = await get('/v1/tasks/t-1/events?from_seq=3&detail=status&types=task.started,%20task.failed').set(
      'Last-Event-ID',
      '2',
    );
    expect([answer.status, answer.text]).toEqual([200, 'id: 4\n\nid: 5\n\n']);
    expect(seen).toEqual([
      { cursor: { text: '3', source: 'query.from_seq' }, detail: 'status', types: ['task.started', 'task.failed'] },
    ]);
  });

  it('are pages of the stored bytes', async () => {
    const answer = await get('/v1/tasks/t-1/events?limit=2&wait_seconds=3')
      .set('Accept', 'application/json')
      .set('Last-Event-ID', '2');
    expect(answer.text).toBe(
      '{"events":[{"seq":4,"payload":{"n":1.0}},{"seq":6}],"next_seq":7,"has_more":true,"state":"running"}',
    );
    expect(seen).toEqual([
      {
        cursor: { text: '2', source: 'header.last-event-id' },
        detail: undefined,
        types: undefined,
        limit: 2,
        waitMs: 3000,
      },
    ]);
  });

  it('of an unknown task are 404 before any header of a stream', async () => {
    const answer = await get('/v1/tasks/t-2/events').set('Accept', 'text/event-stream');
    expect([answer.status, answer.headers['content-type']]).toEqual([404, 'application/problem+json']);
  });
});

describe('the bytes of an artifact', () => {
  it('need no credential but the link', async () => {
    const answer = await request(app.getHttpServer()).get('/v1/artifacts/a-1/content?exp=1&sig=k.x');
    expect([answer.status, answer.text]).toEqual([200, 'abc']);
    expect(seen).toEqual([
      { method: 'GET', path: '/v1/artifacts/a-1/content', artifactId: 'a-1', exp: '1', sig: 'k.x' },
    ]);
  });

  it('are left out for HEAD', async () => {
    const answer = await request(app.getHttpServer()).head('/v1/artifacts/a-1/content?exp=1&sig=k.x');
    expect([answer.status, answer.headers['content-length'], seen]).toEqual([
      200,
      '3',
      [expect.objectContaining({ method: 'HEAD' })],
    ]);
  });

  it.each([
    [{ range: 'bytes=1-' }, 206, 'bc', 'bytes 1-2/3'],
    [{ range: 'bytes=0-0' }, 206, 'a', 'bytes 0-0/3'],
    [{ range: 'bytes=-2', 'if-range': '"e"' }, 206, 'bc', 'bytes 1-2/3'],
    [{ range: 'bytes=1-', 'if-range': '"other"' }, 200, 'abc', undefined],
    [{ range: 'bytes=0-0,2-2' }, 200, 'abc', undefined],
    [{ 'if-none-match': '"e"' }, 304, '', undefined],
  ])('asked for with %j are %j %j', async (headers, status, text, contentRange) => {
    const answer = await request(app.getHttpServer()).get('/v1/artifacts/a-1/content?exp=1&sig=k.x').set(headers);
    const length = status === 304 ? undefined : String(text.length);
    const { etag, 'content-range': shown, 'content-length': counted } = answer.headers;
    expect([answer.status, answer.text, shown, etag, counted]).toEqual([status, text, contentRange, '"e"', length]);
  });

  it('that are not there are 416 with how many there are', async () => {
    const answer = await request(app.getHttpServer())
      .get('/v1/artifacts/a-1/content?exp=1&sig=k.x')
      .set('Range', 'bytes=3-');
    expect([answer.status, answer.headers['content-range'], answer.body.code]).toEqual([
      416,
      'bytes */3',
      'range_not_satisfiable',
    ]);
  });
});

describe('an upload', () => {
  const post = (path: string): request.Test =>
    request(app.getHttpServer()).post(path).set('X-API-Key', 'tasks:submit').set('Content-Type', 'image/png');
  const sha = createHash('sha256').update('abc').digest('hex');

  it('is taken as it is and answered with the artifact', async () => {
    const answer = await post('/v1/artifacts?name=a%20b.png').set('X-SHA256', sha).send(Buffer.from('abc'));
    expect([answer.status, answer.headers['location'], answer.body.artifact_id]).toEqual([
      201,
      '/v1/artifacts/a-1',
      'a-1',
    ]);
    const expected = { header: 'x-sha256', sha256: sha };
    expect(seen).toEqual([
      {
        name: 'a b.png',
        mediaType: 'image/png',
        expected,
        announcedBytes: 3,
        size: 3,
        requestId: answer.headers['x-request-id'],
      },
    ]);
  });

  it.each<[string, Record<string, string>, string, [number, string | undefined]]>([
    ['', {}, 'abc', [400, 'query.name']],
    ['?name=', {}, 'abc', [400, 'query.name']],
    [`?name=${'x'.repeat(256)}`, {}, 'abc', [400, 'query.name']],
    ['?name=a%0Ab', {}, 'abc', [400, 'query.name']],
    ['?name=a&name=b', {}, 'abc', [400, 'query.name']],
    ['?name=a&other=b', {}, 'abc', [400, 'query.other']],
    ['', { 'Content-Disposition': 'attachment; filename=""' }, 'abc', [400, 'header.content-disposition']],
    ['?name=a', { 'X-SHA256': 'x' }, 'abc', [400, 'header.x-sha256']],
    ['?name=a', { 'X-SHA256': '0'.repeat(64) }, 'abc', [400, 'header.x-sha256']],
    ['?name=a', {}, '', [400, '']],
    ['?name=a', { 'Content-Type': 'multipart/form-data; boundary=x' }, 'abc', [415, 'header.content-type']],
    ['?name=a', { 'Content-Encoding': 'gzip' }, 'abc', [415, 'header.content-encoding']],
    ['?name=a', {}, 'x'.repeat(11), [413, undefined]],
  ])('%j with %j is refused', async (query, headers, body, [status, path]) => {
    const answer = await post(`/v1/artifacts${query}`).set(headers).send(Buffer.from(body));
    expect([answer.status, answer.body.errors?.[0].path, seen]).toEqual([status, path, []]);
  });
});

describe('agents', () => {
  it('come in pages, without what runs behind them', async () => {
    const first = await get('/v1/agents?limit=2');
    const second = await get(`/v1/agents?limit=2&cursor=${first.body.next_cursor}`);
    expect([first.body.agents, second.body].flat().map((each) => each.agent_id ?? each.agents[0].agent_id)).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect([second.body.next_cursor, Object.keys(first.body.agents[0])]).toEqual([
      null,
      ['agent_id', 'name', 'description', 'enabled', 'default', 'types', 'input_modes', 'tools', 'updated_at'],
    ]);
  });

  it('are put and patched under the version that is expected, and shown whole to who may do that', async () => {
    const change = (method: 'put' | 'patch', path: string): request.Test =>
      request(app.getHttpServer())[method](path).set('X-API-Key', 'all').set('X-Request-Id', 'req-1');
    const made = await change('put', '/v1/agents/new').send({ description: 'd' }).set('If-None-Match', '*');
    const patched = await change('patch', '/v1/agents/a')
      .set('Content-Type', 'application/merge-patch+json')
      .set('If-Match', '"7", W/"6", "other"')
      .send('{"enabled":false}');
    expect([made.status, made.headers['location'], made.headers['etag']]).toEqual([201, '/v1/agents/new', '"7"']);
    expect([patched.status, patched.headers['location'], patched.headers['etag']]).toEqual([200, undefined, '"7"']);
    expect(patched.body).toMatchObject({ active_tasks: 2, declaration: { id: 'a', secret: 'runner' } });
    expect(seen).toEqual([
      { agentId: 'new', body: { description: 'd' }, expects: { ifNoneMatch: '*' }, requestId: 'req-1' },
      { agentId: 'a', body: { enabled: false }, expects: { ifMatch: [7] }, requestId: 'req-1' },
    ]);
  });

  it.each(['7', '"7', '"7","8', '*, "7"', '"a"b"'])('are not changed under If-Match: %s', async (tag) => {
    const answer = await request(app.getHttpServer())
      .patch('/v1/agents/a')
      .set({ 'X-API-Key': 'all', 'If-Match': tag })
      .send({ enabled: false });
    expect([answer.status, answer.body.errors[0].path, seen]).toEqual([400, 'header.if-match', []]);
  });

  it('show their version as ETag', async () => {
    expect((await get('/v1/agents/a')).headers['etag']).toBe('"7"');
  });

  it('say what they can do', async () => {
    const answer = await get('/v1/agents/a/capabilities');
    expect(answer.body).toEqual({
      agent_id: 'a',
      task_types: ['x'],
      input_modes: ['text'],
      tools: [],
      event_types: [],
      pause: false,
      resume: true,
      cancel: true,
      client_tools: false,
    });
  });
});

describe('the description of the contract', () => {
  interface Described {
    readonly call: string;
    readonly method: string;
    readonly path: string;
    readonly scopes?: readonly string[] | undefined;
  }

  async function operations(): Promise<Described[]> {
    const { body } = await request(app.getHttpServer()).get('/openapi.json');
    return Object.entries(body.paths as Record<string, Record<string, { 'x-scopes'?: string[] }>>).flatMap(
      ([path, verbs]) =>
        Object.entries(verbs).map(([method, operation]) => ({
          call: `${method} ${path}`,
          method,
          path,
          scopes: operation['x-scopes'],
        })),
    );
  }

  it('is OpenAPI 3.1 and names every route with its scopes', async () => {
    const { body } = await request(app.getHttpServer()).get('/openapi.json');
    expect([body.openapi, JSON.stringify(body).includes('"nullable"')]).toEqual(['3.1.0', false]);
    const table = Object.fromEntries(
      (await operations()).map(({ call, scopes }) => [call, scopes?.join(' ') ?? 'public']),
    );
    expect(table).toEqual({
      'post /v1/tasks': 'tasks:submit',
      'get /v1/tasks': 'tasks:read',
      'get /v1/tasks/{id}': 'tasks:read',
      'get /v1/tasks/{id}/wait': 'tasks:read',
      'get /v1/tasks/{id}/events': 'tasks:read',
      'post /v1/tasks/{id}/cancel': 'tasks:cancel',
      'post /v1/tasks/{id}/start': 'tasks:submit',
      'post /v1/tasks/{id}/resume': 'tasks:decide',
      'get /v1/tasks/{id}/steps': 'tasks:read',
      'get /v1/tasks/{id}/artifacts': 'tasks:read',
      'get /v1/tasks/{id}/artifacts/{aid}': 'tasks:read',
      'post /v1/artifacts': 'tasks:submit',
      'get /v1/artifacts': 'tasks:read',
      'get /v1/artifacts/{aid}': 'tasks:read',
      'get /v1/artifacts/{aid}/content': 'public',
      'get /v1/agents': 'agents:read',
      'get /v1/agents/{id}': 'agents:read',
      'put /v1/agents/{id}': 'agents:write platform:admin',
      'patch /v1/agents/{id}': 'agents:write platform:admin',
      'get /v1/agents/{id}/capabilities': 'agents:read',
      'get /v1/keys': 'keys:read',
      'post /v1/keys': 'keys:write',
      'get /v1/keys/{id}': 'keys:read',
      'post /v1/keys/{id}/rotate': 'keys:write',
      'delete /v1/keys/{id}': 'keys:write',
      'get /v1/tools': 'tools:read',
      'get /v1/tools/{id}': 'tools:read',
      'post /v1/tools/{id}/accept': 'tools:write platform:admin',
      'put /v1/tools/{id}': 'tools:write platform:admin',
      'delete /v1/tools/{id}': 'tools:write platform:admin',
      'get /v1/webhooks': 'webhooks:read',
      'post /v1/webhooks': 'webhooks:write',
      'get /v1/webhooks/{id}': 'webhooks:read',
      'patch /v1/webhooks/{id}': 'webhooks:write',
      'delete /v1/webhooks/{id}': 'webhooks:write',
      'post /v1/callback-secret:rotate': 'webhooks:write',
      'post /v1/webhooks/{id}/secret:rotate': 'webhooks:write',
      'post /v1/webhooks/{id}/test': 'webhooks:write',
      'get /v1/webhooks/{id}/deliveries': 'webhooks:read',
      'post /v1/webhooks/{id}/deliveries/{did}:replay': 'webhooks:write',
      'get /v1/tasks/{id}/deliveries': 'tasks:read',
      'post /v1/tasks/{id}/deliveries/{did}:replay': 'tasks:submit',
    });
  });

  it('resolves every reference it makes', async () => {
    const { text, body } = await request(app.getHttpServer()).get('/openapi.json');
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name!);
    expect(references.length).toBeGreaterThan(20);
    expect(references.filter((name) => !(name in body.components.schemas))).toEqual([]);
  });

  it('is read at /docs with nothing from elsewhere and no script in the page', async () => {
    const page = await request(app.getHttpServer()).get('/docs');
    expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file!);
    expect(files).toHaveLength(4);
    expect(page.text).not.toMatch(/<script(?! src=)/);
    for (const file of files) {
      const answer = await request(app.getHttpServer()).get(file);
      expect([file, answer.status]).toEqual([file, 200]);
    }
    const other = await request(app.getHttpServer()).get('/docs/package.json');
    expect(other.status).toBe(404);
  });
});

describe('keys', () => {
  const encoded = {
    id: 'k1',
    tenant: 'acme',
    principal: 'ann',
    scopes: ['tasks:read'],
    label: null,
    state: 'live',
    created_at: '1970-01-01T00:00:00.000Z',
    rotated_at: '1970-01-01T00:00:01.000Z',
    retiring_until: ['2999-01-01T00:00:00.000Z'],
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
  };

  it('are shown without any of their secrets, revoked ones without those that end', async () => {
    const list = await get('/v1/keys?tenant=acme&principal=ann&limit=1');
    expect([list.body, seen]).toEqual([
      { keys: [encoded], next_cursor: 'next' },
      [[{ tenant: 'acme', principal: 'ann' }, { limit: 1 }]],
    ]);
    const revoked = await request(app.getHttpServer()).delete('/v1/keys/k1').set('X-API-Key', 'all');
    const ended = { ...encoded, state: 'revoked', revoked_at: '1970-01-01T00:00:02.000Z', retiring_until: [] };
    expect([revoked.status, revoked.body]).toEqual([200, ended]);
  });

  it('are shown once, when they are made or rotated, and nothing keeps that answer', async () => {
    const made = await post('/v1/keys', '{"scopes":["tasks:read","tasks:read"],"expires_at":"2999-01-01T00:00:00Z"}');
    expect([made.status, made.headers['location'], made.headers['cache-control'], made.body]).toEqual([
      201,
      '/v1/keys/k1',
      'no-store',
      { ...encoded, key: 'swy_k1_secret' },
    ]);
    const rotated = await post('/v1/keys/k1/rotate');
    expect([rotated.status, rotated.headers['cache-control'], rotated.body.key]).toEqual([
      200,
      'no-store',
      'swy_k1_secret',
    ]);
    expect(seen).toMatchObject([
      { scopes: ['tasks:read'], expiresAtMs: Date.parse('2999-01-01T00:00:00Z') },
      { id: 'k1', overlapMs: 86_400_000 },
    ]);
  });

  it.each([
    ['/v1/keys', '{}', '/scopes'],
    ['/v1/keys', '{"scopes":[]}', '/scopes'],
    ['/v1/keys', '{"scopes":["tasks:eat"]}', '/scopes'],
    ['/v1/keys', '{"scopes":"tasks:read"}', '/scopes'],
    ['/v1/keys', '{"scopes":["tasks:read"],"expires_at":"2001-01-01T00:00:00Z"}', '/expires_at'],
    ['/v1/keys', '{"scopes":["tasks:read"],"expires_at":"soon"}', '/expires_at'],
    ['/v1/keys', '{"scopes":["tasks:read"],"principal":""}', '/principal'],
    ['/v1/keys', '{"scopes":["tasks:read"],"secret":"mine"}', '/secret'],
    ['/v1/keys/k1/rotate', '{"overlap_seconds":-1}', '/overlap_seconds'],
    ['/v1/keys/k1/rotate', '{"overlap_seconds":2592001}', '/overlap_seconds'],
  ])('POST %s refuses %s at %s', async (path, body, fault) => {
    const answer = await post(path, body);
    expect([answer.status, answer.body.errors[0].path, seen]).toEqual([400, fault, []]);
  });
});
