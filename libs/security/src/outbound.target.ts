import { OutboundError, type OutboundPurpose } from '#lib/domain';
import { isIP } from 'node:net';
import { isPublicAddress } from './addresses.js';
import { admits, type Destination, type OutboundPolicy } from './outbound.rules.js';

/** A URL whose form is right. */
export interface Target extends Destination {
  readonly url: URL;
}

/** The addresses of a name; rejects when it has none. */
export type Resolve = (host: string) => Promise<readonly string[]>;

const MAX_URL_LENGTH = 8_192;
/** Blanks and control characters, which a URL parser drops or encodes without a word, and the backslash it takes for a slash. */
const UNCLEAR = /[\p{Cc}\p{Cs}\s\\]/u;

/**
 * Reads a URL as the standard says (WHATWG): numbers in any base, percent-encoded hosts and names in other scripts all come
 * out in one form, which is the one that is checked.
 * @throws OutboundError `refused`
 */
export function readTarget(text: string, purpose: OutboundPurpose): Target {
  const url = readUrl(text);
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  if (host === '' || host.endsWith('.') || host.includes('%')) throw refused('The URL names no host.');
  return { url, purpose, host, port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)) };
}

function readUrl(text: string): URL {
  const url = text.length <= MAX_URL_LENGTH && !UNCLEAR.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (!url) throw refused('The URL cannot be read.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused('The URL must begin with https://.');
  if (url.username !== '' || url.password !== '') throw refused('The URL may not hold a user name or a password.');
  return url;
}

/**
 * The addresses a request may be sent to: all that the host has, or none.
 * @throws OutboundError `refused` when one of them is not allowed, `unavailable` when there is none
 */
export async function resolveTarget(
  target: Target,
  policy: OutboundPolicy,
  resolve: Resolve,
): Promise<readonly [string, ...string[]]> {
  const [first, ...others] = isIP(target.host) ? [target.host] : await addressesOf(target.host, resolve);
  if (first === undefined) throw unresolved();
  const addresses = [first, ...others] as const;
  // All of them: a name with one public and one private address would otherwise be a matter of luck.
  if (!addresses.every((address) => isAllowed(target, policy, address))) {
    throw refused('Requests may not go to this host, port or scheme.');
  }
  return addresses;
}

async function addressesOf(host: string, resolve: Resolve): Promise<readonly string[]> {
  return resolve(host).catch((cause: unknown) => {
    throw unresolved(cause);
  });
}

function isAllowed(target: Target, { rules, allowPublic }: OutboundPolicy, address: string): boolean {
  if (allowPublic && isOrdinary(target) && isPublicAddress(address)) return true;
  return rules.some((rule) => admits(rule, target, address));
}

/** Below 1024 only 443: mail servers and the like take a request for commands. */
function isOrdinary({ url, port }: Target): boolean {
  return url.protocol === 'https:' && (port === 443 || port >= 1_024);
}

function refused(message: string): OutboundError {
  return new OutboundError('refused', message, 'none');
}

function unresolved(cause?: unknown): OutboundError {
  return new OutboundError('unavailable', 'The host has no address.', 'none', { cause });
}
