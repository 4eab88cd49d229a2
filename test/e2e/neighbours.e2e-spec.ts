import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

(testRedisUrl() === undefined ? describe.skip : describe)('two installations on one Redis', () => {
  const databases: TestDatabase[] = [];
  const installations: Installation[] = [];

  beforeAll(async () => {
    databases.push(await createDatabase(), await createDatabase());
    for (const [runtimes, { url }] of databases.entries())
      installations.push(
        await Installation.start({ databaseUrl: url, redisUrl: testRedisUrl(), gateways: 1, runtimes }),
      );
  });

  afterAll(async () => {
    await Promise.all(installations.map((installation) => installation.stop()));
    await Promise.all(databases.map((database) => database.drop()));
  });

  it('leave each other their jobs', async () => {
    const [idle, busy] = installations.map(({ gateways }) => gateways[0]!.url) as [string, string];
    const submit = async (url: string): Promise<string> => {
      const { status, body } = await call(`${url}/v1/tasks`, { body: { agent_id: 'scripted', input: 'x' } });
      expect(status).toBe(202);
      return String(body['task_id']);
    };
    await Promise.all(Array.from({ length: 5 }, () => submit(idle)));
    const taken = await submit(busy);
    await until(async () => (await call(`${busy}/v1/tasks/${taken}`)).body['state'] === 'succeeded');
    // In one queue the runtime that took this one had taken all five before it.
    const metrics = await fetch(`${idle}/metrics`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
    expect(await metrics.text()).toMatch(/^switchyard_queue_depth\{pool="scripted"\} 5$/m);
  });
});
