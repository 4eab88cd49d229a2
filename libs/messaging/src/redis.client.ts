import type { RedisOptions as WorkerConnection } from 'bullmq';
import { Redis } from 'ioredis';
import { within } from './within.js';

/** Longest pause between two attempts to connect, so that everybody is back about a second after Redis is. */
const MAX_RETRY_MS = 1_000;

const RECONNECTING = {
  retryStrategy: (attempt: number) => Math.min(attempt * 50, MAX_RETRY_MS),
  connectTimeout: 2_000,
  disconnectTimeout: 500,
  keepAlive: 10_000,
  noDelay: true,
};

/** A connection that died without a word is noticed by the answer to a ping that does not come. */
const PING_MS = 2_000;

/**
 * For whoever must not wait: commands fail at once without a connection. Nothing is kept to be sent later, since it
 * would arrive late and twice.
 */
export function createCommandClient(url: string, name: string): Redis {
  const redis = new Redis(url, {
    ...RECONNECTING,
    connectionName: name,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
  });
  const pinging = setInterval(() => void ping(redis), PING_MS).unref();
  redis.once('end', () => clearInterval(pinging));
  return redis;
}

/** Not by the client's `socketTimeout`: it may strike the connection that follows the one it was set for. */
async function ping(redis: Redis): Promise<void> {
  const { status, stream } = redis;
  if (status !== 'ready') return;
  // A connection that was lost meanwhile needs no help; a server that answers with an error has answered.
  const answer = redis.ping().catch(() => undefined);
  await within(PING_MS, answer).catch((error: Error) => stream.destroy(error));
}

/** For BullMQ's workers, which wait for Redis as long as it takes. */
export function workerOptions(url: string): WorkerConnection {
  return { ...RECONNECTING, url, maxRetriesPerRequest: null, enableAutoPipelining: false };
}

/** The streams that gather what is written to them. */
const gathering = new WeakSet<Redis['stream']>();

/**
 * Sends what is issued from here to the end of this turn of the event loop in one write: the first command of a write
 * costs both ends several times what one more in it does.
 */
export function inOneWrite<T>(redis: Pick<Redis, 'stream'>, work: () => T): T {
  const { stream } = redis;
  if (!gathering.has(stream)) {
    gathering.add(stream);
    stream.cork();
    // After all that this turn has read from its sockets is handled, not after the first of it.
    setImmediate(() => {
      gathering.delete(stream);
      stream.uncork();
    });
  }
  return work();
}
