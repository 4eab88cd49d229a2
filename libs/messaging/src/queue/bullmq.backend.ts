import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  type Processor,
  withBackend,
  type WorkerOptions,
} from 'bullmq';
import type { Redis } from 'ioredis';
import { setTimeout as pause } from 'node:timers/promises';
import { QUEUE_SCHEMA } from '../migrate.js';
import { inOneWrite, workerOptions } from '../redis.client.js';

/** What we use of BullMQ's worker; its own type differs by back end. */
export interface RunWorker {
  concurrency: number;
  waitUntilReady(): Promise<void>;
  run(): Promise<void>;
  pause(): Promise<void>;
  close(force?: boolean): Promise<void>;
  getBackend(): IQueueBackend;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export interface WorkerRequest {
  readonly queue: string;
  readonly slots: number;
  readonly process: Processor<unknown, void>;
  /** Called whenever the worker has asked for a job and got an answer. */
  readonly onFetch: () => void;
}

/** Where BullMQ keeps its jobs. */
export interface QueueBackends {
  /** Adds, removes and counts for every queue, over one connection; it fails rather than waits. */
  readonly producer: IQueueBackend;
  /** A worker that has not been started; it has connections of its own. */
  createWorker(request: WorkerRequest): RunWorker;
  /** Runs `work` so that what it sends goes out together. */
  together<T>(work: () => T): T;
}

/** A job whose runtime died between fetching and claiming it comes back after at most their sum. */
const LOCK_MS = 15_000;
const STALLED_CHECK_MS = 5_000;
/** Without it a server that is starting up is asked again thousands of times. */
const FAILED_FETCH_PAUSE_MS = 200;

const WORKER_OPTIONS = {
  autorun: false,
  lockDuration: LOCK_MS,
  stalledInterval: STALLED_CHECK_MS,
  // BullMQ's 15 s would keep idle workers away from a Redis that is back.
  runRetryDelay: 500,
} as const;

export function createRedisBackends(options: {
  readonly url: string;
  readonly commands: Redis;
  readonly prefix: string;
}): QueueBackends {
  const { commands } = options;
  // The hash tag keeps all keys of the queues in one slot of a cluster.
  const prefix = { prefix: `{${options.prefix}}` };
  // Checking the version would need an answer, and an add must not wait for one that does not come.
  const unchecked = { skipVersionCheck: true, skipWaitingForReady: true };
  return {
    producer: createRedisBackend('swy', { connection: commands, ...prefix, ...unchecked }),
    createWorker: (request) =>
      createWorker(createGatheringBackend, request, { connection: workerOptions(options.url), ...prefix }),
    together: (work) => (commands.status === 'ready' ? inOneWrite(commands, work) : work()),
  };
}

export function createPostgresBackends(databaseUrl: string): QueueBackends {
  const connection = {
    connectionString: databaseUrl,
    schema: QUEUE_SCHEMA,
    max: 2,
    keepAlive: true,
    application_name: 'switchyard queue',
  };
  const producer = { ...connection, connectionTimeoutMillis: 1_000, query_timeout: 2_000 };
  const worker = { ...connection, connectionTimeoutMillis: 5_000, query_timeout: 10_000 };
  return {
    producer: createPostgresBackend('swy', { connection: producer }),
    createWorker: (request) => createWorker(createPostgresBackend, request, { connection: worker }),
    together: (work) => work(),
  };
}

/** Runs that end in one turn of the event loop, as those of one commit do, say so in one write. */
const createGatheringBackend: typeof createRedisBackend = (...args) => {
  const backend = createRedisBackend(...args);
  const moveToActive = backend.moveToActive.bind(backend);
  const moveToFinished = backend.moveToFinished.bind(backend);
  const gathered = async <T>(work: () => Promise<T>): Promise<T> => {
    const redis = (await backend.client) as unknown as Redis;
    return redis.status === 'ready' ? inOneWrite(redis, work) : work();
  };
  backend.moveToActive = (...job) => gathered(() => moveToActive(...job));
  backend.moveToFinished = (...job) => gathered(() => moveToFinished(...job));
  return backend;
};

function createWorker<Backend extends IQueueBackend, Connection>(
  factory: BackendFactory<Backend, Connection>,
  { queue, process, slots, onFetch }: WorkerRequest,
  options: WorkerOptions<Connection>,
): RunWorker {
  const classes = withBackend<Backend, Connection>((...args) => watched(factory(...args), onFetch));
  return new classes.Worker<unknown, void>(queue, process, { ...WORKER_OPTIONS, ...options, concurrency: slots });
}

function watched<Backend extends IQueueBackend>(backend: Backend, onFetch: () => void): Backend {
  const moveToActive = backend.moveToActive.bind(backend);
  backend.moveToActive = async (...args): Promise<unknown[]> => {
    try {
      const fetched = (await moveToActive(...args)) as unknown[];
      onFetch();
      return fetched;
    } catch (error) {
      await pause(FAILED_FETCH_PAUSE_MS);
      throw error;
    }
  };
  return backend;
}
