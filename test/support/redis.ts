import { randomBytes } from 'node:crypto';

/**
 * The Redis of this test run, or undefined on a machine that has none. Test files that run at once have databases of
 * their own in it: the runtimes of one installation would take the jobs of another, and find nothing to claim.
 */
export function testRedisUrl(): string | undefined {
  if (!process.env.TEST_REDIS_URL) return undefined;
  const url = new URL(process.env.TEST_REDIS_URL);
  if (url.pathname.length <= 1) url.pathname = `/${Number(process.env.JEST_WORKER_ID ?? 0) % 16}`;
  return url.href;
}

/** A key prefix nobody else uses: one per test file keeps files that run at once apart. */
export function createRedisPrefix(): string {
  return `t${process.pid}${randomBytes(6).toString('hex')}`;
}
