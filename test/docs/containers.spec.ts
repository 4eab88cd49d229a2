import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfig as readGateway, SETTINGS as GATEWAY } from '../../apps/gateway/src/config.js';
import { readConfig as readMigrate, SETTINGS as MIGRATE } from '../../apps/migrate/src/config.js';
import { readConfig as readRuntime, SETTINGS as RUNTIME } from '../../apps/runtime/src/config.js';

interface Service {
  image: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  stop_grace_period?: string;
  deploy?: { replicas: number };
}

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};
const dockerfile = readFileSync('Dockerfile', 'utf8');

const PROCESSES = [
  { name: 'gateway', settings: GATEWAY, read: readGateway },
  { name: 'runtime', settings: RUNTIME, read: readRuntime },
  { name: 'migrate', settings: MIGRATE, read: readMigrate },
] as const;

function service(name: string): Service {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}

function instructions(word: string): string[] {
  return dockerfile.split('\n').flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
}

function imageEnvironment(): Record<string, string> {
  const pairs = instructions('ENV').flatMap((line) => line.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
}

/** What compose puts in place of `${NAME:-default}` when nothing is set. */
function environmentOf(name: string): Record<string, string> {
  const entries = Object.entries(service(name).environment ?? {});
  return Object.fromEntries(entries.map(([key, text]) => [key, text.replace(/\$\{\w+:-([^}]*)\}/g, '$1')]));
}

function sourceOf(built: string): string {
  return built.replace(/^dist\//, '').replace(/\.js$/, '.ts');
}

describe('the image', () => {
  it('is built and run on Node 24', () => {
    expect(instructions('FROM').map((line) => line.split(' ')[0])).toEqual([
      'node:24-bookworm-slim',
      'node:24-bookworm-slim',
    ]);
  });

  it('copies only what is in the repository and in the build context', () => {
    const ignore = readFileSync('.dockerignore', 'utf8').split('\n');
    const sources = instructions('COPY').flatMap((line) =>
      line.startsWith('--from') ? [] : line.split(' ').slice(0, -1),
    );
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources) {
      const name = source.replace('./', '');
      expect([name, existsSync(name), ignore.includes(`!${name}`)]).toEqual([name, true, true]);
    }
  });

  it('runs the gateway unless told otherwise, not as root', () => {
    const [, entry = ''] = JSON.parse(instructions('CMD')[0] ?? '[]') as string[];
    expect(sourceOf(entry)).toBe('apps/gateway/src/main.ts');
    expect(instructions('USER')).toEqual(['node']);
  });
});

describe('docker-compose.yml', () => {
  it('brings Postgres, Redis, a migration, a gateway and two runtimes', () => {
    expect(Object.keys(compose.services)).toEqual(['postgres', 'redis', 'migrate', 'gateway', 'runtime']);
    expect(service('runtime').deploy?.replicas).toBe(2);
    expect(Number(/^postgres:(\d+)/.exec(service('postgres').image)?.[1])).toBeGreaterThanOrEqual(15);
    expect(service('postgres').environment?.POSTGRES_INITDB_ARGS).toContain('--encoding=UTF8');
    expect(service('redis').command).toContain('noeviction');
  });

  it.each(PROCESSES)('gives $name only variables it or its sibling in the image reads', ({ name }) => {
    const known = PROCESSES.flatMap(({ settings }) => Object.keys(settings));
    for (const variable of Object.keys({ ...imageEnvironment(), ...environmentOf(name) })) {
      expect(known).toContain(variable);
    }
  });

  it.each(PROCESSES)('starts $name with an environment its configuration accepts', ({ name, read }) => {
    const config = read({ ...imageEnvironment(), ...environmentOf(name) }) as { databaseUrl: string };
    expect(new URL(config.databaseUrl).hostname).toBe('postgres');
  });

  it.each(PROCESSES)('runs a program that exists as $name', ({ name }) => {
    const [, entry = 'dist/apps/gateway/src/main.js'] = service(name).command ?? [];
    expect([name, existsSync(sourceOf(entry))]).toEqual([name, true]);
  });

  it('lets gateway and runtimes share one folder of artifacts and one Redis', () => {
    const [gateway, runtime] = [
      readGateway({ ...imageEnvironment(), ...environmentOf('gateway') }),
      readRuntime({ ...imageEnvironment(), ...environmentOf('runtime') }),
    ];
    expect(runtime.storage).toEqual(gateway.storage);
    expect(gateway.storage).toEqual({ kind: 'disk', dir: expect.stringMatching(/^\/data\//) });
    expect(runtime.redisUrl).toBe(gateway.redisUrl);
    for (const name of ['gateway', 'runtime']) expect(service(name).volumes).toEqual(['data:/data']);
  });

  it('asks each process where it listens whether it is ready, and starts none before the migration is done', () => {
    const { host, port } = readGateway({ ...imageEnvironment(), ...environmentOf('gateway') });
    const { healthPort, host: healthHost } = readRuntime({ ...imageEnvironment(), ...environmentOf('runtime') });
    expect([host, healthHost]).toEqual(['0.0.0.0', '0.0.0.0']);
    for (const [name, listens] of [
      ['gateway', port],
      ['runtime', healthPort],
    ] as const) {
      expect(service(name).healthcheck?.test.at(-1)).toContain(`http://127.0.0.1:${listens}/health/ready`);
      expect(service(name).depends_on?.migrate?.condition).toBe('service_completed_successfully');
    }
  });

  it('waits longer than the drain before it kills a process', () => {
    const { drainMs } = readRuntime({ ...imageEnvironment(), ...environmentOf('runtime') });
    expect(parseInt(service('runtime').stop_grace_period ?? '', 10) * 1000).toBeGreaterThan(drainMs + 5_000);
    const gateway = readGateway({ ...imageEnvironment(), ...environmentOf('gateway') });
    expect(parseInt(service('gateway').stop_grace_period ?? '', 10) * 1000).toBeGreaterThan(gateway.drainMs);
  });

  it('declares every volume it uses', () => {
    const used = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(':')[0]),
    );
    expect([...new Set(used)].sort()).toEqual(Object.keys(compose.volumes).sort());
  });
});
