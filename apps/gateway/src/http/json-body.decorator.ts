import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import type { Request } from 'express';
import { hasBody, isForm, readFormBody, readJsonBody } from './body.js';
import { decodeDto } from './dto.js';
import type { Dto } from './dto.js';
import { maxBodyBytesOf } from './express.adapter.js';
import { JsonDocument } from './json-document.js';

interface BodyKind {
  readonly dto: Dto<object>;
  readonly isOptional: boolean;
}

const Body = createParamDecorator(async ({ dto, isOptional }: BodyKind, context: ExecutionContext) => {
  const request = context.switchToHttp().getRequest<Request>();
  if (isOptional && !hasBody(request)) return new JsonDocument(new dto(), '{}', []);
  const document = await readJsonBody(request, maxBodyBytesOf(request));
  return document.as(decodeDto(dto, document.value));
});

/** The JSON body as `JsonDocument<dto>`, read after the guards have let the request through, checked and otherwise untouched. */
export function JsonBody(dto: Dto<object>, { isOptional = false } = {}): ParameterDecorator {
  return (target, method, index) => {
    Body({ dto, isOptional })(target, method, index);
    if (method === undefined) return;
    const descriptor = Object.getOwnPropertyDescriptor(target, method);
    if (descriptor !== undefined) ApiBody({ type: dto, required: !isOptional })(target, method, descriptor);
  };
}

const FormOrJson = createParamDecorator(async (dto: Dto<object>, context: ExecutionContext) => {
  const request = context.switchToHttp().getRequest<Request>();
  const maxBytes = maxBodyBytesOf(request);
  const value = isForm(request) ? await readFormBody(request, maxBytes) : (await readJsonBody(request, maxBytes)).value;
  return decodeDto(dto, value);
});

/** The body as `dto`, whether it came as a form, as OAuth's endpoints take them, or as JSON. */
export function FormOrJsonBody(dto: Dto<object>): ParameterDecorator {
  return (target, method, index) => {
    FormOrJson(dto)(target, method, index);
    const descriptor = method === undefined ? undefined : Object.getOwnPropertyDescriptor(target, method);
    if (method === undefined || descriptor === undefined) return;
    ApiConsumes('application/x-www-form-urlencoded', 'application/json')(target, method, descriptor);
    ApiBody({ type: dto, required: true })(target, method, descriptor);
  };
}

/** The JSON body as `JsonDocument`, for wires whose bodies may be left out: then it is an empty object. */
export const OptionalRawJsonBody = createParamDecorator(async (_data: unknown, context: ExecutionContext) => {
  const request = context.switchToHttp().getRequest<Request>();
  return hasBody(request) ? readJsonBody(request, maxBodyBytesOf(request)) : new JsonDocument<unknown>({}, '{}', []);
});

/** The JSON body as `JsonDocument`, for wires that check it with schemas of their own. */
export const RawJsonBody = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const request = context.switchToHttp().getRequest<Request>();
  return readJsonBody(request, maxBodyBytesOf(request));
});
