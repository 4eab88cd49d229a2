import { anyText, integerFrom, oneOf, readSettings, SettingsError, urlOf } from '#lib/platform';
import {
  type ApiKey,
  type LinkKey,
  parseApiKey,
  parseLinkKeys,
  parseNetworks,
  TOKEN_SETTINGS,
  type TokenOptions,
  OUTBOUND_SETTINGS,
  type OutboundPolicy,
  outboundPolicyOf,
  tokenOptionsOf,
  WEBHOOK_SETTINGS,
  type WebhookOptions,
  webhookOptionsOf,
} from '#lib/security';
import { STORAGE_SETTINGS, type StorageOptions, storageOf } from '#lib/storage';
import { TOOL_SETTINGS, type ToolOptions, toolOptionsOf } from '#lib/tools';
import path from 'node:path';
import { AUDIT_SETTINGS, type AuditOptions, auditOptionsOf } from './audit.settings.js';
import { PROTOCOL_SETTINGS, type ProtocolOptions, protocolOptionsOf } from './protocol.settings.js';

const apiKey = { expects: 'swy_<id>_<secret> with a secret of at least 32 characters', parse: parseApiKey };
const linkKeys = { expects: 'kid:base64,kid:base64 with secrets of at least 16 bytes', parse: parseLinkKeys };

/** Exact, as browsers spell them: a pattern or a `*` would let in whoever registers a name that fits. */
const origins = {
  expects: 'origins, separated by commas, each as browsers spell it: https://name or https://name:port',
  parse: (text: string): readonly string[] | undefined => {
    const names = text.split(',').map((name) => name.trim());
    return names.every((name) => /^https?:[^*]+$/.test(name) && URL.canParse(name) && new URL(name).origin === name)
      ? names
      : undefined;
  },
};

/** The environment of a gateway; docs/operations.md shows it. */
export const SETTINGS = {
  DATABASE_URL: { required: true, meaning: 'The PostgreSQL database.', ...urlOf('postgres', 'postgresql') },
  REDIS_URL: { meaning: 'Redis for queue and bus; absent: both live in PostgreSQL.', ...urlOf('redis', 'rediss') },
  HOST: { default: '127.0.0.1', meaning: 'Address it listens on.', ...anyText },
  PORT: { default: '3000', meaning: 'Port it listens on; 0 takes a free one.', ...integerFrom(0, 65_535) },
  PUBLIC_URL: {
    meaning: 'Where callers reach it, for links it hands out; absent: http://HOST:PORT.',
    ...urlOf('http', 'https'),
  },
  DATA_DIR: { default: '.data', meaning: 'Folder of artifacts, unless STORAGE_DIR says otherwise.', ...anyText },
  ...STORAGE_SETTINGS,
  ...AUDIT_SETTINGS,
  AGENTS_FILE: { default: 'agents.yaml', meaning: 'The agents and their backends.', ...anyText },
  LIMITS_FILE: { meaning: 'What tenants and keys may use at once; absent: generous limits for all.', ...anyText },
  ADMIN_API_KEY: { meaning: 'A key with every scope that exists from the start; never shown.', ...apiKey },
  LINK_KEYS: {
    meaning: 'Keys that sign download links, the first signs; absent: one is made and kept in the database.',
    ...linkKeys,
  },
  ...TOKEN_SETTINGS,
  ...OUTBOUND_SETTINGS,
  CORS_ORIGINS: {
    meaning: 'Origins whose web pages may read answers, `https://a.example,https://b.example`; absent: none.',
    ...origins,
  },
  MAX_CONNECTIONS: {
    default: '20000',
    meaning: 'Connections of callers it holds at once.',
    ...integerFrom(1, 1_000_000),
  },
  ...WEBHOOK_SETTINGS,
  ...TOOL_SETTINGS,
  ...PROTOCOL_SETTINGS,
  ISSUERS_FILE: { meaning: 'Issuers whose tokens callers may come with; absent: none.', ...anyText },
  MAX_AUTH_FAILURES: {
    default: '60',
    meaning: 'Failed authentications an address may make in a minute; more are told to wait.',
    ...integerFrom(1, 1_000_000),
  },
  TRUSTED_PROXIES: {
    meaning: 'Addresses and networks of proxies whose X-Forwarded-For is believed, separated by commas; absent: none.',
    expects: 'addresses or networks such as 10.0.0.0/8,fd00::/8',
    parse: parseNetworks,
  },
  MAX_BODY_BYTES: {
    default: '1048576',
    unit: 'bytes',
    meaning: 'The largest JSON body it takes.',
    ...integerFrom(1_024, 104_857_600),
  },
  MAX_UPLOAD_BYTES: {
    default: '104857600',
    unit: 'bytes',
    meaning: 'The largest artifact that may be uploaded.',
    ...integerFrom(1_024, 5_368_709_120),
  },
  SYNC_WAIT_SECONDS: {
    default: '15',
    unit: 's',
    meaning: 'How long a submission in sync mode waits for its outcome.',
    ...integerFrom(1, 270),
  },
  HELD_SECONDS: {
    default: '86400',
    unit: 's',
    meaning: 'How long a held task waits to be released before it ends as failed.',
    ...integerFrom(1, 2_592_000),
  },
  LEASE_SECONDS: {
    default: '30',
    unit: 's',
    meaning: 'The lease of the runtimes: it says how often lost runs are looked for.',
    ...integerFrom(10, 3_600),
  },
  DRAIN_SECONDS: {
    default: '25',
    unit: 's',
    meaning: 'How long requests may go on after a request to stop.',
    ...integerFrom(0, 3_600),
  },
  LOG_LEVEL: { default: 'info', meaning: 'The least that is logged.', ...oneOf('debug', 'info', 'warn', 'error') },
  NODE_ENV: { meaning: '`production` refuses what is for tests only.', ...anyText },
  EXTRA_ADAPTERS: { meaning: 'For tests: a compiled module with more runners.', ...anyText },
} as const;

export interface GatewayConfig {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  readonly host: string;
  readonly port: number;
  /** Without a slash at its end. Undefined: where it turns out to listen. */
  readonly publicUrl: string | undefined;
  readonly storage: StorageOptions;
  readonly audit: AuditOptions;
  readonly agentsFile: string;
  readonly limitsFile: string | undefined;
  readonly adminKey: ApiKey | undefined;
  readonly linkKeys: readonly LinkKey[] | undefined;
  readonly tokens: TokenOptions;
  readonly outbound: OutboundPolicy;
  readonly corsOrigins: readonly string[];
  readonly maxConnections: number;
  readonly webhooks: WebhookOptions;
  readonly tools: ToolOptions;
  readonly protocols: ProtocolOptions;
  readonly issuersFile: string | undefined;
  readonly authFailuresPerMinute: number;
  readonly trustedProxies: readonly string[];
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
  readonly syncWaitMs: number;
  readonly heldMs: number;
  readonly leaseMs: number;
  readonly drainMs: number;
  readonly logLevel: string;
  readonly extraAdapters: string | undefined;
}

/** @throws SettingsError that names what is wrong, never a value. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): GatewayConfig {
  const settings = readSettings(SETTINGS, env);
  if (settings.EXTRA_ADAPTERS !== undefined && settings.NODE_ENV === 'production') {
    throw new SettingsError(['EXTRA_ADAPTERS is for tests and must be absent in production']);
  }
  return Object.freeze({
    databaseUrl: settings.DATABASE_URL,
    redisUrl: settings.REDIS_URL,
    host: settings.HOST,
    port: settings.PORT,
    publicUrl: settings.PUBLIC_URL?.replace(/\/+$/, ''),
    storage: storageOf(settings, settings.DATA_DIR),
    audit: auditOptionsOf(settings),
    agentsFile: path.resolve(settings.AGENTS_FILE),
    limitsFile: settings.LIMITS_FILE && path.resolve(settings.LIMITS_FILE),
    adminKey: settings.ADMIN_API_KEY,
    linkKeys: settings.LINK_KEYS,
    tokens: tokenOptionsOf(settings),
    outbound: outboundPolicyOf(settings),
    corsOrigins: settings.CORS_ORIGINS ?? [],
    maxConnections: settings.MAX_CONNECTIONS,
    webhooks: webhookOptionsOf(settings),
    tools: toolOptionsOf(settings, env),
    protocols: protocolOptionsOf(settings),
    issuersFile: settings.ISSUERS_FILE === undefined ? undefined : path.resolve(settings.ISSUERS_FILE),
    authFailuresPerMinute: settings.MAX_AUTH_FAILURES,
    trustedProxies: settings.TRUSTED_PROXIES ?? [],
    maxBodyBytes: settings.MAX_BODY_BYTES,
    maxUploadBytes: settings.MAX_UPLOAD_BYTES,
    syncWaitMs: settings.SYNC_WAIT_SECONDS * 1_000,
    heldMs: settings.HELD_SECONDS * 1_000,
    leaseMs: settings.LEASE_SECONDS * 1_000,
    drainMs: settings.DRAIN_SECONDS * 1_000,
    logLevel: settings.LOG_LEVEL,
    extraAdapters: settings.EXTRA_ADAPTERS,
  });
}

/** What the keys program needs of the same environment. @throws SettingsError */
export function readKeysConfig(env: NodeJS.ProcessEnv = process.env): {
  readonly databaseUrl: string;
  readonly hasAdminKey: boolean;
} {
  const { DATABASE_URL, ADMIN_API_KEY } = SETTINGS;
  const settings = readSettings({ DATABASE_URL, ADMIN_API_KEY }, env);
  return { databaseUrl: settings.DATABASE_URL, hasAdminKey: settings.ADMIN_API_KEY !== undefined };
}
