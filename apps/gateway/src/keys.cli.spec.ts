import { describe, expect, it } from '@jest/globals';
import { SCOPES } from '#lib/domain';
import { isSecretOf, parseApiKey } from '#lib/security';
import { MemoryKeyStore } from '../../../test/support/memory-key-store.js';
import { runKeys } from './keys.cli.js';

const AUDIT = {
  tenant: 't',
  principal: '',
  keyId: '',
  action: 'key.create',
  target: '',
  outcome: 'allowed',
  details: '{}',
  requestId: '',
} as const;
const NOW = Date.parse('2026-03-01T12:00:00Z');

function setUp(hasAdminKey = false): { keys: MemoryKeyStore; run: (line: string) => Promise<string> } {
  const keys = new MemoryKeyStore(() => NOW);
  const run = (line: string): Promise<string> =>
    runKeys(line.split(' ').filter(Boolean), { keys, hasAdminKey, nowMs: NOW });
  return { keys, run };
}

describe('keys create', () => {
  it('stores only the hash and prints the key once', async () => {
    const { keys, run } = setUp();
    const text = await run('create --tenant acme --principal ann --scopes tasks:submit,tasks:read --days 2');
    const [record] = keys.rows.values();
    expect(text).toContain(`Key ${record!.id} for ann in tenant acme (tasks:submit tasks:read) expires on 2026-03-03.`);
    const key = parseApiKey(/swy_\S+/.exec(text)![0])!;
    expect(record).toMatchObject({ id: key.id, tenant: 'acme', principal: 'ann', expiresAtMs: NOW + 172_800_000 });
    expect(isSecretOf(key.secret, record!.secretHash)).toBe(true);
  });

  it('prints nothing but JSON when asked to', async () => {
    const { run } = setUp();
    expect(JSON.parse(await run('create --principal ann --scopes all --json'))).toEqual({
      id: expect.any(String),
      key: expect.stringMatching(/^swy_/),
      tenant: 'default',
      principal: 'ann',
      scopes: [...SCOPES],
      expires_at: null,
    });
  });

  it.each([
    ['create --scopes all', '--principal must be a name'],
    ['create --tenant * --principal ann --scopes all', '--tenant must be the name of one tenant'],
    ['create --principal ann', '--scopes: nothing is no scope'],
    ['create --principal ann --scopes tasks:eat', '--scopes: tasks:eat is no scope'],
    ['create --principal ann --scopes all --days 0', '--days must be a whole number'],
    ['create --principal ann --scopes all --colour red', "Unknown option '--colour'"],
    ['create ann', 'Unexpected argument'],
    ['destroy', 'Usage:'],
    ['toString', 'Usage:'],
    ['', 'Usage:'],
  ])('refuses %j with a sentence', async (line, message) => {
    const { keys, run } = setUp();
    await expect(run(line)).rejects.toThrow(message);
    expect(keys.rows.size).toBe(0);
  });
});

describe('keys first', () => {
  it('prints the key of the first administrator, alone, and nothing the second time', async () => {
    const { keys, run } = setUp();
    const key = parseApiKey(await run('first'))!;
    expect(keys.rows.get(key.id)).toMatchObject({ tenant: 'default', principal: 'admin', scopes: SCOPES });
    await expect(run('first')).resolves.toBe('');
  });

  it('makes none where the environment brings one', async () => {
    const { keys, run } = setUp(true);
    await expect(run('first')).resolves.toBe('');
    expect(keys.rows.size).toBe(0);
  });
});

describe('keys list and revoke', () => {
  it('shows the state of every key, and never a secret', async () => {
    const { keys, run } = setUp();
    const put = (id: string, expiresAtMs: number | null): Promise<void> =>
      keys.put(
        {
          id,
          tenant: 't',
          principal: 'p',
          scopes: ['tasks:read'],
          secretHash: new Uint8Array(32),
          label: null,
          expiresAtMs,
        },
        AUDIT,
      );
    await put('one', null);
    await put('gone', NOW);
    await put('bad', null);
    await expect(run('revoke bad')).resolves.toContain('Key bad is revoked');
    expect(await run('list')).toBe(
      [
        'ID    TENANT  PRINCIPAL  STATE    CREATED     EXPIRES     USED   SCOPES',
        'one   t       p          live     2026-03-01  never       never  tasks:read',
        'gone  t       p          expired  2026-03-01  2026-03-01  never  tasks:read',
        'bad   t       p          revoked  2026-03-01  never       never  tasks:read',
      ].join('\n'),
    );
    expect(JSON.parse(await run('list --json'))[2]).toMatchObject({ id: 'bad', state: 'revoked' });
  });

  it('says that there is none, or no such one', async () => {
    const { run } = setUp();
    await expect(run('list')).resolves.toBe('There are no keys.');
    await expect(run('revoke one')).rejects.toThrow('There is no live key with the id one.');
    await expect(run('revoke')).rejects.toThrow('revoke takes the id of one key.');
  });
});

describe('keys rotate', () => {
  it('prints a new secret once, lets the old one work for the time it says, and leaves a record', async () => {
    const { keys, run } = setUp();
    const first = parseApiKey(/swy_\S+/.exec(await run('create --principal ann --scopes all'))![0])!;
    const second = parseApiKey(/swy_\S+/.exec(await run(`rotate ${first.id} --hours 2`))![0])!;
    const { secretHash, retiring } = keys.rows.get(first.id)!;
    expect([second.id, isSecretOf(second.secret, secretHash)]).toEqual([first.id, true]);
    expect(retiring.map(({ untilMs, ...old }) => [untilMs, isSecretOf(first.secret, old.secretHash)])).toEqual([
      [NOW + 7_200_000, true],
    ]);
    expect(keys.records.map(({ action, target, tenant }) => [action, target, tenant])).toEqual([
      ['key.create', first.id, 'default'],
      ['key.rotate', first.id, 'default'],
    ]);
  });

  it('says that there is no such key, or how long it may take', async () => {
    const { run } = setUp();
    await expect(run('rotate one')).rejects.toThrow('There is no live key with the id one');
    await expect(run('rotate one --hours 721')).rejects.toThrow('--hours must be a whole number from 0 to 720.');
    await expect(run('rotate')).rejects.toThrow('rotate takes the id of one key.');
  });
});
