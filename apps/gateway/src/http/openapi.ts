import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { OpenAPIObject } from '@nestjs/swagger';
import { ERRORS } from '#lib/domain';
import { PROBLEM_TYPE } from './problem.js';

/** Extension that names the scopes of an operation. */
export const SCOPES_EXTENSION = 'x-scopes';

/** Extension that names what a task token must open for an operation. */
export const TASK_TOKEN_EXTENSION = 'x-task-token';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type SchemaOrReference = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string];

const VERBS = ['get', 'put', 'post', 'patch', 'delete'] as const;

const PROBLEM_SCHEMA: SchemaOrReference = {
  type: 'object',
  description: 'RFC 9457.',
  required: ['type', 'title', 'status', 'code', 'detail', 'instance'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: Object.keys(ERRORS), description: 'Stable: decide by it.' },
    detail: { type: 'string' },
    instance: { type: 'string', description: 'Path of the request.' },
    'violated-policies': { type: 'array', items: { type: 'string' }, description: 'With 429: the limits.' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'code', 'message'],
        properties: {
          path: { type: 'string', description: 'A JSON Pointer into the body, `query.x` or `header.x`.' },
          code: { type: 'string' },
          message: { type: 'string' },
        },
      },
    },
  },
};

/** Holds the OpenAPI document of the application, which is built when it is first asked for. */
export class ApiDescription {
  private build: (() => OpenAPIObject) | undefined;
  private text: string | undefined;

  describe(build: () => OpenAPIObject): void {
    this.build = build;
  }

  /** JSON text. */
  json(): string {
    this.text ??= JSON.stringify(this.build?.() ?? {});
    return this.text;
  }
}

/** Makes `/openapi.json` describe what this application serves. To be called once it is created. */
export function describeApi(app: INestApplication): void {
  app.get(ApiDescription, { strict: false }).describe(() => buildDocument(app));
}

function buildDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Switchyard')
    .setDescription(
      'One contract in front of agent runtimes: submit a task, watch it, answer it, cancel it, fetch what it made.',
    )
    .setVersion('1.0')
    .addBearerAuth({ type: 'http', scheme: 'bearer' }, 'bearer')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'taskToken')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, 'apiKey')
    .build();
  const document = SwaggerModule.createDocument(app, config, { operationIdFactory });
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, Problem: PROBLEM_SCHEMA },
  };
  for (const path of Object.values(document.paths)) {
    for (const verb of VERBS) if (path[verb] !== undefined) complete(path[verb]);
  }
  return document;
}

/** `TasksController.list` is `tasksList`. */
function operationIdFactory(controller: string, method: string): string {
  const noun = controller.replace(/Controller$/, '');
  return `${noun.charAt(0).toLowerCase()}${noun.slice(1)}${method.charAt(0).toUpperCase()}${method.slice(1)}`;
}

/** What every operation has in common: how to authenticate, and what errors look like. */
function complete(operation: Operation): void {
  const { [TASK_TOKEN_EXTENSION]: run } = operation as {
    [TASK_TOKEN_EXTENSION]?: string | { readonly orScopes: object };
  };
  const isForCallers = SCOPES_EXTENSION in operation || typeof run === 'object';
  operation.security = [
    ...(isForCallers ? [{ bearer: [] }, { apiKey: [] }] : []),
    ...(run === undefined ? [] : [{ taskToken: [] }]),
  ];
  // Protocols of others have errors of their own.
  operation.responses['default'] ??= {
    description: 'Any error.',
    content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}
