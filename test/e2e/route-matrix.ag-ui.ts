import type { Ask, RouteRow } from './route-matrix.rows.js';

const runOf = (threadId: string) => (): Ask => ({
  headers: { 'x-agent-id': 'scripted' },
  body: { threadId, runId: 'run', messages: [{ id: 'm1', role: 'user', content: 'said' }] },
});

/** The routes of AG-UI. */
export const AGUI_ROWS: readonly RouteRow[] = [
  { route: 'POST /agui/run', needs: ['tasks:submit'], ask: runOf('matrix-1') },
  {
    route: 'POST /agui/run/{agentId}',
    needs: ['tasks:submit'],
    ask: () => ({ params: { agentId: 'scripted' }, ...runOf('matrix-2')() }),
  },
  {
    route: 'GET /agui/threads/{threadId}/events',
    needs: ['tasks:read'],
    ask: ({ task }) => ({ params: { threadId: task } }),
    names: 'principal',
  },
  {
    route: 'GET /agui/threads/{threadId}/runs/{runId}/events',
    needs: ['tasks:read'],
    ask: ({ task }) => ({ params: { threadId: task, runId: task } }),
    names: 'principal',
    otherTask: ({ task, otherTask }) => ({ params: { threadId: task, runId: otherTask } }),
  },
  {
    route: 'POST /agui/threads/{threadId}/runs/{runId}/cancel',
    needs: ['tasks:cancel'],
    ask: ({ task }) => ({ params: { threadId: task, runId: task } }),
    names: 'principal',
    otherTask: ({ task, otherTask }) => ({ params: { threadId: task, runId: otherTask } }),
  },
  {
    route: 'GET /agui/agents/{agentId}/capabilities',
    needs: ['agents:read'],
    ask: () => ({ params: { agentId: 'strict' } }),
    names: 'tenant',
  },
];
