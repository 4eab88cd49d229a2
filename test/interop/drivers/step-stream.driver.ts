import { call } from '../../support/installation.js';
import type { Driver, Sight } from './driver.js';
import { createByArguments, observe, pathOf } from './step-stream.client.js';

const STATES = {
  completed: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<string, Sight['state']>;

/** step-stream v1: arguments in, the last step out. */
export const stepStream: Driver = {
  name: 'step-stream',
  create: (place, agentId, text) => createByArguments(place, { script: [{ result: text }] }, agentId),
  async watch(place, taskId) {
    const { frames } = await observe(place, taskId);
    const { status, output } = frames.at(-1)!.step;
    return { state: STATES[status as keyof typeof STATES], text: output ?? '' };
  },
  async cancel(place, taskId) {
    const { status } = await call(pathOf(place, `/${taskId}/cancel`), { key: place.key, body: {} });
    if (status !== 204) throw new Error(`cancel: ${status}`);
  },
};
