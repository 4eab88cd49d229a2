import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import { invalid } from '../http/dto.js';
import { sendJson } from '../http/exchange.js';
import { REST_TYPE } from './wire.js';

export const JSON_OBJECT = {
  content: { 'application/a2a+json': { schema: { type: 'object', additionalProperties: true } } },
} as const;

const MESSAGE = {
  type: 'object',
  required: ['message'],
  properties: {
    message: { type: 'object', additionalProperties: true },
    configuration: { type: 'object', additionalProperties: true },
    metadata: { type: 'object', additionalProperties: true },
  },
} as const;

/** The body of a request that sends a message. */
export function MessageBody(): MethodDecorator {
  return applyDecorators(
    ApiHeader({ name: 'A2A-Version', required: false, description: '`1.0`.' }),
    ApiConsumes('application/a2a+json', 'application/json'),
    ApiBody({ schema: MESSAGE as object }),
  );
}

type Query = Readonly<Record<string, unknown>>;

/** One value of the query; empty where there is none. */
export function textOfQuery(query: Query, name: string): string {
  const value = query[name];
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  throw fault(name, 'is_string', 'must be given once');
}

/** A whole number of the query that is not negative; undefined where there is none. */
export function integerOf(query: Query, name: string): number | undefined {
  const text = textOfQuery(query, name);
  if (text === '') return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw fault(name, 'is_int', 'must be a whole number');
}

function fault(name: string, code: string, message: string): Error {
  return invalid([{ path: `query.${name}`, code, message }]);
}

/** The names of a path below a task, and below its configs. */
export interface TaskPath {
  readonly agent: string;
  readonly id: string;
}
export interface ConfigPath extends TaskPath {
  readonly config: string;
}

/** The body of a request to be notified. */
export const CONFIG = {
  type: 'object',
  required: ['url'],
  properties: {
    id: { type: 'string' },
    url: { type: 'string', format: 'uri' },
    token: { type: 'string' },
    authentication: { type: 'object', additionalProperties: true },
  },
  additionalProperties: true,
} as const;

export function sendRest(response: Response, status: number, body: unknown): void {
  response.statusCode = status;
  response.setHeader('Content-Type', REST_TYPE);
  response.end(JSON.stringify(body));
}

export function sendRest03(response: Response, status: number, body: unknown): void {
  sendJson(response, status, JSON.stringify(body));
}
