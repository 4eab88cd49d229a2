import { describe, expect, it } from '@jest/globals';
import { parseOutboundRules } from './outbound.rules.js';
import { readTarget, type Resolve, resolveTarget } from './outbound.target.js';

const PUBLIC = ['93.184.215.14'];
/** Knows every name, at one public address unless told otherwise. */
const names =
  (table: Readonly<Record<string, readonly string[]>> = {}): Resolve =>
  async (host) =>
    table[host] ?? PUBLIC;

async function verdict(url: string, { rules = '', resolve = names(), allowPublic = true } = {}): Promise<unknown> {
  const policy = { rules: rules === '' ? [] : parseOutboundRules(rules)!, allowPublic };
  try {
    return await resolveTarget(readTarget(url, 'webhook'), policy, resolve);
  } catch (error) {
    const { name, code, effects } = error as { name: string; code: string; effects: string };
    return name === 'OutboundError' ? `${code}, ${effects}` : error;
  }
}

describe('a destination', () => {
  it.each(['https://example.org', 'https://example.org./a?b', 'https://example.org:8443/', 'HTTPS://EXAMPLE.ORG/#x'])(
    '%s is allowed, at the addresses of its host',
    async (url) => {
      expect(await verdict(url)).toEqual(PUBLIC);
    },
  );

  it.each([
    ['plain HTTP', 'http://example.org/'],
    ['another scheme', 'ftp://example.org/'],
    ['a file', 'file:///etc/passwd'],
    ['a script', 'javascript:alert(1)'],
    ['inline data', 'data:text/plain,x'],
    ['a user name', 'https://user@example.org/'],
    ['a password', 'https://:pass@example.org/'],
    ['a host in the user name', 'https://example.org@127.0.0.1/'],
    ['the port of a mail server', 'https://example.org:25/'],
    ['the port of plain HTTP', 'https://example.org:80/'],
    ['no host', 'https:///'],
    ['a relative path', '/hook'],
    ['a blank', 'https://example.org /'],
    ['a line break', 'https://exam\nple.org/'],
    ['a backslash', 'https:\\\\example.org\\'],
    ['a NUL', 'https://example.org\0/'],
    ['half a character', 'https://example.org/\ud800'],
    ['only dots', 'https://../'],
    ['a dot too many', 'https://example.org../'],
    ['too much', `https://example.org/${'x'.repeat(8_200)}`],
  ])('with %s is refused', async (_, url) => {
    expect(await verdict(url)).toBe('refused, none');
  });

  it.each([
    ...[
      '127.0.0.1',
      '127.1',
      '127.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '0177.0.0.1',
      '017700000001',
      '0',
      '0.0.0.0',
    ],
    ...[
      '127.0.0.1.',
      '%31%32%37.0.0.1',
      '127%2e0%2e0%2e1',
      '127。0。0。1',
      '①②⑦.⓪.⓪.①',
      '１２７.0.0.1',
      '0x7f.0.0x0.1',
    ],
    ...['169.254.169.254', '2852039166', '0xa9fea9fe', '0xa9.0xfe.0xa9.0xfe', '0251.0376.0251.0376', '169.254.43518'],
    ...['10.0.0.1', '012.1', '100.64.0.1', '192.168.1.1', '172.16.0.1', '255.255.255.255', '224.0.0.1', '198.18.0.1'],
    ...[
      '[::1]',
      '[::]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:10.0.0.1]',
      '[::ffff:a00:1]',
      '[0:0:0:0:0:ffff:7f00:1]',
      '[::127.0.0.1]',
    ],
    ...['[fe80::1]', '[fe80::1%25eth0]', '[fe80::1%eth0]', '[fc00::1]', '[fd00:ec2::254]', '[fec0::1]', '[ff02::1]'],
    ...[
      '[64:ff9b::7f00:1]',
      '[64:ff9b:1::a00:1]',
      '[2002:7f00:1::]',
      '[2001::1]',
      '[2001:db8::1]',
      '[::ffff:0:7f00:1]',
    ],
    ...['127.0.0.1:443', '127.0.0.1:8443', '256.256.256.256', '1.2.3.4.5', '0x100000000'],
  ])('https://%s/ is refused, and no resolver is asked', async (host) => {
    const resolve: Resolve = async () => Promise.reject(new Error(`asked for ${host}`));
    expect(await verdict(`https://${host}/`, { resolve })).toBe('refused, none');
  });

  it.each([
    ['a private address', ['10.0.0.1']],
    ['a metadata service', ['169.254.169.254']],
    ['a public and a private address', ['93.184.215.14', '10.0.0.1']],
    ['a private address in IPv6', ['::ffff:10.0.0.1']],
    ['a zone', ['fe80::1%eth0']],
    ['nonsense', ['nonsense']],
  ])('is refused when its public name resolves to %s', async (_, addresses) => {
    expect(await verdict('https://evil.example/', { resolve: names({ 'evil.example': addresses }) })).toBe(
      'refused, none',
    );
  });

  it('is unavailable when its name has no address', async () => {
    expect(await verdict('https://gone.example/', { resolve: names({ 'gone.example': [] }) })).toBe(
      'unavailable, none',
    );
    const resolve: Resolve = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    expect(await verdict('https://gone.example/', { resolve })).toBe('unavailable, none');
  });

  it('is asked for under the one name its spellings come to', async () => {
    const asked: string[] = [];
    const resolve: Resolve = async (host) => (asked.push(host), PUBLIC);
    for (const host of ['BÜCHER.example', 'xn--bcher-kva.example.', 'b%C3%BCcher.example']) {
      await verdict(`https://${host}/`, { resolve });
    }
    expect(asked).toEqual(Array(3).fill('xn--bcher-kva.example'));
  });

  it('that is private is allowed by a rule, with plain HTTP as well', async () => {
    const rules = 'webhook=hooks.internal:8080,*=127.0.0.1:9000';
    const resolve = names({ 'hooks.internal': ['10.0.0.7'], 'other.internal': ['10.0.0.7'] });
    expect(await verdict('http://hooks.internal:8080/', { rules, resolve })).toEqual(['10.0.0.7']);
    expect(await verdict('http://HOOKS.internal.:8080/', { rules, resolve })).toEqual(['10.0.0.7']);
    expect(await verdict('http://hooks.internal/', { rules, resolve })).toBe('refused, none');
    expect(await verdict('https://other.internal:8080/', { rules, resolve })).toBe('refused, none');
    expect(await verdict('http://0x7f.1:9000/', { rules, resolve })).toEqual(['127.0.0.1']);
  });

  it('that is public is refused where only rules count', async () => {
    expect(await verdict('https://example.org/', { allowPublic: false })).toBe('refused, none');
    const rules = '*=example.org:443';
    expect(await verdict('https://example.org/', { allowPublic: false, rules })).toEqual(PUBLIC);
  });
});
