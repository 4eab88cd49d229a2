import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type BoxKey, parseBoxKeys, SecretBox, secretBoxFrom } from './secret-box.js';
import { WebhookSigner } from './webhook-signer.js';

const key = (id: string): BoxKey => ({ id, secret: randomBytes(32) });
const MESSAGE = { id: 'evt_1', atMs: Date.now(), body: '{"type":"task.succeeded","data":{"text":"größer 🎉"}}' };

describe('a signed message', () => {
  const signer = new WebhookSigner(new SecretBox([key('a')]));

  it('is taken by an independent verifier that knows one of its secrets, and by no other', () => {
    const [first, second, other] = ['x', 'x', 'x'].map((purpose) => signer.mint(purpose));
    const headers = { ...signer.headers(MESSAGE, [second!.sealed, first!.sealed], 'x') };
    for (const { shown } of [first!, second!]) {
      expect(new Webhook(shown).verify(MESSAGE.body, headers)).toEqual(JSON.parse(MESSAGE.body));
    }
    expect(() => new Webhook(other!.shown).verify(MESSAGE.body, headers)).toThrow('No matching signature');
  });

  it('is refused by that verifier once it is old, from the future, changed or renamed', () => {
    const { shown, sealed } = signer.mint('x');
    const verify = (change: Partial<typeof MESSAGE>, text = MESSAGE.body): unknown =>
      new Webhook(shown).verify(text, { ...signer.headers({ ...MESSAGE, ...change }, [sealed], 'x') });
    expect(verify({})).toEqual(JSON.parse(MESSAGE.body));
    expect(() => verify({ atMs: MESSAGE.atMs - 301_000 })).toThrow('too old');
    expect(() => verify({ atMs: MESSAGE.atMs + 301_000 })).toThrow('too new');
    expect(() => verify({}, `${MESSAGE.body} `)).toThrow('No matching signature');
    const headers = { ...signer.headers(MESSAGE, [sealed], 'x'), 'webhook-id': 'evt_2' };
    expect(() => new Webhook(shown).verify(MESSAGE.body, headers)).toThrow('No matching signature');
  });

  it('cannot be made with a secret of something else', () => {
    const { sealed } = signer.mint('webhook a');
    expect(() => signer.headers(MESSAGE, [sealed], 'webhook b')).toThrow('something else');
  });
});

describe('a sealed secret', () => {
  it('holds nothing of the secret, and differs each time', () => {
    const box = new SecretBox([key('a')]);
    const secret = Buffer.from('a secret of thirty-two characters');
    const [one, two] = [box.seal(secret, 'x'), box.seal(secret, 'x')].map((sealed) => Buffer.from(sealed));
    expect(one!.equals(two!)).toBe(false);
    expect(one!.includes(secret.subarray(0, 4))).toBe(false);
    expect(box.open(one!, 'x')).toEqual(secret);
  });

  it('is read with its own key after another one has come in front, and not without it', () => {
    const [old, next] = [key('old'), key('next')];
    const sealed = new SecretBox([old]).seal(Buffer.from('s'), 'x');
    expect(new SecretBox([next, old]).open(sealed, 'x')).toEqual(Buffer.from('s'));
    expect(() => new SecretBox([next]).open(sealed, 'x')).toThrow('not there');
  });

  it('that was changed in any byte is refused', () => {
    const box = new SecretBox([key('a')]);
    const sealed = box.seal(Buffer.from('secret'), 'x');
    for (let n = 0; n < sealed.length; n += 1) {
      const changed = Buffer.from(sealed);
      changed[n]! ^= 1;
      expect(() => box.open(changed, 'x')).toThrow(expect.objectContaining({ name: 'UnreadableSecretError' }));
    }
    expect(() => box.open(Buffer.alloc(0), 'x')).toThrow(expect.objectContaining({ name: 'UnreadableSecretError' }));
  });

  it('made before there was a key in the configuration stays readable', async () => {
    const stored = randomBytes(32);
    const secrets = { getOrCreate: async () => stored };
    const sealed = (await secretBoxFrom(undefined, secrets)).seal(Buffer.from('s'), 'x');
    const box = await secretBoxFrom([key('a')], secrets);
    expect(box.open(sealed, 'x')).toEqual(Buffer.from('s'));
    expect(
      Buffer.from(box.seal(Buffer.from('s'), 'x'))
        .subarray(1, 2)
        .toString(),
    ).toBe('a');
  });
});

describe('WEBHOOK_KEYS', () => {
  const secret = randomBytes(32).toString('base64');

  it('are named keys of 32 bytes, none of them called like the one in the database', () => {
    expect(parseBoxKeys(`a:${secret},b:${secret}`)?.map(({ id }) => id)).toEqual(['a', 'b']);
    for (const text of [
      '',
      'a',
      `a:${secret},a:${secret}`,
      `a:${randomBytes(16).toString('base64')}`,
      `db:${secret}`,
    ]) {
      expect([text, parseBoxKeys(text)]).toEqual([text, undefined]);
    }
  });
});
