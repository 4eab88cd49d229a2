import { CATALOG } from '#lib/adapters/catalog';
import {
  type BlobRemovals,
  DomainError,
  type Logger,
  type OutboundClient,
  type Retention,
  type RunStore,
  type SecretStore,
} from '#lib/domain';
import { createMessaging, type Messaging, type MessagingConfig } from '#lib/messaging';
import {
  Database,
  installationName,
  pendingMigrations,
  PgAgentStore,
  PgAuditLedger,
  PgAuditPruningLedger,
  PgAuditReader,
  PgAuditTrail,
  PgBlobRemovals,
  PgDatabaseHealth,
  PgDeliveryStore,
  PgEventLog,
  PgKeyStore,
  PgPartitions,
  PgPushConfigStore,
  PgRetention,
  PgRunCalls,
  PgRunStore,
  PgSecretStore,
  PgSessionStore,
  PgTaskRecords,
  PgTaskStore,
  PgThreadStore,
  PgToolStore,
  PgUploadStore,
  PgUsageStore,
  PgWebhookStore,
  SEALER_ROLE,
} from '#lib/persistence';
import { PromMetrics } from '#lib/platform';
import {
  GuardedOutbound,
  isSecretOf,
  IssuerTokens,
  JwtTaskTokens,
  type LinkKey,
  LinkSigner,
  mintHashedKey,
  parseApiKey,
  secretBoxFrom,
  tokenKeysFrom,
  WebhookSigner,
} from '#lib/security';
import { openStorage } from '#lib/storage';
import { randomBytes } from 'node:crypto';
import { type AuditSealing, openSealing, type SealingPorts } from './audit.sealing.js';
import type { GatewayConfig } from './config.js';
import type { RunnerKind } from './core/agent.declaration.js';
import type { CorePorts } from './core/core.module.js';
import { readIssuersFile } from './core/issuers-file.js';
import { readLimitsFile } from './core/limits-file.js';
import type { RunnerTraits } from './core/runner-traits.js';

/** What the process has opened, to be closed last. */
export interface Infrastructure {
  readonly ports: Ports;
  readonly runs: RunStore;
  readonly partitions: PgPartitions;
  readonly sealing: AuditSealing;
  close(): Promise<void>;
}

/** What has been opened, and is closed the other way round. */
class Opened {
  private readonly closers: (() => unknown)[] = [];

  constructor(private readonly databaseUrl: string) {}

  pool(name: string, max: number, role?: typeof SEALER_ROLE): Database {
    const { databaseUrl } = this;
    return this.keep(new Database({ databaseUrl, name: `gateway ${name}`, max, ...(role && { role }) }));
  }

  keep<T extends { close(): unknown }>(thing: T): T {
    this.closers.push(() => thing.close());
    return thing;
  }

  async close(): Promise<void> {
    for (const close of this.closers.splice(0).reverse()) await close();
  }
}

type Ports = Omit<CorePorts, 'pushes'> & { readonly removals: BlobRemovals; readonly retention: Retention };

async function messagingOver(database: Database, config: Omit<MessagingConfig, 'installation'>): Promise<Messaging> {
  return createMessaging({ ...config, installation: await installationName(database) });
}

/** Opens database, queue, bus and files. @throws DomainError `unavailable` with one line for the operator. */
export async function openInfrastructure(
  config: GatewayConfig,
  logger: Logger,
  publicUrl: () => string,
): Promise<Infrastructure> {
  const { databaseUrl, redisUrl } = config;
  await assertMigrated(databaseUrl);
  const opened = new Opened(databaseUrl);
  try {
    const requests = opened.pool('requests', 6);
    const audit = opened.keep(new PgAuditTrail(requests, logger));
    const ledgers = ledgersOver(opened.pool('sealer', 1, SEALER_ROLE));
    const log = new PgEventLog(opened.pool('writer', 1), opened.pool('log', 4));
    const administration = opened.pool('administration', 2);
    const messaging = opened.keep(await messagingOver(requests, { databaseUrl, redisUrl, logger }));
    const storage = opened.keep(await openStorage(config.storage));
    const metrics = new PromMetrics('gateway');
    const outbound = new GuardedOutbound(config.outbound);
    const sealing = opened.keep(await openSealing(config.audit, { ...ledgers, logger, metrics, outbound }));
    const ports = {
      logger,
      metrics,
      log,
      audit,
      auditReader: new PgAuditReader(requests),
      auditKeys: sealing.keys,
      ...storesOver(requests, administration, metrics),
      blobs: storage.blobs,
      ...(await boundsOf(config)),
      ...queuesOf(messaging),
      ...(await callersOf(config, outbound)),
      ...(await signersOver({ secrets: new PgSecretStore(administration), logger }, config, publicUrl)),
      outbound,
      toolOptions: config.tools,
      notes: () => sealing.notes(),
      runners: [...CATALOG, ...(await extraRunners(config.extraAdapters))],
    };
    return {
      ports,
      runs: new PgRunStore(requests),
      partitions: new PgPartitions(requests),
      sealing,
      close: () => opened.close(),
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

type Stores = Pick<
  Ports,
  | 'calls'
  | 'tasks'
  | 'records'
  | 'sessions'
  | 'agents'
  | 'toolStore'
  | 'threads'
  | 'keys'
  | 'removals'
  | 'retention'
  | 'uploads'
  | 'usage'
  | 'webhooks'
  | 'pushConfigs'
  | 'deliveries'
  | 'health'
>;

function ledgersOver(sealer: Database): Pick<SealingPorts, 'ledger' | 'prunings'> {
  return { ledger: new PgAuditLedger(sealer), prunings: new PgAuditPruningLedger(sealer) };
}

function storesOver(requests: Database, administration: Database, metrics: PromMetrics): Stores {
  return {
    tasks: new PgTaskStore(requests, metrics),
    records: new PgTaskRecords(requests),
    calls: new PgRunCalls(requests),
    sessions: new PgSessionStore(requests),
    agents: new PgAgentStore(administration),
    toolStore: new PgToolStore(requests),
    threads: new PgThreadStore(requests),
    keys: new PgKeyStore(administration),
    removals: new PgBlobRemovals(requests),
    retention: new PgRetention(requests),
    uploads: new PgUploadStore(requests),
    usage: new PgUsageStore(requests),
    webhooks: new PgWebhookStore(requests),
    pushConfigs: new PgPushConfigStore(requests),
    deliveries: new PgDeliveryStore(requests),
    health: new PgDatabaseHealth(requests),
  };
}

async function assertMigrated(databaseUrl: string): Promise<void> {
  const pending = await pendingMigrations(databaseUrl).catch((cause: unknown) => {
    const { code } = cause as { code?: string };
    throw new DomainError('unavailable', `DATABASE_URL: the database does not answer (${code ?? 'no reason given'}).`, {
      cause,
    });
  });
  if (pending.length === 0) return;
  throw new DomainError('unavailable', `The database lacks ${pending.join(', ')}: run npm run migrate first.`);
}

function queuesOf({ queue, deliveryQueue, bus }: Messaging): Pick<Ports, 'queue' | 'deliveryQueue' | 'bus'> {
  return { queue, deliveryQueue, bus };
}

/** How much and how long. @throws LimitsFileError */
type Bounds = Pick<Ports, 'limits' | 'maxUploadBytes' | 'syncWaitMs' | 'heldMs' | 'authFailuresPerMinute' | 'delivery'>;

async function boundsOf(config: GatewayConfig): Promise<Bounds> {
  const { limitsFile, maxUploadBytes, syncWaitMs, heldMs, authFailuresPerMinute, webhooks: delivery } = config;
  const limits = await readLimitsFile(limitsFile);
  return { limits, maxUploadBytes, syncWaitMs, heldMs, authFailuresPerMinute, delivery };
}

/** Whose credentials are believed. @throws IssuersFileError */
async function callersOf(
  { issuersFile }: GatewayConfig,
  outbound: OutboundClient,
): Promise<Pick<Ports, 'keyFormat' | 'issuerTokens'>> {
  const issuers = await readIssuersFile(issuersFile);
  const issuerTokens = issuers.length > 0 ? new IssuerTokens(issuers, outbound) : undefined;
  return { keyFormat: { parse: parseApiKey, isSecretOf, mint: mintHashedKey }, issuerTokens };
}

/** What signs links, task tokens and messages. */
async function signersOver(
  { secrets, logger }: { readonly secrets: SecretStore; readonly logger: Logger },
  config: GatewayConfig,
  publicUrl: () => string,
): Promise<Pick<Ports, 'links' | 'tokens' | 'signing'>> {
  const signer = new LinkSigner(await linkKeys(config, secrets));
  const keys = await tokenKeysFrom(config.tokens.keys, () => secrets);
  const signing = new WebhookSigner(await secretBoxFrom(config.webhooks.keys, secrets));
  const given = { LINK_KEYS: config.linkKeys, TOKEN_KEYS: config.tokens.keys, WEBHOOK_KEYS: config.webhooks.keys };
  const settings = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (settings.length > 0) logger.info('keys are kept in the database, as safe as that', { settings });
  return { links: { publicUrl, signer }, tokens: new JwtTaskTokens(keys, config.tokens), signing };
}

/** The configured keys, else one that all gateways share. */
async function linkKeys({ linkKeys: given }: GatewayConfig, secrets: SecretStore): Promise<[LinkKey, ...LinkKey[]]> {
  const [first, ...others] = given ?? [];
  if (first) return [first, ...others];
  return [{ id: 'db', secret: await secrets.getOrCreate('link-key', () => randomBytes(32)) }];
}

/** Descriptors of a module named for tests; the adapters beside them are the runtime's. */
async function extraRunners(module: string | undefined): Promise<readonly (RunnerKind & RunnerTraits)[]> {
  if (module === undefined) return [];
  const loaded = (await import(module)) as {
    readonly adapters: readonly { readonly descriptor: RunnerKind & RunnerTraits }[];
  };
  return loaded.adapters.map(({ descriptor }) => descriptor);
}
