import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readSettings } from '#lib/platform';
import { readConfig } from './config.js';
import { PROTOCOL_SETTINGS, protocolOptionsOf } from './protocol.settings.js';

const DATABASE_URL = 'postgres://user:word@host/database';

describe('readConfig', () => {
  it('needs nothing but a database', () => {
    expect(readConfig({ DATABASE_URL })).toEqual({
      protocols: protocolOptionsOf(readSettings(PROTOCOL_SETTINGS, {})),
      databaseUrl: DATABASE_URL,
      redisUrl: undefined,
      host: '127.0.0.1',
      port: 3000,
      publicUrl: undefined,
      storage: { kind: 'disk', dir: path.resolve('.data/artifacts') },
      audit: { keyFile: undefined, headsFile: undefined, headsWebhook: undefined, headsBucket: undefined },
      issuersFile: undefined,
      authFailuresPerMinute: 60,
      trustedProxies: [],
      agentsFile: path.resolve('agents.yaml'),
      adminKey: undefined,
      linkKeys: undefined,
      limitsFile: undefined,
      corsOrigins: [],
      maxConnections: 20_000,
      maxBodyBytes: 1_048_576,
      outbound: { allowPublic: true, rules: [] },
      maxUploadBytes: 104_857_600,
      syncWaitMs: 15_000,
      heldMs: 86_400_000,
      tokens: { keys: undefined, issuer: 'urn:switchyard', lifeMs: 300_000 },
      webhooks: {
        keys: undefined,
        timeoutMs: 15_000,
        retryMs: [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * 1_000),
      },
      tools: { secrets: { variables: {}, directory: undefined }, stdio: 'off', programPath: '' },
      leaseMs: 30_000,
      drainMs: 25_000,
      logLevel: 'info',
      extraAdapters: undefined,
    });
  });

  it('lets declarations of tools name variables that begin with TOOL_SECRET_, and no other', () => {
    const { tools } = readConfig({
      DATABASE_URL,
      TOOL_SECRET_A: 'one',
      TOOL_SECRET_: 'none',
      TOOL_SECRETS_DIR: '/run/keys',
    });
    expect(tools.secrets).toEqual({ variables: { TOOL_SECRET_A: 'one' }, directory: '/run/keys' });
  });

  it('takes the slash from the end of PUBLIC_URL', () => {
    expect(readConfig({ DATABASE_URL, PUBLIC_URL: 'https://swy.example/base/' }).publicUrl).toBe(
      'https://swy.example/base',
    );
  });

  it('names what is wrong in one line and shows no value', () => {
    const env = { DATABASE_URL: 'word', ADMIN_API_KEY: 'swy_word', LINK_KEYS: 'word', PORT: 'word' };
    let message = '';
    try {
      readConfig(env);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/^Configuration: .*DATABASE_URL.*PORT.*ADMIN_API_KEY.*LINK_KEYS/);
    expect(message).not.toMatch(/word|\n/);
  });

  it.each(['https://a.example,http://b.example:8080', ' https://a.example '])('takes the origins %j', (origins) => {
    const { corsOrigins } = readConfig({ DATABASE_URL, CORS_ORIGINS: origins });
    expect(corsOrigins).toEqual(origins.split(',').map((origin) => origin.trim()));
  });

  it.each([
    '*',
    'https://*.example',
    'https://a.example/',
    'https://A.example',
    'a.example',
    'null',
    'https://a.example:443',
    'https://a.example,',
  ])('refuses %j as origins: none would ever match, or too many', (origins) => {
    expect(() => readConfig({ DATABASE_URL, CORS_ORIGINS: origins })).toThrow('CORS_ORIGINS');
  });

  it('refuses adapters for tests in production', () => {
    expect(() => readConfig({ DATABASE_URL, NODE_ENV: 'production', EXTRA_ADAPTERS: '/x' })).toThrow('EXTRA_ADAPTERS');
  });
});
