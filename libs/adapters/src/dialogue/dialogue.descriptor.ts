import type { RunnerDescriptor } from '../contract/index.js';

/** What the gateway may know of this runner. */
export const dialogueDescriptor: RunnerDescriptor = {
  kind: 'dialogue',
  title: 'Chat agent loop on the Vercel AI SDK',
  capabilities: {
    events: [
      'step.started',
      'step.completed',
      'step.failed',
      'tool.invoked',
      'tool.completed',
      'tool.failed',
      'message.started',
      'message.delta',
      'message.completed',
      'thinking.started',
      'thinking.delta',
      'thinking.completed',
      'model.usage',
      'tool.arguments.delta',
      'agent.event',
    ],
    pause: true,
    clientTools: true,
    resume: true,
    cancel: true,
  },
  optionsSchema: {
    type: 'object',
    properties: {
      instructions: { type: 'string', description: 'What the model is told before the conversation.' },
      collect: {
        type: 'array',
        items: { type: 'string' },
        description:
          'Tools whose outputs, merged, become the data of the result. One the model did not call is called at the end.',
      },
      max_model_calls: { type: 'integer', minimum: 1, description: 'Model calls of one run; by default 32.' },
      input_limit: {
        type: 'integer',
        minimum: 1,
        description: 'Characters of the input shown to the model; by default 48000. Tools see all of it.',
      },
      conversation_limit: {
        type: 'integer',
        minimum: 1,
        description:
          'Characters of JSON the messages may have; by default 256000. Over that the oldest turns are left out.',
      },
      idle_seconds: {
        type: 'number',
        exclusiveMinimum: 0,
        description: 'How long the model may be silent; by default 120.',
      },
      temperature: { type: 'number', minimum: 0 },
    },
    additionalProperties: false,
  },
};
