import { describe, expect, it } from '@jest/globals';
import { formatApiKey, hashSecret, isSecretOf, mintApiKey, parseApiKey } from './api-key.js';

describe('an API key', () => {
  it('is minted in the form it is parsed from, and never twice', () => {
    const key = mintApiKey();
    expect(parseApiKey(formatApiKey(key))).toEqual(key);
    expect(mintApiKey()).not.toEqual(key);
  });

  it.each([
    'swy__' + 's'.repeat(32),
    'swy_ID_' + 's'.repeat(32),
    `swy_${'a'.repeat(33)}_${'s'.repeat(32)}`,
    'swy_id_' + 's'.repeat(31),
    'swy_id_' + 's'.repeat(31) + ' ',
    'swy_id_' + 's'.repeat(257),
    'key_id_' + 's'.repeat(32),
    'eyJhbGciOiJIUzI1NiJ9.e30.x',
  ])('is not %j', (text) => {
    expect(parseApiKey(text)).toBeUndefined();
  });

  it('takes a secret that holds an underscore', () => {
    expect(parseApiKey(`swy_a1_${'x_'.repeat(16)}`)).toEqual({ id: 'a1', secret: 'x_'.repeat(16) });
  });

  it('knows its secret by the hash, and no other', () => {
    const hash = hashSecret('secret');
    expect([isSecretOf('secret', hash), isSecretOf('Secret', hash), isSecretOf('secret', new Uint8Array(3))]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
