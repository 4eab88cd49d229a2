import { get } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Req, Res } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Request, Response } from 'express';
import { EdgeAdapter } from './express.adapter.js';

interface Seen {
  readonly request: object | null;
  readonly response: object | null;
}

const atBirth: Seen[] = [];
const inHandler: Seen[] = [];
const prototypes = (request: object, response: object): Seen => ({
  request: Object.getPrototypeOf(request) as object,
  response: Object.getPrototypeOf(response) as object,
});

@Controller()
class ProbeController {
  @Get('probe')
  probe(@Req() request: Request, @Res() response: Response): void {
    inHandler.push(prototypes(request, response));
    response
      .status(202)
      .set('x-accepts', String(request.accepts('json', 'text')))
      .json({ path: request.path, query: request.query, mine: request.app === response.app });
  }
}

@Module({ controllers: [ProbeController] })
class ProbeModule {}

let app: INestApplication | undefined;
afterEach(() => app?.close());

describe('the Express adapter', () => {
  it('is given requests and responses that already have the prototypes Express would set, methods and all', async () => {
    const module = await Test.createTestingModule({ imports: [ProbeModule] }).compile();
    app = module.createNestApplication(new EdgeAdapter(), { bodyParser: false, logger: false });
    await app.listen(0, '127.0.0.1');
    const server = app.getHttpServer() as Server;
    server.prependListener('request', (request, response) => atBirth.push(prototypes(request, response)));

    const { port } = server.address() as AddressInfo;
    const answer = await new Promise<{ status?: number; accepts: unknown; text: string }>((resolve) => {
      get({ port, host: '127.0.0.1', path: '/probe?a=1', headers: { accept: 'application/json' } }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += String(chunk)));
        response.on('end', () =>
          resolve({ status: response.statusCode, accepts: response.headers['x-accepts'], text }),
        );
      });
    });

    expect(answer).toEqual({ status: 202, accepts: 'json', text: '{"path":"/probe","query":{"a":"1"},"mine":true}' });
    expect(atBirth).toHaveLength(1);
    expect(inHandler[0]?.request).toBe(atBirth[0]?.request);
    expect(inHandler[0]?.response).toBe(atBirth[0]?.response);
  });
});
