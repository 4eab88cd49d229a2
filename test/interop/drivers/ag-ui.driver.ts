import { type AgentSubscriber, HttpAgent } from '@ag-ui/client';
import { headersOf, interruptsOf, readStream, runAgent, type WireEvent } from './ag-ui.client.js';
import type { Driver, Place, Sight } from './driver.js';

function agentOf(place: Place, path: string, threadId?: string): HttpAgent {
  return new HttpAgent({
    url: `${place.url}/agui/run${path}`,
    headers: headersOf(place),
    ...(threadId === undefined ? {} : { threadId }),
  });
}

/** The end of the newest run of a task; a task that began elsewhere is a thread of its own. */
async function lastEnd(place: Place, taskId: string): Promise<WireEvent> {
  return (await readStream(place, `/agui/threads/${taskId}/events`)).at(-1)!;
}

function sightOf(end: WireEvent): Sight {
  if (end.type === 'RUN_ERROR') return { state: 'failed', text: String(end['message']) };
  const { outcome, result } = end as { outcome?: { type: string; pendingToolCallIds?: string[] }; result?: unknown };
  const isWaiting = outcome?.type === 'interrupt' || (outcome?.pendingToolCallIds?.length ?? 0) > 0;
  const state = isWaiting ? 'waiting' : outcome?.type === 'cancelled' ? 'cancelled' : 'succeeded';
  return { state, text: (result as { text?: string } | undefined)?.text ?? '' };
}

/** AG-UI, with the official client; its verifier judges whatever it reads. */
export const agUi: Driver = {
  name: 'AG-UI',
  async create(place, agentId, text) {
    const agent = agentOf(place, `/${agentId}`);
    agent.addMessage({ id: 'm1', role: 'user', content: text });
    return new Promise((resolve, reject) => {
      const onRunStartedEvent: AgentSubscriber['onRunStartedEvent'] = ({ event }) => {
        resolve(String((event.metadata as { taskId: string }).taskId));
        // The run does not depend on the connection.
        agent.abortRun();
      };
      agent.runAgent({}, { onRunStartedEvent }).catch(reject);
    });
  },
  async watch(place, taskId) {
    return sightOf(await lastEnd(place, taskId));
  },
  async decide(place, taskId, isApproved) {
    const interrupts = interruptsOf(await lastEnd(place, taskId));
    const agent = agentOf(place, '', taskId);
    agent.pendingInterrupts = [...interrupts];
    await runAgent(agent, {
      resume: interrupts.map(({ id }) => ({
        interruptId: id,
        status: 'resolved',
        payload: { approved: isApproved },
      })),
    });
  },
  async cancel(place, taskId) {
    const path = `/agui/threads/${taskId}/runs/${taskId}/cancel`;
    const answer = await fetch(`${place.url}${path}`, { method: 'POST', headers: headersOf(place) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  },
};
