const text = { type: 'string' };

/** Body of a request, as far as anything is done with it; what else clients send is passed over. */
export const COMPLETION_BODY = {
  type: 'object',
  required: ['model', 'messages'],
  properties: {
    model: { ...text, description: 'Id of an agent.' },
    messages: { type: 'array', minItems: 1, items: { type: 'object', required: ['role'], properties: { role: text } } },
    stream: { type: 'boolean' },
    stream_options: { type: 'object', properties: { include_usage: { type: 'boolean' } } },
    tools: { type: 'array', items: { type: 'object' } },
    tool_choice: { description: '`none` hides the tools.' },
    metadata: {
      type: 'object',
      additionalProperties: text,
      description: '`task_id` names a task to pick up, `session_id` the session of a new one.',
    },
  },
};

/** A whole answer. */
export const COMPLETION_SCHEMA = {
  type: 'object',
  required: ['id', 'object', 'created', 'model', 'choices'],
  properties: {
    id: text,
    object: { type: 'string', enum: ['chat.completion'] },
    created: { type: 'integer' },
    model: text,
    choices: { type: 'array', items: { type: 'object' } },
    usage: { type: 'object' },
    gateway: { type: 'object', description: 'What the reference has no word for.' },
  },
};

const MODEL = {
  type: 'object',
  required: ['id', 'object', 'created', 'owned_by'],
  properties: { id: text, object: { type: 'string', enum: ['model'] }, created: { type: 'integer' }, owned_by: text },
};

/** One model. */
export const MODEL_SCHEMA = MODEL;

/** All of them. */
export const MODELS_SCHEMA = {
  type: 'object',
  required: ['object', 'data'],
  properties: { object: { type: 'string', enum: ['list'] }, data: { type: 'array', items: MODEL } },
};
