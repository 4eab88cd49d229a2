import type { Scope } from '#lib/domain';
import { AGUI_ROWS } from './route-matrix.ag-ui.js';
import { until } from '../support/until.js';
import { a2aRows } from './route-matrix.a2a.js';

/** Makes a request and answers its body. */
type Requester = (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;

/** What the owner, ann of the tenant `default`, has before the matrix is walked. */
export interface World {
  /** Ended, with one artifact. */
  readonly task: string;
  readonly artifact: string;
  /** Hers as well, ended, with another artifact. */
  readonly otherTask: string;
  readonly otherArtifact: string;
  readonly upload: string;
  readonly webhook: string;
  /** A delivery to `webhook`, of `otherTask`; and one to the callback of `task`, which the webhook is not told. */
  readonly delivery: string;
  readonly callback: string;
  /** Of a run of hers that goes on; opens the routes for runs, and no other. */
  readonly token: string;
  /** A link to the bytes of `artifact`, without its host. */
  readonly link: string;
  /** A request of an administrator of her tenant, for what a row needs besides. Throws unless it succeeds. */
  readonly admin: Requester;
  /** The same as ann. */
  readonly ann: Requester;
}

/** A request to the route of a row. */
export interface Ask {
  /** By the names of the path, in place of `{…}`. */
  readonly params?: Readonly<Record<string, string>>;
  /** Added to the path, with its question mark. */
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What one route is expected to do. `needs`: the scopes it asks for, `public` when it takes no credential, `task token` when
 * it serves runs and takes no caller's credential.
 */
export interface RouteRow {
  /** Method and path as `/openapi.json` spells them. */
  readonly route: string;
  readonly needs: readonly Scope[] | 'public' | 'task token';
  /** A request that somebody with just these scopes may make; it is made after all that are refused. */
  readonly ask?: (world: World) => Ask | Promise<Ask>;
  /** The status of that request; default 200. */
  readonly ok?: number;
  /**
   * Whom the thing it names belongs to: `principal` when others of the tenant without `tasks:all` must not learn of it,
   * `tenant` when other tenants must not. Absent: it names nothing that belongs to anybody.
   */
  readonly names?: 'principal' | 'tenant';
  /** The same for a list: whose answers must not hold any id of the world. */
  readonly lists?: 'principal' | 'tenant';
  /** A request that names a part of another task of the same owner; it is 404. */
  readonly otherTask?: (world: World) => Ask;
}

/** Her own: others have been denied things under their own name, which may be the same. */
const submits = (): Ask => ({ query: '?action=task.submit' });

const asAgent = (): Ask => ({ body: { input: 'said' }, headers: { 'x-agent-id': 'scripted' } });

/** The id of a record of hers that is sealed. */
async function sealed({ admin, task }: World): Promise<string> {
  let id = '';
  const find = async (): Promise<boolean> => {
    const { records } = (await admin('GET', `/v1/audit?target=${task}`)) as {
      records: { id: string; leaf: number | null }[];
    };
    id = records.find(({ leaf }) => leaf !== null)?.id ?? '';
    return id !== '';
  };
  await until(find, { timeoutMs: 20_000 });
  return id;
}

const SCRIPT = { agent_id: 'scripted', input: 'said' };
const AGENT = {
  description: 'Of the matrix.',
  input_modes: ['text'],
  routes: [{ backends: [{ runner: 'scripted' }] }],
};
const INVOKED = (): Ask => ({ params: { name: 'summarise' }, body: { tool_call_id: 'c', arguments: { text: 'x' } } });
/** Where nothing listens; the installation of the matrix may send there. */
export const NOWHERE = 'http://127.0.0.1:9/';
const WEBHOOK = { url: NOWHERE };
const ofWebhook = ({ webhook }: World): Ask => ({ params: { id: webhook } });
const CLOCK = { kind: 'http', description: 'Of the matrix.', request: { url: 'https://example.com/now' } };
const ofTask = ({ task }: World): Ask => ({ params: { id: task } });
const named = (id: string) => (): Ask => ({ params: { id } });
const ofKey = async ({ admin }: World): Promise<Ask> => {
  const { id } = await admin('POST', '/v1/keys', { scopes: ['keys:write'] });
  return { params: { id: String(id) } };
};
const ofUpload = ({ upload }: World): Ask => ({ params: { aid: upload } });

/**
 * One row for each route of `/openapi.json`, by path. A new route needs one: say which scopes it takes, make a request its
 * owner may make, and say whose things it names.
 */
export const ROWS: readonly RouteRow[] = [
  // tasks
  { route: 'POST /v1/tasks', needs: ['tasks:submit'], ask: () => ({ body: SCRIPT }), ok: 202 },
  { route: 'GET /v1/tasks', needs: ['tasks:read'], lists: 'principal' },
  { route: 'GET /v1/tasks/{id}', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  { route: 'GET /v1/tasks/{id}/wait', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  { route: 'GET /v1/tasks/{id}/steps', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  { route: 'GET /v1/tasks/{id}/events', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  { route: 'POST /v1/tasks/{id}/cancel', needs: ['tasks:cancel'], ask: ofTask, names: 'principal' },
  { route: 'POST /v1/tasks/{id}/start', needs: ['tasks:submit'], ask: ofTask, names: 'principal' },
  {
    route: 'POST /v1/tasks/{id}/resume',
    needs: ['tasks:decide'],
    ask: (world) => ({ ...ofTask(world), body: { input: 'yes' } }),
    ok: 409,
    names: 'principal',
  },

  // artifacts
  { route: 'GET /v1/tasks/{id}/artifacts', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  {
    route: 'GET /v1/tasks/{id}/artifacts/{aid}',
    needs: ['tasks:read'],
    ask: ({ task, artifact }) => ({ params: { id: task, aid: artifact } }),
    names: 'principal',
    otherTask: ({ task, otherArtifact }) => ({ params: { id: task, aid: otherArtifact } }),
  },
  { route: 'POST /v1/artifacts', needs: ['tasks:submit'], ask: () => ({ query: '?name=a.json', body: {} }), ok: 201 },
  { route: 'GET /v1/artifacts', needs: ['tasks:read'], lists: 'principal' },
  { route: 'GET /v1/artifacts/{aid}', needs: ['tasks:read'], ask: ofUpload, names: 'principal' },
  {
    route: 'GET /v1/artifacts/{aid}/content',
    needs: 'public',
    ask: ({ artifact, link }) => ({ params: { aid: artifact }, query: new URL(link, 'http://x').search }),
    otherTask: ({ otherArtifact, link }) => ({
      params: { aid: otherArtifact },
      query: new URL(link, 'http://x').search,
    }),
  },

  // agents
  { route: 'GET /v1/agents', needs: ['agents:read'] },
  { route: 'GET /v1/agents/{id}', needs: ['agents:read'], ask: named('strict'), names: 'tenant' },
  { route: 'GET /v1/agents/{id}/capabilities', needs: ['agents:read'], ask: named('strict'), names: 'tenant' },
  {
    route: 'PUT /v1/agents/{id}',
    needs: ['agents:write', 'platform:admin'],
    ask: () => ({ params: { id: 'matrix' }, body: AGENT }),
    ok: 201,
  },
  {
    route: 'PATCH /v1/agents/{id}',
    needs: ['agents:write', 'platform:admin'],
    ask: () => ({ params: { id: 'closed' }, body: { description: 'Still takes none.' } }),
  },

  // keys
  { route: 'GET /v1/keys', needs: ['keys:read'], lists: 'tenant' },
  { route: 'POST /v1/keys', needs: ['keys:write'], ask: () => ({ body: { scopes: ['keys:write'] } }), ok: 201 },
  { route: 'GET /v1/keys/{id}', needs: ['keys:read'], ask: ofKey, names: 'tenant' },
  { route: 'POST /v1/keys/{id}/rotate', needs: ['keys:write'], ask: ofKey, names: 'tenant' },
  { route: 'DELETE /v1/keys/{id}', needs: ['keys:write'], ask: ofKey, names: 'tenant' },

  // audit
  { route: 'GET /v1/audit', needs: ['audit:read'], lists: 'tenant', ask: submits },
  { route: 'GET /v1/audit/export', needs: ['audit:read'], lists: 'tenant', ask: submits },
  { route: 'GET /v1/audit/heads', needs: ['audit:read'] },
  { route: 'GET /v1/audit/keys', needs: ['audit:read'] },
  {
    route: 'GET /v1/audit/consistency',
    needs: ['audit:read'],
    ask: async (world) => (await sealed(world), { query: '?first=1&second=1' }),
  },
  {
    route: 'GET /v1/audit/{id}/proof',
    needs: ['audit:read'],
    names: 'tenant',
    ask: async (world) => ({ params: { id: await sealed(world) } }),
  },

  // tools
  { route: 'GET /v1/tools', needs: ['tools:read'] },
  { route: 'GET /v1/tools/{id}', needs: ['tools:read'], ask: named('summarise') },
  {
    route: 'PUT /v1/tools/{id}',
    needs: ['tools:write', 'platform:admin'],
    ask: () => ({ params: { id: 'clock' }, body: CLOCK }),
    ok: 201,
  },
  {
    route: 'POST /v1/tools/{id}/accept',
    needs: ['tools:write', 'platform:admin'],
    ask: () => ({ params: { id: 'clock' }, body: { digest: '0'.repeat(64) } }),
    ok: 404,
  },
  { route: 'DELETE /v1/tools/{id}', needs: ['tools:write', 'platform:admin'], ask: named('clock'), ok: 204 },

  // webhooks
  { route: 'GET /v1/webhooks', needs: ['webhooks:read'], lists: 'principal' },
  { route: 'POST /v1/webhooks', needs: ['webhooks:write'], ask: () => ({ body: WEBHOOK }), ok: 201 },
  { route: 'POST /v1/callback-secret:rotate', needs: ['webhooks:write'] },
  { route: 'GET /v1/webhooks/{id}', needs: ['webhooks:read'], ask: ofWebhook, names: 'principal' },
  {
    route: 'PATCH /v1/webhooks/{id}',
    needs: ['webhooks:write'],
    ask: (world) => ({ ...ofWebhook(world), body: { description: 'Of the matrix.' } }),
    names: 'principal',
  },
  { route: 'POST /v1/webhooks/{id}/secret:rotate', needs: ['webhooks:write'], ask: ofWebhook, names: 'principal' },
  { route: 'POST /v1/webhooks/{id}/test', needs: ['webhooks:write'], ask: ofWebhook, names: 'principal' },
  { route: 'GET /v1/webhooks/{id}/deliveries', needs: ['webhooks:read'], ask: ofWebhook, names: 'principal' },
  {
    route: 'POST /v1/webhooks/{id}/deliveries/{did}:replay',
    needs: ['webhooks:write'],
    ask: ({ webhook, delivery }) => ({ params: { id: webhook, did: delivery } }),
    ok: 202,
    names: 'principal',
    otherTask: ({ webhook, callback }) => ({ params: { id: webhook, did: callback } }),
  },
  { route: 'GET /v1/tasks/{id}/deliveries', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  {
    route: 'POST /v1/tasks/{id}/deliveries/{did}:replay',
    needs: ['tasks:submit'],
    ask: ({ task, callback }) => ({ params: { id: task, did: callback } }),
    ok: 202,
    names: 'principal',
    otherTask: ({ otherTask, callback }) => ({ params: { id: otherTask, did: callback } }),
  },
  {
    route: 'DELETE /v1/webhooks/{id}',
    needs: ['webhooks:write'],
    ask: async ({ ann }) => ({ params: { id: String((await ann('POST', '/v1/webhooks', WEBHOOK))['webhook_id']) } }),
    ok: 204,
    names: 'principal',
  },

  // chat
  {
    route: 'POST /v1/chat/completions',
    needs: ['tasks:submit'],
    ask: () => ({ body: { model: 'scripted', messages: [{ role: 'user', content: 'Go on.' }] } }),
  },
  { route: 'GET /v1/models', needs: ['agents:read'] },
  { route: 'GET /v1/models/{id}', needs: ['agents:read'], ask: named('strict'), names: 'tenant' },

  // runtime
  { route: 'GET /.well-known/jwks.json', needs: 'public' },
  { route: 'GET /v1/runtime/tools', needs: 'task token' },
  { route: 'POST /v1/runtime/tools/{name}:invoke', needs: 'task token', ask: INVOKED },
  { route: 'POST /v1/runtime/token:renew', needs: 'task token' },
  // A key with `tools:read` is taken as well; test/e2e/task-tokens.e2e-spec.ts shows whose tokens it may ask about.
  { route: 'POST /v1/runtime/token:introspect', needs: 'task token', ask: () => ({ body: { token: 'x' } }) },

  // agentscope
  { route: 'POST /tasks', needs: ['tasks:submit'], ask: () => ({ body: { task_id: 'matrix-agentscope', ...SCRIPT } }) },
  { route: 'GET /tasks/{id}', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  { route: 'GET /tasks/{id}/wait', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  // To others it is silent, as a task that is yet to be submitted: test/interop/agentscope.interop-spec.ts.
  {
    route: 'GET /tasks/{id}/events',
    needs: ['tasks:read'],
    ask: (world) => ({ ...ofTask(world), headers: { accept: 'text/event-stream' } }),
  },
  { route: 'POST /tasks/{id}/cancel', needs: ['tasks:cancel'], ask: ofTask, names: 'principal' },
  {
    route: 'POST /tasks/{id}/resume',
    needs: ['tasks:decide'],
    ask: (world) => ({ ...ofTask(world), body: { decisions: [] } }),
    ok: 409,
    names: 'principal',
  },
  { route: 'GET /tasks/{id}/artifacts', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  {
    route: 'GET /tasks/{id}/artifacts/{aid}',
    needs: ['tasks:read'],
    ask: ({ task, artifact }) => ({ params: { id: task, aid: artifact } }),
    names: 'principal',
    otherTask: ({ task, otherArtifact }) => ({ params: { id: task, aid: otherArtifact } }),
  },
  { route: 'GET /agents/{id}/capabilities', needs: ['agents:read'], ask: named('strict'), names: 'tenant' },
  ...a2aRows(NOWHERE),

  // agent protocol
  { route: 'POST /ap/v1/agent/tasks', needs: ['tasks:submit'], ask: asAgent },
  { route: 'GET /ap/v1/agent/tasks', needs: ['tasks:read'], lists: 'principal' },
  { route: 'GET /ap/v1/agent/tasks/{id}', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  { route: 'POST /ap/v1/agent/tasks/{id}/cancel', needs: ['tasks:cancel'], ask: ofTask, ok: 204, names: 'principal' },
  { route: 'GET /ap/v1/agent/tasks/{id}/steps', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  { route: 'POST /ap/v1/agent/tasks/{id}/steps', needs: ['tasks:submit'], ask: ofTask, names: 'principal' },
  {
    route: 'GET /ap/v1/agent/tasks/{id}/steps/{stepId}',
    needs: ['tasks:read'],
    ask: ({ task }) => ({ params: { id: task, stepId: 'step_end' } }),
    names: 'principal',
  },
  { route: 'GET /ap/v1/agent/tasks/{id}/artifacts', needs: ['tasks:read'], ask: ofTask, names: 'principal' },
  // A file would have to be a form, which the matrix does not send; that the task has ended is said before it is looked at.
  {
    route: 'POST /ap/v1/agent/tasks/{id}/artifacts',
    needs: ['tasks:submit'],
    ask: ofTask,
    ok: 409,
    names: 'principal',
  },
  {
    route: 'GET /ap/v1/agent/tasks/{id}/artifacts/{artifactId}',
    needs: ['tasks:read'],
    ask: ({ task, artifact }) => ({ params: { id: task, artifactId: artifact } }),
    names: 'principal',
    otherTask: ({ task, otherArtifact }) => ({ params: { id: task, artifactId: otherArtifact } }),
  },

  // operations
  { route: 'GET /metrics', needs: ['metrics:read'] },

  ...AGUI_ROWS,
];
