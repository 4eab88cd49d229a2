import type { Ask, RouteRow, World } from './route-matrix.rows.js';

const ofAgent = (): Ask => ({ params: { agent: 'scripted' } });
const ofAgentWith = (body: object) => (): Ask => ({ params: { agent: 'scripted' }, body });
const ofAgentsTask = ({ task }: World): Ask => ({ params: { agent: 'scripted', id: task } });
const ofAgentsConfig = ({ task }: World): Ask => ({ params: { agent: 'scripted', id: task, config: 'mine' } });
const MESSAGE = { message: { messageId: 'matrix', role: 'ROLE_USER', parts: [{ text: 'said' }] } };
const MESSAGE_03 = { request: { messageId: 'matrix-03', role: 'ROLE_USER', content: [{ text: 'said' }] } };
const RPC = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'nothing' } };

const VERSIONS = ['', '/v1'];

const A2A_TASK_ROWS: readonly RouteRow[] = [
  { route: 'GET /.well-known/agent-card.json', needs: 'public' },
  { route: 'GET /a2a/{agent}/.well-known/agent-card.json', needs: 'public', ask: ofAgent },
  { route: 'GET /a2a', needs: ['agents:read'] },
  { route: 'POST /a2a/{agent}/jsonrpc', needs: ['tasks:read'], ask: ofAgentWith(RPC) },
  // What the message turns out to do needs a scope of its own.
  ...['/message:send', '/message:stream', '/v1/message:send', '/v1/message:stream'].map((path): RouteRow => ({
    route: `POST /a2a/{agent}/rest${path}`,
    needs: ['tasks:read'],
    ask: ofAgentWith(path.startsWith('/v1') ? MESSAGE_03 : MESSAGE),
    ok: 403,
  })),
  { route: 'GET /a2a/{agent}/rest/tasks', needs: ['tasks:read'], ask: ofAgent, lists: 'principal' },
  { route: 'GET /a2a/{agent}/rest/tasks/{id}', needs: ['tasks:read'], ask: ofAgentsTask, names: 'principal' },
  ...(['GET', 'POST'] as const).flatMap((method) =>
    VERSIONS.map((version): RouteRow => ({
      route: `${method} /a2a/{agent}/rest${version}/tasks/{id}:subscribe`,
      needs: ['tasks:read'],
      ask: ofAgentsTask,
      // It has ended.
      ok: 400,
      names: 'principal',
    })),
  ),
  ...VERSIONS.map((version): RouteRow => ({
    route: `POST /a2a/{agent}/rest${version}/tasks/{id}:cancel`,
    needs: ['tasks:read', 'tasks:cancel'],
    ask: ofAgentsTask,
    ok: 400,
    names: 'principal',
  })),
  { route: 'GET /a2a/{agent}/rest/extendedAgentCard', needs: ['agents:read'], ask: ofAgent },
  { route: 'GET /a2a/{agent}/rest/v1/tasks/{id}', needs: ['tasks:read'], ask: ofAgentsTask, names: 'principal' },
  { route: 'GET /a2a/{agent}/rest/v1/card', needs: ['agents:read'], ask: ofAgent },
];

function configRows(version: string, nowhere: string): readonly RouteRow[] {
  const configs = `/a2a/{agent}/rest${version}/tasks/{id}/pushNotificationConfigs`;
  return [
    {
      route: `POST ${configs}`,
      needs: ['tasks:read', 'webhooks:write'],
      ask: (world) => ({ ...ofAgentsTask(world), body: { id: 'mine', url: nowhere } }),
      ok: 201,
      names: 'principal',
    },
    { route: `GET ${configs}`, needs: ['tasks:read', 'webhooks:read'], ask: ofAgentsTask, names: 'principal' },
    {
      route: `GET ${configs}/{config}`,
      needs: ['tasks:read', 'webhooks:read'],
      ask: ofAgentsConfig,
      names: 'principal',
      otherTask: ({ otherTask }) => ({ params: { agent: 'scripted', id: otherTask, config: 'mine' } }),
    },
    {
      route: `DELETE ${configs}/{config}`,
      needs: ['tasks:read', 'webhooks:write'],
      ask: ofAgentsConfig,
      ok: 204,
      names: 'principal',
    },
  ];
}

/** Routes of A2A. `nowhere` is an address nothing listens on. */
export function a2aRows(nowhere: string): readonly RouteRow[] {
  return [...A2A_TASK_ROWS, ...VERSIONS.flatMap((version) => configRows(version, nowhere))];
}
