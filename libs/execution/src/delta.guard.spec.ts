import { describe, expect, it } from '@jest/globals';
import type { EventBody } from '#lib/domain';
import { DeltaGuard } from './delta.guard.js';

const R = '[redacted]';
const KEY = `swy_a1_${'x_-9'.repeat(8)}`;
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${'MIGHAgEAMBMGByqGSM49AgEG\n'.repeat(20)}-----END RSA PRIVATE KEY-----`;

const delta = (text: string, message_id = 'm'): EventBody => ({ type: 'message.delta', payload: { message_id, text } });
const completed = (message_id = 'm'): EventBody => ({
  type: 'message.completed',
  payload: { message_id, role: 'assistant', text: '' },
});
const textsOf = (bodies: readonly EventBody[]): string[] =>
  bodies.flatMap(({ type, payload }) => (type === 'message.delta' ? [(payload as { text: string }).text] : []));

/** What is stored of a text that comes in pieces of this size. */
function passed(text: string, size: number): string[] {
  const guard = new DeltaGuard();
  const bodies: EventBody[] = [];
  for (let at = 0; at < text.length; at += size) bodies.push(...guard.admit(delta(text.slice(at, at + size))));
  bodies.push(...guard.admit(completed()));
  expect(guard.rest()).toEqual([]);
  return textsOf(bodies);
}

describe('a text that comes in pieces', () => {
  it.each([1, 2, 3, 5, 7, 11, 16, 40, 1_000])('has its secrets taken out, in pieces of %i', (size) => {
    const text = `The key is ${KEY}, the header "Authorization: Bearer abcdefghijklmnop12345" and\n${PEM}\nthat is all.`;
    const stored = passed(text, size).join('');
    expect(stored).not.toContain('x_-9x_-9');
    expect(stored).not.toContain('ijklmnop');
    expect(stored).not.toContain('MIGHAg');
    expect(stored).toMatch(/^The key is .{0,4}\[redacted\], the header "/s);
    expect(stored).toMatch(/\nthat is all\.$/);
  });

  it.each([1, 3, 7, 50])('is stored as it is when it only looks like one for a while, in pieces of %i', (size) => {
    const text = `A risk-free sk-ill, an eyJ and a swy_ are no secrets; bearer of news, key: none, token= ${'word '.repeat(9)}sk-`;
    expect(passed(text, size).join('')).toBe(text);
  });

  it('is handed on as it comes while nothing in it looks like a secret', () => {
    const words = ['Hello', ' wor', 'ld', '', '! ', '你好', '，世界'];
    const guard = new DeltaGuard();
    const bodies = words.map((word) => delta(word));
    expect(bodies.map((body) => guard.admit(body))).toEqual(bodies.map((body) => [body]));
    expect(guard.admit(bodies[0]!)[0]).toBe(bodies[0]);
  });

  it('is told from another that comes between', () => {
    const guard = new DeltaGuard();
    const [head, tail] = [KEY.slice(0, 20), KEY.slice(20)];
    expect(textsOf(guard.admit(delta(`a ${head}`, 'm1')))).toEqual(['a ']);
    expect(textsOf(guard.admit(delta(`b ${head}`, 'm2')))).toEqual(['b ']);
    expect(textsOf(guard.admit(delta(`${tail} c`, 'm1')))).toEqual([`${R} c`]);
    expect(textsOf(guard.admit(completed('m2')))).toEqual([head]);
    expect(guard.rest()).toEqual([]);
  });

  it('that never ends is held back for so long only', () => {
    const guard = new DeltaGuard();
    const stored = Array.from({ length: 100 }, (_, n) =>
      textsOf(guard.admit(delta(`${n === 0 ? 'swy_a_' : ''}${'x'.repeat(200)}`))),
    );
    const text = stored.flat().join('');
    expect(text).toContain(R);
    expect(text.length).toBeLessThan(20_000);
  });

  it('gives up what is left when the run ends', () => {
    const guard = new DeltaGuard();
    guard.admit(delta(`x ${KEY}`));
    expect(textsOf(guard.rest())).toEqual([R]);
  });
});
