import type { RunnerDescriptor } from '../contract/index.js';

/** What the gateway may know of this runner. */
export const workflowDescriptor: RunnerDescriptor = {
  kind: 'workflow',
  title: 'Plan-and-execute workflow on LangGraph.js',
  capabilities: {
    events: ['step.started', 'step.completed', 'step.failed', 'step.retrying', 'model.usage', 'agent.event'],
    pause: true,
    clientTools: false,
    resume: true,
    cancel: true,
  },
  optionsSchema: {
    type: 'object',
    properties: {
      code: {
        enum: ['templates', 'model'],
        description:
          'Who writes the code of a site; by default our templates. Code a model wrote is parsed, and run only where the operator allows it.',
      },
      review: {
        type: 'boolean',
        description: 'Whether somebody is asked about the plan before it is built; by default not.',
      },
    },
    additionalProperties: false,
  },
};
