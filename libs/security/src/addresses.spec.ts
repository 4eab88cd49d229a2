import { describe, expect, it } from '@jest/globals';
import { isCoveredByName, isPublicAddress, parseRange } from './addresses.js';

describe('an address', () => {
  it.each([
    ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
    ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
    ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
    ['shared (CGNAT)', '100.64.0.1', '100.127.255.255'],
    ['link-local', '169.254.0.1', '169.254.169.254', '169.254.170.2', 'fe80::1', 'febf::1'],
    ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '192.0.0.1', '240.0.0.1', '254.255.255.255', '2001:1::1', '5f00::1', '4000::1', 'e000::1'],
    ['documentation', '192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
    ['benchmarking', '198.18.0.1', '198.19.255.255', '2001:2::1'],
    ['relays and sinks', '192.88.99.1', '192.31.196.1', '192.52.193.1', '192.175.48.1', '2620:4f:8000::1', '100::1'],
    ['identifiers', '2001:10::1', '2001:20::1', '2001:30::1'],
    ['unique local', 'fc00::1', 'fd00::1', 'fdff:ffff::1'],
    ['site-local', 'fec0::1', 'feff::1'],
    ['IPv4-mapped', '::ffff:10.0.0.1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:a00:1'],
    ['IPv4-compatible', '::10.0.0.1', '::127.0.0.1', '::8.8.8.8'],
    ['IPv4-translated', '::ffff:0:10.0.0.1', '::ffff:0:808:808'],
    ['NAT64', '64:ff9b::10.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::a00:1', '64:ff9b:1:ffff::1'],
    ['6to4', '2002:a00:1::', '2002:7f00:1::1', '2002:808:808::1'],
    ['Teredo', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['metadata of clouds', '168.63.129.16', '100.100.100.200', '192.0.0.192', '161.26.0.10', '166.9.1.1'],
    ['metadata of clouds, IPv6', 'fd00:ec2::254', 'fd20:ce::254', 'fd00:42::42'],
    ['no address', '', '8.8.8', '010.8.8.8', '0x8.8.8.8', '134744072', '2606:4700::1111%eth0', 'example.org'],
  ])('that is %s is not public', (_, ...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });

  it.each(['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '100.63.0.1', '192.0.1.1', '223.255.255.254'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each(['2606:4700:4700::1111', '2a00:1450::1', '2001:4860:4860::8888', '2003::1', '2400::1'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it('is covered by the rule of a name when it is that of a host, and not of what answers for the machinery', () => {
    const hosts = ['10.0.0.1', '127.0.0.1', '::1', 'fd12::1', '100.64.0.1', '8.8.8.8'];
    const others = ['169.254.169.254', '100.100.100.200', 'fe80::1', '0.0.0.0', '::', 'fd00:ec2::254', '168.63.129.16'];
    expect([...hosts, ...others, '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe'].filter(isCoveredByName)).toEqual(
      hosts,
    );
  });
});

describe('a range', () => {
  it.each(['10.1.0.0/16', '127.0.0.1', '[fd00::]/8', '[::1]'])('is read from %s', (text) => {
    expect(parseRange(text)).toBeDefined();
  });

  it.each(['10.1.0.0/33', '10.1', '10.1.0.0/', '256.1.1.1', '::1', '[::1]/129', '[::g]', '[10.0.0.1]', '010.0.0.1/8'])(
    'is not read from %j',
    (text) => {
      expect(parseRange(text)).toBeUndefined();
    },
  );
});
