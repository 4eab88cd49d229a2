import { randomBytes } from 'node:crypto';

/** The Redis of this test run, or undefined on a machine that has none. */
export function testRedisUrl(): string | undefined {
  return process.env.TEST_REDIS_URL || undefined;
}

/** A key prefix nobody else uses: one per test file keeps files that run at once apart. */
export function createRedisPrefix(): string {
  return `t${process.pid}${randomBytes(6).toString('hex')}`;
}
