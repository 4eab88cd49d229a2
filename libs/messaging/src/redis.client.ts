import type { RedisOptions as WorkerConnection } from 'bullmq';
import { Redis } from 'ioredis';

/** Longest pause between two attempts to connect, so that everybody is back about a second after Redis is. */
const MAX_RETRY_MS = 1_000;

const RECONNECTING = {
  retryStrategy: (attempt: number) => Math.min(attempt * 50, MAX_RETRY_MS),
  connectTimeout: 2_000,
  keepAlive: 10_000,
  noDelay: true,
};

/**
 * For whoever must not wait: commands fail at once without a connection, and after two seconds without an answer.
 * Nothing is kept to be sent later, since it would arrive late and twice.
 */
export function createCommandClient(url: string, name: string): Redis {
  return new Redis(url, {
    ...RECONNECTING,
    connectionName: name,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    socketTimeout: 2_000,
  });
}

/** For BullMQ's workers, which wait for Redis as long as it takes; above their longest blocking read of 10 s. */
export function workerOptions(url: string): WorkerConnection {
  return { ...RECONNECTING, url, maxRetriesPerRequest: null, enableAutoPipelining: false, socketTimeout: 15_000 };
}

/**
 * Sends what `work` issues, up to the next turn of the event loop, in one write. Cheaper than a pipeline of the client
 * for any number of commands (measured: 4 against 6 µs a command at 16, 24 against 32 for one alone).
 */
export function inOneWrite<T>(redis: Redis, work: () => T): T {
  const { stream } = redis;
  stream.cork();
  process.nextTick(() => stream.uncork());
  return work();
}
