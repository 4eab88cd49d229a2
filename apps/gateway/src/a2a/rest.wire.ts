import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader } from '@nestjs/swagger';
import { invalid } from '../http/dto.js';

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
