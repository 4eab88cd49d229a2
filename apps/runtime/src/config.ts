import type { ModelEndpoint } from '#lib/adapters/contract';
import { anyText, integerFrom, oneOf, readSettings, SettingsError, urlOf } from '#lib/platform';
import {
  OUTBOUND_SETTINGS,
  type OutboundPolicy,
  outboundPolicyOf,
  TOKEN_SETTINGS,
  type TokenOptions,
  tokenOptionsOf,
} from '#lib/security';
import { STORAGE_SETTINGS, type StorageOptions, storageOf } from '#lib/storage';
import { TOOL_SETTINGS, type ToolOptions, toolOptionsOf } from '#lib/tools';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import path from 'node:path';
import { nameRuntime } from './execution/workspace.leftovers.js';

const names = {
  expects: 'names of [A-Za-z0-9_-], separated by commas',
  parse: (text: string) => (/^[\w-]+(,[\w-]+)*$/.test(text) ? text.split(',') : undefined),
};
const identity = {
  expects: '1 to 100 of [A-Za-z0-9._-]',
  parse: (text: string) => (/^[\w.-]{1,100}$/.test(text) ? text : undefined),
};

/** The environment of a runtime; docs/operations.md shows it. */
export const SETTINGS = {
  DATABASE_URL: { required: true, meaning: 'The PostgreSQL database.', ...urlOf('postgres', 'postgresql') },
  REDIS_URL: { meaning: 'Redis for queue and bus; absent: both live in PostgreSQL.', ...urlOf('redis', 'rediss') },
  POOLS: { meaning: 'Queue pools it serves; absent: one for each kind of runner it has.', ...names },
  RUN_SLOTS: { default: '64', meaning: 'Runs at once, per pool.', ...integerFrom(1, 1_000) },
  RUNTIME_ID: { meaning: 'Its name in runs and records; absent: host, process and chance.', ...identity },
  HEALTH_PORT: {
    meaning: 'Port of /health/live, /health/ready and /metrics; absent: none.',
    ...integerFrom(0, 65_535),
  },
  HOST: { default: '127.0.0.1', meaning: 'Address HEALTH_PORT listens on.', ...anyText },
  LEASE_SECONDS: {
    default: '30',
    unit: 's',
    meaning: 'How long a run is kept for a runtime that gives no sign of life.',
    ...integerFrom(10, 3_600),
  },
  DRAIN_SECONDS: {
    default: '25',
    unit: 's',
    meaning: 'How long runs may go on after a request to stop; what is left is handed over.',
    ...integerFrom(0, 3_600),
  },
  MAX_BLOCKED_SECONDS: {
    default: '300',
    unit: 's',
    meaning: 'How long the event loop may be blocked before the process is ended.',
    ...integerFrom(1, 86_400),
  },
  DATA_DIR: {
    default: '.data',
    meaning: 'Folder for workspaces and, unless STORAGE_DIR says so, artifacts.',
    ...anyText,
  },
  ...STORAGE_SETTINGS,
  ...OUTBOUND_SETTINGS,
  ...TOOL_SETTINGS,
  WORKSPACE_MAX_BYTES: {
    default: '268435456',
    unit: 'bytes',
    meaning: 'What the workspace of one task may hold; a run that goes over it fails.',
    ...integerFrom(1_024, 107_374_182_400),
  },
  ...TOKEN_SETTINGS,
  MODEL_BASE_URL: { meaning: 'An OpenAI-compatible endpoint; absent: the local model.', ...urlOf('http', 'https') },
  MODEL_API_KEY: { meaning: 'The key of that endpoint.', ...anyText },
  MODEL_NAME: { meaning: 'The model asked for there.', ...anyText },
  CONTEXT_ATTRIBUTES: {
    meaning:
      'Attributes of callers that runs are told by their own names too; those that frameworks keep are left out.',
    expects: 'names separated by commas',
    parse: (text: string) => text.split(',').flatMap((name) => name.trim() || []),
  },
  SITE_BUILDER_EXECUTE: {
    default: 'false',
    meaning: 'Whether code that a model has written may be run.',
    ...oneOf('true', 'false'),
  },
  LOG_LEVEL: { default: 'info', meaning: 'The least that is logged.', ...oneOf('debug', 'info', 'warn', 'error') },
  NODE_ENV: { meaning: '`production` refuses what is for tests only.', ...anyText },
  EXTRA_ADAPTERS: { meaning: 'For tests: a compiled module with more runners.', ...anyText },
} as const;

export interface RuntimeConfig {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  /** Undefined: one pool per runner kind. */
  readonly pools: readonly string[] | undefined;
  readonly runSlots: number;
  readonly runtimeId: string;
  readonly healthPort: number | undefined;
  readonly host: string;
  readonly leaseMs: number;
  readonly drainMs: number;
  readonly maxBlockedMs: number;
  readonly workDir: string;
  readonly workspaceMaxBytes: number;
  readonly storage: StorageOptions;
  readonly tokens: TokenOptions;
  readonly outbound: OutboundPolicy;
  readonly tools: ToolOptions;
  readonly model: ModelEndpoint | undefined;
  /** Names of attributes that runs are told beside the map of all. */
  readonly contextAttributes: readonly string[];
  readonly executeModelCode: boolean;
  readonly logLevel: string;
  readonly extraAdapters: string | undefined;
}

/** @throws SettingsError that names what is wrong, never a value. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): RuntimeConfig {
  const settings = readSettings(SETTINGS, env);
  if (settings.EXTRA_ADAPTERS !== undefined && settings.NODE_ENV === 'production') {
    throw new SettingsError(['EXTRA_ADAPTERS is for tests and must be absent in production']);
  }
  const runtimeId = settings.RUNTIME_ID ?? nameRuntime(hostname(), process.pid, randomBytes(3));
  const dataDir = path.resolve(settings.DATA_DIR);
  return Object.freeze({
    databaseUrl: settings.DATABASE_URL,
    redisUrl: settings.REDIS_URL,
    pools: settings.POOLS,
    runSlots: settings.RUN_SLOTS,
    runtimeId,
    healthPort: settings.HEALTH_PORT,
    host: settings.HOST,
    leaseMs: settings.LEASE_SECONDS * 1_000,
    drainMs: settings.DRAIN_SECONDS * 1_000,
    maxBlockedMs: settings.MAX_BLOCKED_SECONDS * 1_000,
    workDir: path.join(dataDir, 'work', runtimeId),
    workspaceMaxBytes: settings.WORKSPACE_MAX_BYTES,
    storage: storageOf(settings, dataDir),
    tokens: tokenOptionsOf(settings),
    outbound: outboundPolicyOf(settings),
    tools: toolOptionsOf(settings, env),
    model: modelOf(settings),
    contextAttributes: settings.CONTEXT_ATTRIBUTES ?? [],
    executeModelCode: settings.SITE_BUILDER_EXECUTE === 'true',
    logLevel: settings.LOG_LEVEL,
    extraAdapters: settings.EXTRA_ADAPTERS,
  });
}

function modelOf(settings: {
  readonly MODEL_BASE_URL: string | undefined;
  readonly MODEL_API_KEY: string | undefined;
  readonly MODEL_NAME: string | undefined;
}): ModelEndpoint | undefined {
  const { MODEL_BASE_URL: baseUrl, MODEL_API_KEY: apiKey, MODEL_NAME: name } = settings;
  if (baseUrl === undefined) return undefined;
  if (name === undefined) throw new SettingsError(['MODEL_NAME is missing, MODEL_BASE_URL needs it']);
  return { baseUrl, apiKey: apiKey ?? '', name };
}
