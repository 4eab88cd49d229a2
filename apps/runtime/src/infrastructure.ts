import type { BlobStore, Logger, Metrics, OutboundClient, TaskTokens } from '#lib/domain';
import { createMessaging, type Messaging } from '#lib/messaging';
import {
  Database,
  installationName,
  PgAuditTrail,
  PgBlobRemovals,
  PgDatabaseHealth,
  PgEventLog,
  PgPartitions,
  PgRetention,
  PgRunStore,
  PgSecretStore,
  PgSessionStore,
  PgToolStore,
  ThreadLeaseKeeper,
} from '#lib/persistence';
import { GuardedOutbound, JwtTaskTokens, tokenKeysFrom, type TokenOptions } from '#lib/security';
import { openStorage, type OpenStorage } from '#lib/storage';
import type { RuntimeConfig } from './config.js';

/** Connections of a runtime beside the writer's and the lease thread's: claims, sweeps, and what a doubtful append asks. */
const REQUEST_CONNECTIONS = 3;
/** Runs that are given up but not gone yet hold a lease slot as well. */
const SPARE_SLOTS = 1_024;

interface Databases {
  readonly writer: Database;
  readonly requests: Database;
  /** Writes to the second. */
  readonly audit: PgAuditTrail;
}

interface Parts {
  readonly storage: OpenStorage;
  readonly tokens: TaskTokens;
  readonly outbound: OutboundClient;
}

/** Everything that reaches out of this process, opened and closed as one. */
export class Infrastructure {
  readonly audit: PgAuditTrail;
  readonly log: PgEventLog;
  readonly runs: PgRunStore;
  readonly sessions: PgSessionStore;
  readonly health: PgDatabaseHealth;
  readonly partitions: PgPartitions;
  readonly blobs: BlobStore;
  readonly outbound: OutboundClient;
  readonly removals: PgBlobRemovals;
  readonly retention: PgRetention;
  readonly tokens: TaskTokens;
  readonly tools: PgToolStore;

  private constructor(
    private readonly databases: Databases,
    readonly messaging: Messaging,
    readonly leases: ThreadLeaseKeeper,
    private readonly parts: Parts,
  ) {
    const { writer, requests, audit } = databases;
    this.audit = audit;
    this.log = new PgEventLog(writer, requests);
    this.runs = new PgRunStore(requests);
    this.sessions = new PgSessionStore(requests);
    this.health = new PgDatabaseHealth(requests);
    this.partitions = new PgPartitions(requests);
    this.blobs = parts.storage.blobs;
    this.tokens = parts.tokens;
    this.outbound = parts.outbound;
    this.removals = new PgBlobRemovals(requests);
    this.retention = new PgRetention(requests);
    this.tools = new PgToolStore(requests);
  }

  static async open(
    config: RuntimeConfig,
    { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
  ): Promise<Infrastructure> {
    const { databaseUrl, redisUrl, runtimeId, leaseMs, maxBlockedMs, runSlots } = config;
    const storage = await openStorage(config.storage);
    const tokens = await openTokens(config.tokens, databaseUrl);
    const writer = new Database({ databaseUrl, max: 1, name: `writer ${runtimeId}` });
    const requests = new Database({ databaseUrl, max: REQUEST_CONNECTIONS, name: `runtime ${runtimeId}` });
    const installation = await installationName(requests);
    const messaging = await createMessaging({ databaseUrl, redisUrl, installation, logger });
    const audit = new PgAuditTrail(requests, logger);
    const capacity = runSlots * Math.max(1, config.pools?.length ?? 16) + SPARE_SLOTS;
    const leases = new ThreadLeaseKeeper({ databaseUrl, runtimeId, leaseMs, maxBlockedMs, capacity, logger, metrics });
    const outbound = new GuardedOutbound(config.outbound);
    return new Infrastructure({ writer, requests, audit }, messaging, leases, { storage, tokens, outbound });
  }

  /** After nothing writes any more. */
  async close(): Promise<void> {
    await this.leases.close();
    await this.audit.close();
    await this.parts.storage.close();
    await Promise.all([this.databases.writer.close(), this.databases.requests.close()]);
  }
}

async function openTokens({ keys, ...options }: TokenOptions, databaseUrl: string): Promise<TaskTokens> {
  if (keys) return new JwtTaskTokens(keys, options);
  const database = new Database({ databaseUrl, max: 1, name: 'runtime keys' });
  try {
    return new JwtTaskTokens(await tokenKeysFrom(keys, () => new PgSecretStore(database)), options);
  } finally {
    await database.close();
  }
}
