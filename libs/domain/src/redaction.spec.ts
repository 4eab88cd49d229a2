import { describe, expect, it } from '@jest/globals';
import { redactFields, redactSecrets, redactValue } from './redaction.js';

const R = '[redacted]';
const HEX = '0123456789abcdef0123456789abcdef';
const JWT = `eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.${'s'.repeat(86)}`;
const PEM = `-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEH\nBG0wawIBAQQg\n-----END PRIVATE KEY-----`;

const SECRETS: readonly (readonly [string, string])[] = [
  ['a key of ours', `swy_a1_${'x_-9'.repeat(8)}`],
  ['a JWT', JWT],
  ['a JWT that is cut off', JWT.slice(0, 40)],
  ['a private key', PEM],
  ['a private key of another kind', PEM.replaceAll('PRIVATE', 'RSA PRIVATE')],
  ['an access key of AWS', 'AKIAIOSFODNN7EXAMPLE'],
  ['a key of Google', `AIza${'Sy0'.repeat(12)}`],
  ['a token of GitHub', `ghp_${'a1B2'.repeat(9)}`],
  ['a fine-grained token of GitHub', `github_pat_11AAAA_${'b2C3'.repeat(9)}`],
  ['a token of GitLab', 'glpat-abcdefghij0123456789'],
  ['a token of Slack', 'xoxb-123456789012-abcdefABCDEF'],
  ['a hook of Slack', 'https://hooks.slack.com/services/T0000/B0000/XXXX1111'],
  ['a key of OpenAI', `sk-proj-${'Ab1_'.repeat(10)}`],
  ['a key of Anthropic', `sk-ant-api03-${'Ab1-'.repeat(10)}`],
  ['a key of Stripe', `sk_live_${'a1B2'.repeat(6)}`],
  ['a webhook secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ['a token of npm', `npm_${'a1B2'.repeat(9)}`],
  ['a token of Hugging Face', `hf_${'a1B2'.repeat(9)}`],
  ['a key of SendGrid', `SG.${'a1'.repeat(11)}.${'b2'.repeat(20)}`],
];

describe('redaction', () => {
  it.each(SECRETS)('takes %s out, wherever it stands, in text and in JSON text', (_, secret) => {
    expect(redactSecrets(secret)).toBe(R);
    expect(redactSecrets(`before ${secret} after`)).toBe(`before ${R} after`);
    expect(redactSecrets(`(${secret}), "${secret}"`)).toBe(`(${R}), "${R}"`);
    const json = redactSecrets(JSON.stringify({ text: `before ${secret}\nafter`, other: 1 }));
    expect(JSON.parse(json)).toMatchObject({ text: expect.stringMatching(/^before \[redacted\]/), other: 1 });
    expect(json).not.toContain(secret.slice(8, 24));
  });

  it.each([
    ['Authorization: Bearer abcdefghijklmnop1', `Authorization: Bearer ${R}`],
    ['authorization: basic dXNlcjpwYXNzd29yZDE=', `authorization: basic ${R}`],
    ['postgres://app:s3cret@db:5432/x', `postgres://app:${R}@db:5432/x`],
    [`https://${HEX}@host.example/`, `https://${R}@host.example/`],
    [`/v1/artifacts/art_${HEX}/content?exp=1&sig=db.${HEX}`, `/v1/artifacts/art_${HEX}/content?exp=1&sig=${R}`],
    [
      `https://b.s3.amazonaws.com/k?X-Amz-Signature=${HEX}&x=1`,
      `https://b.s3.amazonaws.com/k?X-Amz-Signature=${R}&x=1`,
    ],
    [`aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`, `aws_secret_access_key = ${R}`],
    [`{"api_key": "${HEX}"}`, `{"api_key": "${R}"}`],
    [JSON.stringify(`{"api_key":"${HEX}"}`), JSON.stringify(`{"api_key":"${R}"}`)],
    [`MODEL_API_KEY=${HEX}\nX=1`, `MODEL_API_KEY=${R}\nX=1`],
    [`AccountKey=${HEX}==;x`, `AccountKey=${R};x`],
  ])('takes the secret out of %j and leaves the rest', (text, expected) => {
    expect(redactSecrets(text)).toBe(expected);
  });

  it.each([
    'The quick brown fox jumps over the lazy dog.',
    `msg_${HEX} evt_${HEX} art_${HEX} task-0199aa00-bb11-7c22-8d33-ee44ff556677`,
    'A risk-assessment-of-2024-and-later, a desk-top-0123456789-computer, ask-me-0123456789-anything',
    'Bearer of bad news; basic internationalization; the password must have eight characters',
    'token: the-smallest-unit-of-a-text; key=value; secret: keep-it-to-yourself-please',
    `sha256 ${HEX}${HEX}`,
    'https://example.org/a/very/long/path/without/any/secret?page=2&sort=created_at_desc',
    'ssh://git@github.com/owner/repository.git, mailto:somebody.important@example.org',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk',
    '-----BEGIN CERTIFICATE-----\nMIIBmDCCAT6gAwIBAgIUCozJbIGWKJaDRmoeytlw6v5Z\n-----END CERTIFICATE-----',
    '你好，世界：这是一个没有秘密的句子，它很长很长很长很长。',
  ])('leaves %j alone', (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it('finds a secret at every place in a text', () => {
    const [, key] = SECRETS[0]!;
    for (let before = 0; before < 64; before++) {
      const text = `${'word '.repeat(20).slice(0, before)} ${key}`;
      expect(redactSecrets(text)).toBe(`${'word '.repeat(20).slice(0, before)} ${R}`);
    }
  });

  it.each([
    '-----BEGIN PRIVATE KEY-----'.repeat(600),
    '://a:'.repeat(3_000),
    'eyJ'.repeat(5_000),
    'bearer '.repeat(2_000),
    `${'a-'.repeat(7_500)}key`,
    `key=${'a'.repeat(15_000)}`,
    'swy_a_'.repeat(2_500),
    `sk-${'a'.repeat(15_000)}`,
  ])('takes no more than a moment for 15,000 characters made to take long (%#)', (text) => {
    const startedMs = performance.now();
    redactSecrets(`AKIAIOSFODNN7EXAMPLE ${text}`);
    expect(performance.now() - startedMs).toBeLessThan(250);
  });

  it('goes through a value, its names, and members that are secret by name', () => {
    const [, key] = SECRETS[0]!;
    const value = { a: [{ password: 'x', pin: 1 }, key], [key]: 1, 'X-Api-Key': 'y', api_key: { type: 'string' } };
    expect(redactValue(value)).toEqual({
      a: [{ password: R, pin: 1 }, R],
      [R]: 1,
      'X-Api-Key': R,
      api_key: { type: 'string' },
    });
  });

  it('gives back a value without secrets as it is', () => {
    const value = { a: [{ b: 'c' }], password: '', secret: null };
    expect(redactValue(value)).toBe(value);
    expect(redactFields(value, ['/x', '/a/5', '/a/0/b/c'])).toBe(value);
  });

  it('takes out the fields that pointers name', () => {
    const args = { user: 'u', pin: 1, 'a/b': { '~': 2 }, list: [{ s: 1, t: 2 }, { s: 3 }], map: { x: { s: 1 } } };
    expect(redactFields(args, ['/pin', '/a~1b/~0', '/list/*/s', '/map/*/s', '/list/0/t', '/none'])).toEqual({
      user: 'u',
      pin: R,
      'a/b': { '~': R },
      list: [{ s: R, t: R }, { s: R }],
      map: { x: { s: R } },
    });
    expect(redactFields('all of it', [''])).toBe(R);
    expect(args.pin).toBe(1);
  });
});
