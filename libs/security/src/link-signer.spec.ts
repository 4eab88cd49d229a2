import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type LinkKey, LinkSigner, parseLinkKeys } from './link-signer.js';

const old: LinkKey = { id: 'old', secret: Buffer.alloc(32, 1) };
const young: LinkKey = { id: 'young', secret: Buffer.alloc(32, 2) };
const request = { method: 'GET', path: '/v1/artifacts/art_1/content', exp: '1000' };
const NOW = 999_999;

describe('LinkSigner', () => {
  it('signs method, path and expiry with the first key', () => {
    const own = createHmac('sha256', young.secret).update('GET\n/v1/artifacts/art_1/content\n1000').digest('base64url');
    expect(new LinkSigner([young, old]).sign(request)).toBe(`young.${own}`);
  });

  it('verifies with every key it has', () => {
    const sig = new LinkSigner([old]).sign(request);
    expect(new LinkSigner([young, old]).verify(request, sig, NOW)).toBe(true);
    expect(new LinkSigner([young]).verify(request, sig, NOW)).toBe(false);
  });

  it('refuses a link the moment it expires', () => {
    const signer = new LinkSigner([old]);
    expect(signer.verify(request, signer.sign(request), 1_000_000)).toBe(false);
  });

  it.each([
    { ...request, method: 'POST' },
    { ...request, path: '/v1/artifacts/art_2/content' },
    { ...request, exp: '1001' },
    { ...request, exp: '1000 ' },
    { ...request, exp: '1e99' },
  ])('refuses a link that was changed: %j', (changed) => {
    const signer = new LinkSigner([old]);
    expect(signer.verify(changed, signer.sign(request), NOW)).toBe(false);
  });

  it('refuses another spelling of the same signature', () => {
    const sig = new LinkSigner([old]).sign(request);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const other = sig.slice(0, -1) + alphabet[alphabet.indexOf(sig.at(-1)!) ^ 1];
    expect(Buffer.from(other.slice(4), 'base64url')).toEqual(Buffer.from(sig.slice(4), 'base64url'));
    expect([`${sig}=`, other].map((each) => new LinkSigner([old]).verify(request, each, NOW))).toEqual([false, false]);
  });

  it.each(['', '.', 'old', 'old.', 'old.AAAA', 'unknown.AAAA'])('refuses the signature %j', (sig) => {
    expect(new LinkSigner([old]).verify(request, sig, NOW)).toBe(false);
  });
});

describe('parseLinkKeys', () => {
  it('reads keys in order', () => {
    const [a, b] = [Buffer.alloc(16, 7), Buffer.alloc(32, 8)];
    expect(parseLinkKeys(`k2:${a.toString('base64')}, k1:${b.toString('base64')}`)).toEqual([
      { id: 'k2', secret: a },
      { id: 'k1', secret: b },
    ]);
  });

  it.each(['', 'k1', 'k1:', 'k1:c2hvcnQ=', ':AAAAAAAAAAAAAAAAAAAAAA==', 'k.1:AAAAAAAAAAAAAAAAAAAAAA=='])(
    'refuses %j',
    (text) => {
      expect(parseLinkKeys(text)).toBeUndefined();
    },
  );

  it('refuses two keys of one id', () => {
    expect(parseLinkKeys('a:AAAAAAAAAAAAAAAAAAAAAA==,a:BBBBBBBBBBBBBBBBBBBBBB==')).toBeUndefined();
  });
});
