import { call } from '../../support/installation.js';
import type { Driver, Place, Sight } from './driver.js';

type Body = Record<string, unknown>;

async function ask({ url, key }: Place, path: string, body?: Body): Promise<Body> {
  const answer = await call(`${url}/v1/tasks${path}`, { key, ...(body === undefined ? {} : { body }) });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Our own contract. */
export const native: Driver = {
  name: 'native',
  async create(place, agentId, text) {
    return String((await ask(place, '', { agent_id: agentId, input: text }))['task_id']);
  },
  async watch(place, taskId): Promise<Sight> {
    const task = await ask(place, `/${taskId}/wait?timeout_seconds=60`);
    const state = task['state'] === 'waiting_for_input' ? 'waiting' : (task['state'] as Sight['state']);
    const said = (task['result'] as Body | null)?.['text'] ?? (task['error'] as Body | null)?.['message'] ?? '';
    return { state, text: String(said) };
  },
  async decide(place, taskId, isApproved) {
    const { wait_id, pending_confirms } = await ask(place, `/${taskId}`);
    const decisions = (pending_confirms as Body[]).map(({ tool_call_id }) => ({ tool_call_id, approved: isApproved }));
    await ask(place, `/${taskId}/resume`, { wait_id, decisions });
  },
  async cancel(place, taskId) {
    await ask(place, `/${taskId}/cancel`, {});
  },
};
