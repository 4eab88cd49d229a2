import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { describeEachBackingSet } from './backing-sets.js';
import { createRedisPrefix } from './redis.js';

describeEachBackingSet((set) => {
  it('reaches the services it names', async () => {
    const redis = set.redisUrl === undefined ? undefined : new Redis(set.redisUrl, { keyPrefix: createRedisPrefix() });
    expect(await redis?.ping()).toBe(set.name === 'redis' ? 'PONG' : undefined);
    redis?.disconnect();
  });
});
