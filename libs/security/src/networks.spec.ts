import { describe, expect, it } from '@jest/globals';
import { parseNetworks } from './networks.js';

describe('parseNetworks', () => {
  it('takes addresses and networks of both versions', () => {
    expect(parseNetworks('10.0.0.0/8, 192.0.2.1,fd00::/8,::1')).toEqual(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::1']);
  });

  it.each(['', 'loopback', '10.0.0.0/33', '10.0.0.0/', 'fe80::1%eth0', '::1/129', '10.0.0.1,', '10.0.0.0/8/8', 'a.b'])(
    'refuses %j',
    (text) => {
      expect(parseNetworks(text)).toBeUndefined();
    },
  );
});
