import { randomUUID } from 'node:crypto';
import { ask, openEvents } from './agentscope.wire.js';
import type { Driver, Place, Sight } from './driver.js';

type Body = Readonly<Record<string, unknown>>;

async function expectOk(place: Place, path: string, asked: Parameters<typeof ask>[2] = {}): Promise<Body> {
  const { status, body } = await ask(place, path, asked);
  if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}

const STATES = {
  awaiting_confirm: 'waiting',
  success: 'succeeded',
  error: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<string, Sight['state']>;

/** AgentScope's remote subagents, with the requests of its Java client. */
export const agentScope: Driver = {
  name: 'AgentScope',
  async create(place, agentId, text) {
    const task_id = `task_${randomUUID()}`;
    await expectOk(place, '', {
      body: { task_id, agent_id: agentId, input: text, context: { stream: true, detail: 'full' } },
    });
    return task_id;
  },
  async watch(place, taskId) {
    const stream = await openEvents(place, taskId);
    for await (const { status } of stream.events()) {
      if (status === undefined || !Object.hasOwn(STATES, status)) continue;
      // A pause that is over is told of as well: what holds now says the task itself.
      const { status: now, error = '' } = await expectOk(place, `/${taskId}`);
      if (now !== status) continue;
      stream.close();
      const { result = error } = now === 'success' ? await expectOk(place, `/${taskId}/wait?timeout_seconds=120`) : {};
      return { state: STATES[now as keyof typeof STATES], text: String(result) };
    }
    throw new Error('the stream ended before the task did');
  },
  async decide(place, taskId, isApproved) {
    const { pending_confirms } = await expectOk(place, `/${taskId}`);
    const decisions = (pending_confirms as Body[]).map(({ toolCallId }) => ({ toolCallId, approved: isApproved }));
    await expectOk(place, `/${taskId}/resume`, { body: { decisions } });
  },
  async cancel(place, taskId) {
    await expectOk(place, `/${taskId}/cancel`, { method: 'POST' });
  },
};
