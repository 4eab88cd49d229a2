import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ReadSecrets } from './secrets.js';

const KEY = 'k3y/with "marks" & more+';
let folder: string;
let secrets: ReadSecrets;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'secrets-'));
  mkdirSync(path.join(folder, 'in/sub'), { recursive: true });
  writeFileSync(path.join(folder, 'in/sub/key'), `${KEY}\n`);
  writeFileSync(path.join(folder, 'in/short'), 'abc');
  writeFileSync(path.join(folder, 'outside'), 'a secret of somebody else');
  symlinkSync('../outside', path.join(folder, 'in/link'));
  const variables = { TOOL_SECRET_A: KEY, TOOL_SECRET_LINES: 'one\nsecond-line', DATABASE_URL: 'postgres://secret' };
  secrets = new ReadSecrets({ variables, directory: path.join(folder, 'in') });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('secrets of tools', () => {
  it('come from the environment and from files, with what stands before them', async () => {
    await expect(secrets.read({ secret: 'TOOL_SECRET_A', prefix: 'Bearer ' })).resolves.toBe(`Bearer ${KEY}`);
    await expect(secrets.read({ secret_file: 'sub/key' })).resolves.toBe(KEY);
  });

  it.each([
    { secret: 'DATABASE_URL' },
    { secret: 'TOOL_SECRET_B' },
    { secret: '__proto__' },
    { secret_file: '../outside' },
    { secret_file: 'link' },
    { secret_file: '.' },
    { secret_file: 'none' },
    { secret_file: '/etc/passwd' },
  ])('are not to be had by %j, and the error names the reference only', async (reference) => {
    const error = (await secrets.read(reference).catch((cause: unknown) => cause)) as Error;
    expect(error).toMatchObject({ name: 'ToolError', code: 'failed' });
    expect(error.message).toBe(`The secret ${reference.secret ?? reference.secret_file} of the tool is not set here.`);
  });

  it.each([{ secret_file: 'short' }, { secret: 'TOOL_SECRET_LINES' }])(
    'cannot be like %j: they could not be told from text, or sent',
    async (reference) => {
      await expect(secrets.read(reference)).rejects.toThrow('must be 8 or more printable characters');
    },
  );

  it('are found in what comes back, as they are and in other spellings', async () => {
    await secrets.read({ secret: 'TOOL_SECRET_A' });
    const base64 = Buffer.from(KEY).toString('base64');
    const hex = Buffer.from(KEY).toString('hex');
    const encoded = encodeURIComponent(KEY);
    const lower = encoded.replace(/%../g, (escape) => escape.toLowerCase());
    for (const form of [KEY, encoded, lower, JSON.stringify(KEY), base64, hex, hex.toUpperCase()]) {
      const hidden = secrets.hide(`before ${form} after`);
      expect(hidden).toContain('[secret]');
      expect(hidden).not.toContain(form);
    }
  });

  it('are found whole, whichever of two that begin alike was read first', async () => {
    const variables = { TOOL_SECRET_SHORT: 'a-secret', TOOL_SECRET_LONG: 'a-secret-with-more-to-it' };
    for (const order of [Object.keys(variables), Object.keys(variables).reverse()]) {
      const both = new ReadSecrets({ variables, directory: undefined });
      for (const secret of order) await both.read({ secret });
      expect(both.hide('it is a-secret-with-more-to-it.')).toBe('it is [secret].');
    }
  });
});
