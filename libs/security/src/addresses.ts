import ipaddr from 'ipaddr.js';

/** An address range: `10.0.0.0/8`. */
export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Public by their number, but answered by the machinery of a cloud: its metadata (Azure) or its services for tenants (IBM).
 * Those of other clouds lie in link-local, unique local, shared (100.64.0.0/10) or reserved ranges.
 */
const CLOUD_RANGES = rangesOf('168.63.129.16/32', '161.26.0.0/16', '166.8.0.0/14');
/** RFC 4291, section 2.4, and IANA: every global unicast address there is lies in here. */
const GLOBAL_UNICAST = rangeOf('2000::/3');

/** What the rule of a name never covers, only that of an address: metadata services, and what is no single host. */
const NEVER_BY_NAME = rangesOf(
  ...['0.0.0.0/8', '169.254.0.0/16', '100.100.100.200/32', '192.0.0.192/32', '168.63.129.16/32', '224.0.0.0/3'],
  ...['::/128', 'fe80::/10', 'fec0::/10', 'ff00::/8', 'fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:42::42/128'],
  ...['::ffff:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32'],
);

/** True for an address of the public internet and of nothing else. Anything unknown is not. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address === undefined || address.range() !== 'unicast' || isIn(address, CLOUD_RANGES)) return false;
  return address.kind() === 'ipv4' || isIn(address, [GLOBAL_UNICAST]);
}

/** True when a rule that names a host also covers this address of it. */
export function isCoveredByName(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && !isIn(address, NEVER_BY_NAME);
}

/** True for an address in the range; IPv4 written as IPv6 is in no range of IPv4. */
export function isInRange(text: string, range: AddressRange): boolean {
  const address = parseAddress(text);
  return address !== undefined && isIn(address, [range]);
}

/** `10.1.0.0/16`, `[fd00::]/8`, `127.0.0.1`, `[::1]`; undefined when the text is none. */
export function parseRange(text: string): AddressRange | undefined {
  const [, v6, v4, bits] = /^(?:\[([0-9a-f:.]+)\]|(\d+(?:\.\d+){3}))(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const address = v6 ?? v4;
  if (address === undefined) return undefined;
  const cidr = `${address}/${bits ?? (v6 === undefined ? '32' : '128')}`;
  const isValid = v6 === undefined ? ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr) : ipaddr.IPv6.isValidCIDR(cidr);
  return isValid ? rangeOf(cidr) : undefined;
}

/** No zone and no short or octal form: those are not what a resolver or a URL gives. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return ipaddr.IPv6.isValid(text) && !text.includes('%') ? ipaddr.IPv6.parse(text) : undefined;
}

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
}

function rangeOf(cidr: string): AddressRange {
  return ipaddr.parseCIDR(cidr);
}

function rangesOf(...cidrs: readonly string[]): readonly AddressRange[] {
  return cidrs.map(rangeOf);
}
