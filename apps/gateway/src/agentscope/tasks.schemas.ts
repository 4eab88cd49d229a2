import { TASK_STATES } from '#lib/domain';

const TEXT = { type: 'string' } as const;
const STATE = { type: 'string', enum: [...TASK_STATES], description: 'The same in our own words.' };
const STATUS = { type: 'string', enum: ['pending', 'running', 'awaiting_confirm', 'success', 'error', 'cancelled'] };

const PENDING_CONFIRM = {
  type: 'object',
  required: ['toolCallId', 'toolName', 'toolInputJson'],
  properties: {
    toolCallId: TEXT,
    toolName: TEXT,
    toolInputJson: { ...TEXT, description: 'JSON text of the arguments.' },
  },
};

const OUTCOME = {
  status: STATUS,
  state: STATE,
  result: { ...TEXT, description: 'Of a task that succeeded.' },
  error: TEXT,
  pending_confirms: { type: 'array', items: PENDING_CONFIRM },
};

export const TASK_SCHEMA = {
  type: 'object',
  required: ['task_id', 'status', 'state'],
  properties: { task_id: TEXT, ...OUTCOME },
};

export const WAIT_SCHEMA = {
  type: 'object',
  required: ['status', 'state'],
  properties: { ...OUTCOME, timed_out: { type: 'boolean', enum: [true], description: 'The task goes on.' } },
};

export const STANDING_SCHEMA = {
  type: 'object',
  required: ['task_id', 'status', 'state'],
  properties: { task_id: TEXT, status: STATUS, state: STATE },
};

export const SUBMIT_SCHEMA = {
  type: 'object',
  required: ['task_id'],
  properties: {
    task_id: { ...TEXT, pattern: '^[A-Za-z0-9._:-]{1,200}$' },
    agent_id: TEXT,
    type: { ...TEXT, description: 'Without `agent_id` it decides which agent works.' },
    input: { oneOf: [TEXT, { type: 'object' }, { type: 'array', items: {} }] },
    context: { type: 'object', additionalProperties: true },
  },
};

export const RESUME_SCHEMA = {
  type: 'object',
  properties: {
    decisions: {
      type: 'array',
      items: {
        type: 'object',
        properties: { toolCallId: TEXT, approved: { type: 'boolean' }, reason: { ...TEXT, maxLength: 4096 } },
      },
    },
  },
};

/** Of every error. */
export const ERROR_SCHEMA = { type: 'object', required: ['error'], properties: { error: TEXT } };

export const ARTIFACT_SCHEMA = {
  type: 'object',
  properties: {
    artifact_id: TEXT,
    step_id: TEXT,
    kind: TEXT,
    name: TEXT,
    media_type: TEXT,
    size: { type: 'integer' },
    sha256: TEXT,
    created_at: { ...TEXT, format: 'date-time' },
    download_url: { ...TEXT, format: 'uri' },
    download_expires_at: { ...TEXT, format: 'date-time' },
  },
};

export const ARTIFACTS_SCHEMA = {
  type: 'object',
  required: ['artifacts', 'next_cursor'],
  properties: {
    artifacts: { type: 'array', items: ARTIFACT_SCHEMA },
    next_cursor: { type: 'string', nullable: true },
  },
};

export const CAPABILITIES_SCHEMA = {
  type: 'object',
  properties: {
    agent_id: TEXT,
    task_types: { type: 'array', items: TEXT },
    input_modes: { type: 'array', items: TEXT },
    tools: { type: 'array', items: TEXT },
    event_types: { type: 'array', items: TEXT },
    pause: { type: 'boolean' },
    resume: { type: 'boolean' },
    cancel: { type: 'boolean' },
  },
};
