import { afterEach, describe, expect, it } from '@jest/globals';
import { Readiness } from '#lib/platform';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { HealthController } from './health.controller.js';

let app: INestApplication | undefined;
afterEach(() => app?.close());

async function boot(
  missing: readonly string[],
  degraded: readonly string[] = [],
  notes: readonly string[] = [],
): Promise<ReturnType<typeof request>> {
  const readiness: Pick<Readiness, 'check'> = { check: async () => ({ missing, degraded, notes }) };
  const module = await Test.createTestingModule({
    controllers: [HealthController],
    providers: [{ provide: Readiness, useValue: readiness }],
  }).compile();
  app = await module.createNestApplication({ logger: false }).init();
  return request(app.getHttpServer());
}

describe('the health routes', () => {
  it('are ready when nothing is missing', async () => {
    const http = await boot([]);
    const answer = await http.get('/health/ready');
    expect([answer.status, answer.body]).toEqual([200, { status: 'ready' }]);
  });

  it('stay ready and name what only slows the service down', async () => {
    const http = await boot([], ['bus']);
    await http.get('/health/ready').expect(200, { status: 'ready', degraded: ['bus'] });
  });

  it('say what an operator should know although all works', async () => {
    const http = await boot([], [], ['audit_unsigned']);
    await http.get('/health/ready').expect(200, { status: 'ready', notes: ['audit_unsigned'] });
  });

  it('name what is missing with 503, while the process stays live', async () => {
    const http = await boot(['postgres', 'partitions']);
    await http.get('/health/ready').expect(503, { status: 'not_ready', missing: ['postgres', 'partitions'] });
    await http.get('/health/live').expect(200, { status: 'live' });
  });
});
