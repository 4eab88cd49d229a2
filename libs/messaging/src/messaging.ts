import {
  type DeliveryQueue,
  DomainError,
  type EventBus,
  type Logger,
  type RunQueue,
  UnavailableError,
} from '#lib/domain';
import { once } from 'node:events';
import { PostgresBus } from './bus/postgres.bus.js';
import { RedisBus } from './bus/redis.bus.js';
import { createPostgresBackends, createRedisBackends, type QueueBackends } from './queue/bullmq.backend.js';
import { BullMqDeliveryQueue } from './queue/bullmq.delivery-queue.js';
import { BullMqQueue } from './queue/bullmq.queue.js';
import { QueueAccess } from './queue/queue.access.js';
import { createCommandClient } from './redis.client.js';
import { inspectRedis, type RedisTraits } from './redis.health.js';
import { TroubleLog } from './trouble.log.js';
import { within } from './within.js';

export interface MessagingConfig {
  readonly databaseUrl: string;
  /** Absent: queue and bus live in PostgreSQL. */
  readonly redisUrl?: string | undefined;
  /** Part of every Redis key and channel, so that installations that share a server take nothing from each other. */
  readonly installation: string;
  readonly logger: Logger;
}

export interface Messaging {
  readonly queue: RunQueue;
  readonly deliveryQueue: DeliveryQueue;
  readonly bus: EventBus;
  /** Consumers, queue, bus and their connections. */
  close(): Promise<void>;
}

/** A Redis that is away must not keep a gateway from starting: submits go to the outbox meanwhile. */
const START_MS = 3_000;

/**
 * The queue and the bus over the backing services the configuration names.
 * @throws DomainError `unavailable`, with one line for the operator, when Redis may evict keys or the queue's tables are
 * missing or too new.
 */
export function createMessaging(config: MessagingConfig): Promise<Messaging> {
  return config.redisUrl === undefined ? overPostgres(config) : overRedis(config, config.redisUrl);
}

async function overPostgres({ databaseUrl, logger }: MessagingConfig): Promise<Messaging> {
  const backends = createPostgresBackends(databaseUrl);
  const queues = new QueueAccess(backends, logger);
  try {
    await backends.producer.waitUntilReady();
  } catch (error) {
    await queues.close();
    throw refusal(error);
  }
  return assemble(queues, new PostgresBus({ databaseUrl, logger }));
}

async function overRedis({ logger, installation }: MessagingConfig, url: string): Promise<Messaging> {
  const prefix = `swy-${installation}`;
  const commands = createCommandClient(url, 'swy:commands');
  const trouble = new TroubleLog(logger, 'The Redis connection has trouble');
  let traits: RedisTraits | undefined;
  commands.on('error', trouble.report);
  const inspect = async (): Promise<void> => {
    traits = await inspectRedis(commands);
    if (traits.problem !== undefined) logger.error(traits.problem);
  };
  try {
    await within(START_MS, once(commands, 'ready').then(inspect));
  } catch (error) {
    logger.warn('Redis does not answer; starting without it', { reason: (error as Error).message });
  }
  if (traits?.problem !== undefined) {
    commands.disconnect();
    throw new DomainError('unavailable', traits.problem);
  }
  // Another server may answer after a loss.
  commands.on('ready', () => void inspect().catch(trouble.report));
  const backends: QueueBackends = createRedisBackends({ url, commands, prefix });
  const bus = new RedisBus({ url, commands, prefix, logger, traits: () => traits });
  return assemble(new QueueAccess(backends, logger), bus, () => commands.disconnect());
}

const REFUSALS: Readonly<Record<string, string>> = {
  SchemaMigrationRequiredError: 'The database lacks the tables of the queue: run npm run migrate first.',
  SchemaVersionMismatchError: 'The tables of the queue were made by a newer version than this process.',
};

function refusal(cause: unknown): DomainError {
  const message = REFUSALS[(cause as { name?: string }).name ?? ''];
  return new UnavailableError(message ?? 'DATABASE_URL: the queue does not answer.', { cause });
}

function assemble(queues: QueueAccess, bus: EventBus, after: () => void = () => undefined): Messaging {
  return {
    queue: new BullMqQueue(queues),
    deliveryQueue: new BullMqDeliveryQueue(queues),
    bus,
    close: async () => {
      await Promise.all([queues.close(), bus.close()]);
      after();
    },
  };
}
