import type { Redis } from 'ioredis';

/** What a server offers and how it is set up. */
export interface RedisTraits {
  /** Knows sharded channels (Redis 7 and later). */
  readonly sharded: boolean;
  /** Why this server must not be used; undefined for a good one. */
  readonly problem: string | undefined;
}

/** @throws the client's error when the server does not answer. */
export async function inspectRedis(redis: Redis): Promise<RedisTraits> {
  const memory = await redis.info('memory');
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'noeviction';
  return { sharded: await knowsShardedChannels(redis), problem: policyProblem(policy) };
}

/** A server that evicts keys would drop queued jobs one by one and leave the queue's books wrong. */
function policyProblem(policy: string): string | undefined {
  if (policy === 'noeviction') return undefined;
  return `REDIS_URL: the server's maxmemory-policy is ${policy}; it must be noeviction, or queued jobs are lost.`;
}

async function knowsShardedChannels(redis: Redis): Promise<boolean> {
  try {
    const answer = (await redis.call('COMMAND', 'INFO', 'SSUBSCRIBE')) as readonly unknown[];
    return Array.isArray(answer[0]);
  } catch {
    // Some hosted servers forbid COMMAND; plain channels work everywhere.
    return false;
  }
}
