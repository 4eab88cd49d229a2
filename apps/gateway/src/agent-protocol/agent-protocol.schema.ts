import type { OpenAPIObject } from '@nestjs/swagger';

/** A schema of the wire, for `/openapi.json`. */
type Schema = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string];

const TEXT: Schema = { type: ['string', 'null'] };
const FREE: Schema = { type: 'object', additionalProperties: true };

export const REQUEST_BODY: Schema = { type: 'object', properties: { input: TEXT, additional_input: FREE } };

export const ARTIFACT: Schema = {
  type: 'object',
  required: ['artifact_id', 'agent_created', 'file_name'],
  properties: {
    artifact_id: { type: 'string' },
    agent_created: { type: 'boolean' },
    file_name: { type: 'string' },
    relative_path: TEXT,
  },
};

export const TASK: Schema = {
  type: 'object',
  required: ['task_id', 'artifacts'],
  properties: {
    task_id: { type: 'string' },
    input: TEXT,
    additional_input: FREE,
    artifacts: { type: 'array', items: ARTIFACT },
  },
};

export const STEP: Schema = {
  type: 'object',
  required: ['task_id', 'step_id', 'status', 'artifacts', 'is_last'],
  properties: {
    task_id: { type: 'string' },
    step_id: { type: 'string' },
    name: TEXT,
    status: { type: 'string', enum: ['created', 'running', 'completed'] },
    input: TEXT,
    additional_input: FREE,
    output: TEXT,
    additional_output: FREE,
    artifacts: { type: 'array', items: ARTIFACT },
    is_last: { type: 'boolean' },
  },
};

const COUNT: Schema = { type: 'integer' };

/** A list under its name, with the numbers of its page. */
export function pageOf(name: string, items: Schema): Schema {
  return {
    type: 'object',
    required: [name, 'pagination'],
    properties: {
      [name]: { type: 'array', items },
      pagination: {
        type: 'object',
        required: ['total_items', 'total_pages', 'current_page', 'page_size'],
        properties: { total_items: COUNT, total_pages: COUNT, current_page: COUNT, page_size: COUNT },
      },
    },
  };
}

export const UPLOAD: Schema = {
  type: 'object',
  required: ['file'],
  properties: { file: { type: 'string', format: 'binary' }, relative_path: { type: 'string' } },
};

const PAGE = { schema: { type: 'integer', minimum: 1 }, required: false } as const;
export const CURRENT_PAGE = { name: 'current_page', description: 'Default 1.', ...PAGE };
export const PAGE_SIZE = { name: 'page_size', description: 'Default 10, at most 100.', ...PAGE };
