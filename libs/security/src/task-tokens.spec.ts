import { beforeEach, describe, expect, it } from '@jest/globals';
import type { TaskId, TaskKey, TokenTerms } from '#lib/domain';
import { createLocalJWKSet, importJWK, type JSONWebKeySet, jwtVerify, SignJWT, UnsecuredJWT } from 'jose';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { JwtTaskTokens } from './task-tokens.js';
import { parseTokenKeys, tokenKeysFrom, type TokenKeys } from './token-keys.js';

const ISSUER = 'https://switchyard.example';
const NOW = 1_700_000_000_000;
const LIFE_MS = 300_000;

function keyText(id: string): string {
  const der = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
  return `${id}:${der.toString('base64')}`;
}

const OLD = keyText('old');
const YOUNG = keyText('young');
const keys = (...texts: string[]): TokenKeys => parseTokenKeys(texts.join(','))!;
let nowMs = NOW;
const tokensWith = (own: TokenKeys, issuer = ISSUER): JwtTaskTokens =>
  new JwtTaskTokens(own, { issuer, lifeMs: LIFE_MS, nowMs: () => nowMs });

const TERMS: TokenTerms = {
  taskKey: '0197-key' as TaskKey,
  taskId: 'task-1' as TaskId,
  runNo: 2,
  tenant: 'acme',
  principal: 'alice',
  agentId: 'analyst',
  runtimeId: 'rt-1',
  sessionId: 's',
  tools: ['summarise'],
  deadlineAtMs: NOW + 3_600_000,
};
const refused = expect.objectContaining({ code: 'unauthenticated' });

beforeEach(() => {
  nowMs = NOW;
});

describe('a task token', () => {
  it('says of its run what it was made with', async () => {
    const tokens = tokensWith(keys(OLD));
    const { token, expiresAtMs } = await tokens.mint(TERMS);
    const { deadlineAtMs: _, ...run } = TERMS;
    expect(await tokens.verify(token, 'runtime')).toEqual({
      ...run,
      tokenId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      audience: `${ISSUER}/v1/runtime`,
      scopes: ['runtime:tools', 'runtime:token'],
      issuedAtMs: NOW,
      expiresAtMs: NOW + LIFE_MS,
    });
    expect(expiresAtMs).toBe(NOW + LIFE_MS);
    expect(tokens.claimsToBe(token)).toBe(true);
  });

  it('is verified by anybody with the published keys, and names who acts for whom', async () => {
    const tokens = tokensWith(keys(OLD, YOUNG));
    const { token } = await tokens.mint({ ...TERMS, audience: 'https://tools.example' });
    const published = tokens.publicKeys() as unknown as JSONWebKeySet;
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(published), {
      issuer: ISSUER,
      audience: 'https://tools.example',
      currentDate: new Date(NOW),
    });
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'task+jwt', kid: 'old' });
    expect(payload).toMatchObject({
      sub: 'alice',
      act: { sub: 'rt-1', act: { sub: 'analyst' } },
      tenant: 'acme',
      scope: '',
    });
    expect(published.keys.map(({ kid, kty, d }) => [kid, kty, d])).toEqual([
      ['old', 'OKP', undefined],
      ['young', 'OKP', undefined],
    ]);
  });

  it('for a tool server is none for the runtime API', async () => {
    const tokens = tokensWith(keys(OLD));
    const { token } = await tokens.mint({ ...TERMS, audience: 'https://tools.example' });
    await expect(tokens.verify(token, 'runtime')).rejects.toEqual(refused);
    expect(await tokens.verify(token, 'any')).toMatchObject({ audience: 'https://tools.example', scopes: [] });
  });

  it('never outlives the deadline of its task', async () => {
    const tokens = tokensWith(keys(OLD));
    expect(await tokens.mint({ ...TERMS, deadlineAtMs: NOW + 10_000 })).toMatchObject({ expiresAtMs: NOW + 10_000 });
    await expect(tokens.mint({ ...TERMS, deadlineAtMs: NOW })).rejects.toEqual(refused);
  });

  it('is over when its time is, but for the difference of two clocks', async () => {
    const tokens = tokensWith(keys(OLD));
    const { token } = await tokens.mint(TERMS);
    nowMs = NOW + LIFE_MS + 4_000;
    await expect(tokens.verify(token, 'runtime')).resolves.toMatchObject({ taskId: 'task-1' });
    nowMs = NOW + LIFE_MS + 6_000;
    await expect(tokens.verify(token, 'runtime')).rejects.toEqual(refused);
  });

  it('of the key before is good until it expires while both are known, and of no use once that key is gone', async () => {
    const before = tokensWith(keys(OLD));
    const during = tokensWith(keys(YOUNG, OLD));
    const after = tokensWith(keys(YOUNG));
    const { token } = await before.mint(TERMS);
    const { token: next } = await during.mint(TERMS);
    await expect(during.verify(token, 'runtime')).resolves.toMatchObject({ runNo: 2 });
    await expect(after.verify(token, 'runtime')).rejects.toEqual(refused);
    await expect(after.verify(next, 'runtime')).resolves.toMatchObject({ runNo: 2 });
    nowMs += LIFE_MS + 10_000;
    await expect(during.verify(token, 'runtime')).rejects.toEqual(refused);
  });

  it('of another issuer is none, though the key is the same', async () => {
    const { token } = await tokensWith(keys(OLD), 'https://staging.example').mint(TERMS);
    await expect(tokensWith(keys(OLD)).verify(token, 'any')).rejects.toEqual(refused);
  });

  describe('is refused', () => {
    const own = keys(OLD);
    const tokens = tokensWith(own);
    const claims = {
      ...{ iss: ISSUER, aud: `${ISSUER}/v1/runtime`, sub: 'alice', jti: 'j', tenant: 'acme', task_id: 'task-1' },
      ...{ task_key: 'k', run_no: 2, agent_id: 'analyst', tools: ['*'], scope: 'runtime:tools', act: { sub: 'rt' } },
      ...{ iat: NOW / 1_000, nbf: NOW / 1_000, exp: NOW / 1_000 + 60 },
    };
    const header = { alg: 'EdDSA', typ: 'task+jwt', kid: 'old' };
    const sign = (head: object, body: object = claims, key = own[0].privateKey): Promise<string> =>
      new SignJWT({ ...body }).setProtectedHeader(head as typeof header).sign(key);
    const forger = generateKeyPairSync('ed25519');
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

    it('not as long as it is what we make', async () => {
      await expect(tokens.verify(await sign(header), 'runtime')).resolves.toMatchObject({ tools: ['*'] });
    });

    it.each([
      ['without a signature', () => new UnsecuredJWT(claims).encode()],
      ['with the algorithm none and our type', () => `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`],
      [
        'signed by HMAC with the public key',
        () => {
          const signed = `${encode({ ...header, alg: 'HS256' })}.${encode(claims)}`;
          const secret = own[0].publicKey.export({ format: 'pem', type: 'spki' });
          return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
        },
      ],
      ['of another type', () => sign({ ...header, typ: 'at+jwt' })],
      ['without a type', () => sign({ alg: 'EdDSA', kid: 'old' })],
      ['without a key id', () => sign({ alg: 'EdDSA', typ: 'task+jwt' })],
      ['with a key id that is a path', () => sign({ ...header, kid: '../../dev/null' })],
      ['with a key id every object has', () => sign({ ...header, kid: 'constructor' })],
      ['by a stranger under our key id', () => sign(header, claims, forger.privateKey)],
      [
        'that brings its own key',
        () => sign({ ...header, jwk: forger.publicKey.export({ format: 'jwk' }) }, claims, forger.privateKey),
      ],
      ['that says where its key is', () => sign({ ...header, jku: 'https://evil.example/jwks.json' })],
      ['with a certificate from elsewhere', () => sign({ ...header, x5u: 'https://evil.example/cert.pem' })],
      ['that lacks a claim', () => sign(header, { ...claims, jti: undefined })],
      ['whose tools are no list', () => sign(header, { ...claims, tools: 'summarise' })],
      ['whose run is no number', () => sign(header, { ...claims, run_no: '2' })],
      ['that is not valid yet', () => sign(header, { ...claims, nbf: NOW / 1_000 + 60 })],
      ['that is an API key', () => `swy_admin_${'a'.repeat(40)}`],
      ['that is very long', () => sign(header, { ...claims, tools: Array(20_000).fill('tool') })],
      [
        'whose claims were changed',
        async () => `${(await sign(header)).split('.')[0]}.${encode({ ...claims, run_no: 3 })}.x`,
      ],
    ] as const)('%s', async (_what, make) => {
      await expect(tokens.verify(await make(), 'runtime')).rejects.toEqual(refused);
    });
  });
});

describe('keys of task tokens', () => {
  it('are made once and found again, under a name that only they have', async () => {
    const kept = new Map<string, Uint8Array>();
    const store = {
      getOrCreate: async (name: string, make: () => Uint8Array) =>
        kept.get(name) ?? (kept.set(name, make()), kept.get(name)!),
    };
    const [first] = await tokenKeysFrom(undefined, () => store);
    const [again] = await tokenKeysFrom(undefined, () => store);
    expect([again.id, first.id]).toEqual([first.id, expect.stringMatching(/^[\w-]{16}$/)]);
    const tokens = [first, again].map((key) => tokensWith([key]));
    const { token } = await tokens[0]!.mint(TERMS);
    await expect(tokens[1]!.verify(token, 'runtime')).resolves.toMatchObject({ taskId: 'task-1' });
    await expect(importJWK({ ...tokens[0]!.publicKeys().keys[0] } as never)).resolves.toBeDefined();
  });

  it('are not asked for where they are configured', async () => {
    const own = keys(YOUNG);
    await expect(
      tokenKeysFrom(own, () => {
        throw new Error('asked');
      }),
    ).resolves.toBe(own);
  });

  it.each([
    ['nothing', ''],
    ['no key', 'k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['two keys of one id', `${keyText('k')},${keyText('k')}`],
    [
      'a key of another kind',
      `rsa:${generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')}`,
    ],
  ])('are not read from %s', (_what, text) => {
    expect(parseTokenKeys(text)).toBeUndefined();
  });
});
