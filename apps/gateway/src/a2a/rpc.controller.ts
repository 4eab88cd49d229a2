import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { Controller, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { assertParams } from '#lib/protocol/a2a';
import type { Caller } from '../core/caller.js';
import { sendJson } from '../http/exchange.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { EventStreams } from '../http/sse.js';
import { A2aCalls } from './calls.js';
import { A2aOperations, A2aServices } from './operations.js';
import { UpdateFrames } from './updates.js';
import { bindRpcHead } from './wire.js';

const ENVELOPE = {
  type: 'object',
  required: ['jsonrpc', 'method'],
  properties: {
    jsonrpc: { type: 'string', enum: ['2.0'] },
    id: { type: ['string', 'integer', 'null'] },
    method: { type: 'string' },
    params: { type: 'object', additionalProperties: true },
  },
};

/** The JSON-RPC binding, of both versions. */
@ApiTags('a2a')
@Controller('a2a/:agent/jsonrpc')
export class RpcController {
  constructor(
    private readonly calls: A2aCalls,
    private readonly services: A2aServices,
    private readonly streams: EventStreams,
  ) {}

  @ApiOperation({
    summary: 'A request of A2A in JSON-RPC.',
    description:
      'What it does asks for more: `tasks:submit`, `tasks:decide`, `tasks:cancel`, `webhooks:read`, `webhooks:write`.',
  })
  @ApiHeader({ name: 'A2A-Version', required: false, description: '`1.0`, or `0.3`, which is meant without it.' })
  @ApiBody({ schema: ENVELOPE as object })
  @ApiOkResponse({
    content: {
      'application/json': { schema: { type: 'object', additionalProperties: true } },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  @Scopes('tasks:read')
  @HttpCode(200)
  @Post()
  async handle(
    @Param('agent') agentId: string,
    @RawJsonBody() { value }: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { id, method, params } = headOf(value);
    bindRpcHead(request, { id, isEventsOnly: method === 'tasks/resubscribe' });
    assertParams(method, params);
    const call = this.calls.open({ caller, agentId, request, response });
    const operations = new A2aOperations(this.services, call);
    const Transport = call.version === '1.0' ? JsonRpcTransportHandler : LegacyJsonRpcTransportHandler;
    const answer = await new Transport(operations).handle(
      isObject(value) ? value : {},
      new ServerCallContext({ requestedVersion: call.version }),
    );
    if (Symbol.asyncIterator in answer) {
      return this.streams.serve(request, response, () => UpdateFrames.open(call, answer, (envelope) => envelope));
    }
    if (call.failure !== undefined) throw call.failure;
    sendJson(response, 200, JSON.stringify(answer));
  }
}

/** As far as it has one: an id of another kind is none (JSON-RPC 2.0, "Request object"). */
function headOf(value: unknown): { readonly id?: unknown; readonly method?: unknown; readonly params?: unknown } {
  if (!isObject(value)) return {};
  const { id, method, params } = value;
  const isId = typeof id === 'string' || Number.isInteger(id);
  return { method, params, ...(isId ? { id } : {}) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
