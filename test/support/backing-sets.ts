import { describe } from '@jest/globals';
import { testRedisUrl } from './redis.js';

/** The services below queue and bus: Redis beside Postgres, or Postgres alone. */
export interface BackingSet {
  name: 'redis' | 'postgres';
  redisUrl: string | undefined;
}

/** Declares the suite once per backing set; the Redis one is skipped on a machine that has no Redis. */
export function describeEachBackingSet(suite: (set: BackingSet) => void): void {
  const redisUrl = testRedisUrl();
  (redisUrl === undefined ? describe.skip : describe)('on Redis and Postgres', () =>
    suite({ name: 'redis', redisUrl }),
  );
  describe('on Postgres alone', () => suite({ name: 'postgres', redisUrl: undefined }));
}
