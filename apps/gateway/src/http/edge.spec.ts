import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Param, Post, Query } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { IsDefined, IsInt, IsOptional, IsString, Max } from 'class-validator';
import request from 'supertest';
import { AuditTrail, DomainError, Logger } from '#lib/domain';
import type { AuditEntry } from '#lib/domain';
import { Authenticator } from '../core/authenticator.js';
import type { Caller } from '../core/caller.js';
import { Free, Nested, Open } from './dto.js';
import { EdgeAdapter } from './express.adapter.js';
import { HttpModule } from './http.module.js';
import type { JsonDocument } from './json-document.js';
import { JsonBody } from './json-body.decorator.js';
import { QueryPipe } from './query.pipe.js';
import { CurrentCaller, Public, Scopes } from './scopes.decorator.js';

@Open()
class ContextBody {
  @IsOptional()
  @IsString()
  user_id?: string;
}

class EchoBody {
  @IsDefined()
  input!: unknown;

  @IsOptional()
  @IsInt()
  @Max(9)
  priority?: number;

  @Nested(ContextBody)
  context?: ContextBody;

  @Free()
  extra?: unknown;
}

class ListQuery {
  @IsOptional()
  @IsInt()
  @Max(200)
  limit?: number;

  @IsOptional()
  @IsString({ each: true })
  state?: string[];

  @IsOptional()
  @IsString()
  type?: string;
}

@Controller('things')
class ThingsController {
  @Scopes('tasks:read')
  @Get()
  list(@Query(QueryPipe) query: ListQuery, @CurrentCaller() caller: Caller): object {
    return { query, principal: caller.principal };
  }

  @Scopes('tasks:submit')
  @Post()
  create(@JsonBody(EchoBody) body: JsonDocument<EchoBody>): object {
    return { text: JSON.stringify(body.value), input: body.textOf('input') };
  }

  @Scopes('tasks:cancel')
  @Post(':id/stop')
  stop(@Param('id') id: string, @JsonBody(EchoBody, { isOptional: true }) body: JsonDocument<EchoBody>): object {
    return { id, text: JSON.stringify(body.value) };
  }

  @Scopes('tasks:read')
  @Get('others')
  read(): object {
    throw new DomainError('not_found', 'There is no such thing.');
  }

  @Public()
  @Get('open')
  open(): object {
    return { ok: true };
  }

  @Public()
  @Get('broken')
  broken(): object {
    throw new Error('a secret of ours');
  }

  @Public()
  @Get('busy')
  busy(): object {
    throw new DomainError('unavailable', 'The database is away.', { retryAfterSeconds: 7 });
  }
}

class KnownKeys extends Authenticator {
  async authenticate(credential: string): Promise<Caller> {
    if (credential === 'all') {
      return {
        tenant: 't',
        principal: 'p',
        keyId: 'k',
        scopes: new Set(['tasks:read', 'tasks:submit', 'tasks:cancel']),
      };
    }
    if (credential === 'reader') return { tenant: 't', principal: 'r', keyId: 'k2', scopes: new Set(['tasks:read']) };
    throw new DomainError('unauthenticated', 'The key is not known.');
  }

  async lapsed(): Promise<ReadonlySet<Caller>> {
    return new Set();
  }
}

const logged: unknown[] = [];
const denied: AuditEntry[] = [];
const logger = { error: (...line: unknown[]) => logged.push(line) };

@Module({
  providers: [
    { provide: Authenticator, useClass: KnownKeys },
    { provide: Logger, useValue: logger },
    { provide: AuditTrail, useValue: { denied: (entry: AuditEntry) => denied.push(entry) } },
  ],
  exports: [Authenticator, AuditTrail, Logger],
})
class PortsModule {}

async function boot(...controllers: (new () => object)[]): Promise<INestApplication> {
  const module = await Test.createTestingModule({ imports: [HttpModule.over([PortsModule])], controllers }).compile();
  const app = module.createNestApplication(new EdgeAdapter({ maxBodyBytes: 2000 }), {
    bodyParser: false,
    logger: false,
  });
  await app.listen(0, '127.0.0.1');
  return app;
}

let app: INestApplication;
let port: number;
beforeAll(async () => {
  app = await boot(ThingsController);
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterAll(() => app.close());

const http = (): ReturnType<typeof request> => request(`http://127.0.0.1:${port}`);
const post = (body: string | Buffer): request.Test =>
  http()
    .post('/things')
    .set('Authorization', 'Bearer all')
    .set('Content-Type', 'application/json')
    .serialize((sent: string) => sent)
    .send(body as string);

describe('a body', () => {
  it('comes through untouched, keys of Object.prototype included', async () => {
    const text =
      '{"input":{"toString":1,"constructor":{"prototype":{}},"valueOf":null},"extra":[1.5,"é"],"context":{"user_id":"u","constructor":1,"x":{}}}';
    const answer = await post(text).expect(201);
    expect(answer.body).toEqual({ text, input: '{"toString":1,"constructor":{"prototype":{}},"valueOf":null}' });
  });

  it.each([
    ['{"input":1,"inptu":2}', '/inptu', 'unknown_field'],
    ['{"input":1,"constructor":2}', '/constructor', 'unknown_field'],
    ['{"input":1,"a/b":2}', '/a~1b', 'unknown_field'],
    ['{"priority":1}', '/input', 'required'],
    ['{"input":null}', '/input', 'required'],
    ['{"input":1,"priority":10}', '/priority', 'max'],
    ['{"input":1,"priority":"1"}', '/priority', 'is_int'],
    ['{"input":1,"context":[]}', '/context', 'is_object'],
    ['{"input":1,"context":"x"}', '/context', 'is_object'],
    ['{"input":1,"context":{"user_id":[]}}', '/context/user_id', 'is_string'],
    ['[]', '', 'is_object'],
    ['null', '', 'is_object'],
    ['"text"', '', 'is_object'],
    ['{"input":1,"input":2}', '/input', 'duplicate_key'],
    ['{"input":{"__proto__":{}}}', '/input/__proto__', 'forbidden_key'],
    ['{"input":12345678901234567890}', '/input', 'number_not_exact'],
    [`{"input":${'['.repeat(64)}1${']'.repeat(64)}}`, `/input${'/0'.repeat(63)}`, 'too_deep'],
    ['{"input":', '', 'invalid_json'],
    ['', '', 'required'],
  ])('%s is 400 at %j with %s', async (text, path, code) => {
    const answer = await post(text).expect(400).expect('Content-Type', 'application/problem+json');
    expect(answer.body).toMatchObject({
      code: 'invalid_request',
      status: 400,
      instance: '/things',
      errors: [{ path, code }],
    });
  });

  it('that is not UTF-8 is 400 and names the byte', async () => {
    const answer = await post(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])).expect(400);
    expect(answer.body).toMatchObject({
      errors: [{ path: '', code: 'invalid_utf8', message: 'is not UTF-8 at byte 2' }],
    });
  });

  it('of the largest size is read, one byte more is 413, and the connection survives', async () => {
    await post(`{"input":"${'x'.repeat(2000 - 12)}"}`).expect(201);
    const answer = await post(`{"input":"${'x'.repeat(2000 - 11)}"}`).expect(413);
    expect(answer.body).toMatchObject({ code: 'payload_too_large' });
  });

  it('that grows past the bound without having said its length is 413', async () => {
    const answer = await raw(
      'POST /things HTTP/1.1\r\nHost: x\r\nX-API-Key: all\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n' +
        `7d0\r\n${'x'.repeat(2000)}\r\n`.repeat(50) +
        '0\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('of 10 MB is 413', async () => {
    await post('x'.repeat(10_000_000)).expect(413);
  });

  it.each([
    ['Content-Type', 'text/plain'],
    ['Content-Type', 'application/json; charset=iso-8859-1'],
    ['Content-Type', 'application/x-www-form-urlencoded'],
    ['Content-Encoding', 'gzip'],
  ])('with %s: %s is 415', async (header, value) => {
    const answer = await post('{"input":1}').set(header, value).expect(415);
    expect(answer.body).toMatchObject({
      code: 'unsupported_media_type',
      errors: [{ path: `header.${header.toLowerCase()}` }],
    });
  });

  it.each(['application/json; charset=UTF-8', 'application/merge-patch+json', 'APPLICATION/JSON;charset="utf-8"'])(
    'is read as %s',
    async (type) => {
      const answer = await post('{"input":1}').set('Content-Type', type);
      expect(answer.status).toBe(201);
    },
  );

  it('may be left out where the route says so', async () => {
    const answer = await http().post('/things/7/stop').set('X-API-Key', 'all').expect(201);
    expect(answer.body).toEqual({ id: '7', text: '{}' });
  });
});

describe('a query', () => {
  const list = (query: string): request.Test => http().get(`/things?${query}`).set('X-API-Key', 'all');

  it('arrives typed', async () => {
    const answer = await list('limit=5&state=a&type=x').expect(200);
    expect(answer.body).toEqual({ query: { limit: 5, state: ['a'], type: 'x' }, principal: 'p' });
  });

  it.each([
    ['limit=201', 'query.limit', 'max'],
    ['limit=', 'query.limit', 'is_int'],
    ['limit=1.5', 'query.limit', 'is_int'],
    ['limit=1&limit=2', 'query.limit', 'is_int'],
    ['type=a&type=b', 'query.type', 'is_string'],
    ['limt=1', 'query.limt', 'unknown_field'],
    ['__proto__=1', 'query.__proto__', 'unknown_field'],
    ['type=%00', 'query.type', 'forbidden_character'],
  ])('%s is 400 at %s', async (query, path, code) => {
    const answer = await list(query).expect(400);
    expect(answer.body).toMatchObject({
      code: 'invalid_request',
      errors: expect.arrayContaining([expect.objectContaining({ path, code })]),
    });
  });
});

describe('a credential', () => {
  const list = (): request.Test => http().get('/things');

  it('is read from either header', async () => {
    await list().set('Authorization', 'bearer reader').expect(200);
    await list().set('X-API-Key', 'reader').expect(200);
    const both = await list().set('X-API-Key', 'reader').set('Authorization', 'Bearer reader');
    expect(both.body).toEqual({ query: {}, principal: 'r' });
  });

  it.each([
    {},
    { Authorization: 'Bearer nobody' },
    { Authorization: 'Basic all' },
    { Authorization: 'Bearer' },
    { Authorization: 'Bearer a b' },
    { 'X-API-Key': '' },
    { Authorization: 'Bearer reader', 'X-API-Key': 'all' },
  ])('of %j is 401', async (headers) => {
    const answer = await list().set(headers).expect(401).expect('WWW-Authenticate', 'Bearer');
    expect(answer.body).toMatchObject({ code: 'unauthenticated', status: 401 });
  });

  it('without the scope is 403, before the body is looked at', async () => {
    const answer = await http().post('/things').set('X-API-Key', 'reader').send('{').expect(403);
    expect(answer.body).toMatchObject({ code: 'forbidden', detail: 'The credentials lack the scope tasks:submit.' });
  });
});

describe('an error', () => {
  it('of ours is 500, says nothing of its cause, and is logged with the request id', async () => {
    const answer = await http().get('/things/broken?sig=secret').expect(500);
    expect(answer.text).not.toContain('secret');
    expect(answer.body).toMatchObject({ code: 'internal', instance: '/things/broken' });
    expect(logged).toEqual([
      [
        'request failed',
        expect.objectContaining({
          requestId: answer.headers['x-request-id'],
          error: expect.objectContaining({ message: 'a secret of ours' }),
        }),
      ],
    ]);
  });

  it('that passes says when to come back', async () => {
    await http().get('/things/busy').expect(503).expect('Retry-After', '7');
    expect(logged).toHaveLength(1);
  });

  it.each([
    ['GET /nothing', 404, 'not_found', undefined],
    ['DELETE /things', 405, 'method_not_allowed', 'GET, HEAD, POST'],
    ['OPTIONS /things/1/stop', 405, 'method_not_allowed', 'POST'],
    ['GET /things/%FF/stop', 400, 'invalid_request', undefined],
    ['POST /things/%/stop', 400, 'invalid_request', undefined],
  ])('for %s is %i %s', async (call, status, code, allow) => {
    const answer = await raw(`${call} HTTP/1.1\r\nHost: x\r\nX-API-Key: all\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain(`"code":"${code}"`);
    expect(/^Allow: (.*)$/m.exec(answer)?.[1]?.trim()).toBe(allow);
  });
});

describe('a request', () => {
  it('keeps its id, or gets one, whatever the answer', async () => {
    await http().get('/things/open').set('X-Request-Id', 'abc-1').expect('x-request-id', 'abc-1');
    await http()
      .get('/nothing')
      .set('X-Request-Id', 'not allowed')
      .expect('x-request-id', /^[0-9a-f-]{36}$/);
    const answer = await http().get('/things/open');
    expect(answer.headers).not.toHaveProperty('x-powered-by');
    expect(answer.headers).not.toHaveProperty('etag');
  });
});

describe('what is denied', () => {
  const record = { outcome: 'denied', requestId: 'r-1' };
  const ask = (path: string): request.Test => http().get(path).set('X-Request-Id', 'r-1');
  const details = (): unknown => JSON.parse(denied.at(-1)!.details);

  it('for want of a scope is recorded with whose key it was and what it lacks', async () => {
    denied.length = 0;
    await http().post('/things').set('Authorization', 'Bearer reader').set('X-Request-Id', 'r-1').expect(403);
    expect(denied).toMatchObject([
      { ...record, tenant: 't', principal: 'r', keyId: 'k2', action: 'thing.create', target: '/things' },
    ]);
    expect(details()).toMatchObject({
      code: 'forbidden',
      method: 'POST',
      detail: expect.stringContaining('tasks:submit'),
    });
  });

  it('as a thing of others is recorded like one that is not there, without its query', async () => {
    denied.length = 0;
    await ask('/things/others?sig=secret').set('Authorization', 'Bearer all').expect(404);
    expect(denied).toMatchObject([{ ...record, principal: 'p', action: 'thing.read', target: '/things/others' }]);
    expect(details()).toMatchObject({ code: 'not_found', path: '/things/others' });
  });

  it('to somebody unknown is recorded by where they are', async () => {
    denied.length = 0;
    await ask('/things').set('Authorization', 'Bearer nonsense').expect(401);
    await ask('/things').expect(401);
    const from = {
      ...record,
      tenant: '',
      principal: '',
      keyId: '',
      action: 'caller.authenticate',
      target: '127.0.0.1',
    };
    expect(denied.map(({ details: _, ...rest }) => rest)).toEqual([from, from]);
    expect(JSON.stringify(denied)).not.toContain('nonsense');
  });

  it('is not what was never there', async () => {
    denied.length = 0;
    await ask('/nothing').set('Authorization', 'Bearer all').expect(404);
    expect(denied).toEqual([]);
  });
});

describe('a route without scopes', () => {
  it('does not boot', async () => {
    @Controller('forgotten')
    class ForgottenController {
      @Get()
      read(): object {
        return {};
      }
    }
    await expect(boot(ForgottenController)).rejects.toThrow(
      'Routes without @Scopes() or @Public(): ForgottenController.read',
    );
  });

  it('does not boot when it is hidden from the description either', async () => {
    @ApiExcludeController()
    @Scopes('tasks:read')
    @Controller('hidden')
    class HiddenController {
      @Get()
      read(): object {
        return {};
      }
    }
    await expect(boot(HiddenController)).rejects.toThrow(
      'Routes with @Scopes() that /openapi.json leaves out: HiddenController.read',
    );
  });
});

/** Sends bytes as they are and reads until the server closes. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}
