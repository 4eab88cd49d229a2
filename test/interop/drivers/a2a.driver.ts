import { type Task, TaskState } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { call } from '../../support/installation.js';
import { clientOf, dataPart, messageOf, requestOf, taskIn, textIn } from '../a2a.clients.js';
import type { Driver, Place, Sight } from './driver.js';

/** A client has to know whose task it is: here from our own contract. */
async function clientFor(place: Place, taskId: string): Promise<Client> {
  const { body } = await call(`${place.url}/v1/tasks/${taskId}`, { key: place.key });
  return clientOf(place, String(body['agent_id']));
}

const STATES: Partial<Record<TaskState, Sight['state']>> = {
  [TaskState.TASK_STATE_INPUT_REQUIRED]: 'waiting',
  [TaskState.TASK_STATE_COMPLETED]: 'succeeded',
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_REJECTED]: 'failed',
  [TaskState.TASK_STATE_CANCELED]: 'cancelled',
};

function sightOf(task: Task): Sight | undefined {
  const state = STATES[task.status?.state ?? TaskState.TASK_STATE_UNSPECIFIED];
  if (state === undefined) return undefined;
  const [said] = task.status?.message?.parts ?? [];
  const words = said?.content?.$case === 'text' ? said.content.value : '';
  return { state, text: state === 'succeeded' ? textIn(task) : words };
}

/** A2A 1.0 by the client of its SDK, over JSON-RPC. */
export const a2a: Driver = {
  name: 'A2A',
  async create(place, agentId, text) {
    const client = await clientOf(place, agentId);
    return taskIn(await client.sendMessage(requestOf(messageOf(text), true))).id;
  },
  async watch(place, taskId) {
    const client = await clientFor(place, taskId);
    const get = (): Promise<Task> => client.getTask({ tenant: '', id: taskId });
    const now = sightOf(await get());
    if (now) return now;
    try {
      for await (const { payload } of client.resubscribeTask({ tenant: '', id: taskId })) {
        const state =
          payload?.$case === 'task' || payload?.$case === 'statusUpdate' ? payload.value.status?.state : undefined;
        if (state !== undefined && STATES[state]) break;
      }
    } catch (error) {
      // It has ended meanwhile (1.0, 3.1.6).
      if ((error as Error).name !== 'UnsupportedOperationError') throw error;
    }
    return sightOf(await get())!;
  },
  async decide(place, taskId, isApproved) {
    const client = await clientFor(place, taskId);
    const { status } = await client.getTask({ tenant: '', id: taskId });
    const asked = status?.message?.parts.flatMap(({ content }) =>
      content?.$case === 'data' ? [content.value] : [],
    )[0] as {
      pending: { toolCallId: string }[];
    };
    const decisions = asked.pending.map(({ toolCallId }) => ({ toolCallId, approved: isApproved }));
    await client.sendMessage(requestOf(messageOf([dataPart({ decisions })], { taskId }), true));
  },
  async cancel(place, taskId) {
    const client = await clientFor(place, taskId);
    await client.cancelTask({ tenant: '', id: taskId, metadata: undefined });
  },
};
