import type { RunnerDescriptor } from '#lib/adapters/contract';
import { EVENTS } from '#lib/domain';

/** A runner that plays a list of steps; what a test wants of it is in the task itself. */
export const scriptedDescriptor: RunnerDescriptor = {
  kind: 'scripted',
  title: 'Scripted runner for tests',
  capabilities: { events: Object.keys(EVENTS), pause: true, clientTools: true, resume: true, cancel: true },
  optionsSchema: {
    type: 'object',
    properties: {
      script: { type: 'array', items: { type: 'object' } },
      scripts: { type: 'object', additionalProperties: { type: 'array', items: { type: 'object' } } },
    },
    additionalProperties: false,
  },
};
