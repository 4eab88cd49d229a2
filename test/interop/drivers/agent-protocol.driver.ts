import { call } from '../../support/installation.js';
import type { Driver, Place, Sight } from './driver.js';

type Body = Record<string, unknown>;

/** A request to Agent Protocol. @throws when it is refused */
async function ask({ url, key }: Place, path: string, body: Body, headers: Record<string, string> = {}): Promise<Body> {
  const answer = await call(`${url}/ap/v1/agent/tasks${path}`, { key, body, headers });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Agent Protocol v1, driven step by step. */
export const agentProtocol: Driver = {
  name: 'Agent Protocol',
  async create(place, agentId, text) {
    const { task_id } = await ask(place, '', { input: text }, { 'x-agent-id': agentId });
    // The first step starts the task, and is over when its first step is.
    void ask(place, `/${String(task_id)}/steps`, {}).catch(() => undefined);
    return String(task_id);
  },
  async watch(place, taskId): Promise<Sight> {
    for (;;) {
      const step = await ask(place, `/${taskId}/steps`, {});
      const { state } = step['additional_output'] as { state: Sight['state'] };
      if (step['is_last'] === true || state === 'waiting') return { state, text: String(step['output'] ?? '') };
    }
  },
  async decide(place, taskId, isApproved) {
    const step = await ask(place, `/${taskId}/steps`, {});
    const { wait_id, pending } = step['additional_output'] as { wait_id: string; pending: { tool_call_id: string }[] };
    const decisions = pending.map(({ tool_call_id }) => ({ tool_call_id, approved: isApproved }));
    await ask(place, `/${taskId}/steps`, { additional_input: { wait_id, decisions } });
  },
};
