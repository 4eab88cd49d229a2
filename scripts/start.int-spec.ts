import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../test/support/free-port.js';

const script = path.resolve('scripts/start.mjs');
let dataDir: string;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'switchyard-start-'));
});

afterAll(() => rm(dataDir, { recursive: true }));

interface Outcome {
  code: number;
  lines: string[];
}

function start(variables: Record<string, string>): Promise<Outcome> {
  const env = {
    PATH: process.env.PATH,
    DATA_DIR: dataDir,
    PORT: '1',
    DATABASE_URL: 'postgres://127.0.0.1:1/x',
    ...variables,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [script], { env }, (error, stdout, stderr) => {
      const lines = (stdout + stderr).split('\n').filter((line) => line !== '' && !/^[✓✗…]/.test(line));
      resolve({ code: Number(error?.code ?? 0), lines });
    });
  });
}

describe('npm start', () => {
  it.each([
    ['PORT', 'abc', 'PORT=3001'],
    ['PORT', '70000', '1 to 65535'],
    ['DATABASE_URL', 'mysql://host/db', 'postgresql://user:password@host:5432/database'],
    ['MIGRATIONS_DATABASE_URL', 'nowhere', 'postgresql://'],
    ['REDIS_URL', 'localhost:6379', 'redis://host:6379'],
    ['ADMIN_API_KEY', 'swy_admin_tooshort', 'swy_<id>_<secret>'],
    ['DATA_DIR', '/dev/null/data', 'set DATA_DIR'],
    ['DATA_DIR', '/proc/data', 'set DATA_DIR'],
  ])('refuses %s=%s in one line that names it and the remedy', async (name, value, remedy) => {
    const { code, lines } = await start({ PORT: String(await freePort()), [name]: value });
    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^${name}\\b`))]);
    expect(lines[0]).toContain(remedy);
  });

  it('names no value of a secret it refuses', async () => {
    const { lines } = await start({ ADMIN_API_KEY: 'swy_admin_hunter2' });
    expect(lines.join()).not.toContain('hunter2');
  });

  it('says that a database does not answer, where, and why', async () => {
    const { code, lines } = await start({ PORT: String(await freePort()) });
    expect(code).toBe(1);
    expect(lines).toEqual([
      'DATABASE_URL: no PostgreSQL answers at 127.0.0.1:1 (ECONNREFUSED): start it there or correct the address',
    ]);
  });

  it('says that the port is taken before anything is installed or started', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const { code, lines } = await start({ PORT: String(port) });
    await new Promise((resolve) => taken.close(resolve));
    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringMatching(`^PORT ${port} is taken on 127.0.0.1`)]);
  });
});
