import { OUTBOUND_PURPOSES, type OutboundPurpose } from '#lib/domain';
import { oneOf, type SettingValues } from '#lib/platform';
import { type AddressRange, isCoveredByName, isInRange, parseRange } from './addresses.js';

/** A destination that requests may go to though it is not public, speaks plain HTTP or has another port. */
export interface OutboundRule {
  readonly purposes: readonly OutboundPurpose[];
  /** A range of addresses, or a name; one that begins with a dot stands for all below it. */
  readonly destination: AddressRange | string;
  /** Undefined: every port. */
  readonly port: number | undefined;
}

/** Where one request would go. */
export interface Destination {
  readonly purpose: OutboundPurpose;
  /** In lower case, without a dot at its end; an address as it was resolved, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `tool=10.1.0.0/16,webhook|agent=hooks.internal:8443,*=127.0.0.1:9000,mcp=*.tools.internal,*=[fd12::]/16`. Undefined when the text is none. */
export function parseOutboundRules(text: string): readonly OutboundRule[] | undefined {
  const rules = text.split(',').map((part) => parseRule(part.trim()));
  return rules.every((rule) => rule !== undefined) ? rules : undefined;
}

const RULE = /^([a-z|]+|\*)=(.+?)(?::(\d{1,5}))?$/;
const NAME = /^(?:\*\.)?(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*$/;

function parseRule(text: string): OutboundRule | undefined {
  const [, who = '', where = '', port] = RULE.exec(text) ?? [];
  const purposes = who === '*' ? OUTBOUND_PURPOSES : who.split('|').filter(isPurpose);
  const isKnown = who === '*' || purposes.length === who.split('|').length;
  const destination = parseRange(where) ?? nameOf(where.toLowerCase());
  if (!isKnown || destination === undefined || !isPort(port)) return undefined;
  return { purposes, destination, port: port === undefined ? undefined : Number(port) };
}

function isPort(text: string | undefined): boolean {
  return text === undefined || (Number(text) >= 1 && Number(text) <= 65_535);
}

function isPurpose(text: string): text is OutboundPurpose {
  return (OUTBOUND_PURPOSES as readonly string[]).includes(text);
}

/** What ends in a number is an address, and has been read as one. */
function nameOf(text: string): string | undefined {
  if (!NAME.test(text) || /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(text)) return undefined;
  return text.startsWith('*.') ? text.slice(1) : text;
}

/** True when the rule admits a request to this destination at this one of its addresses. */
export function admits(rule: OutboundRule, { purpose, host, port }: Destination, address: string): boolean {
  const { purposes, destination } = rule;
  if (!purposes.includes(purpose)) return false;
  if (rule.port !== undefined && rule.port !== port) return false;
  if (typeof destination !== 'string') return isInRange(address, destination);
  const isNamed = destination.startsWith('.') ? host.endsWith(destination) : host === destination;
  return isNamed && isCoveredByName(address);
}

/** Where requests made for others may go, for every process that makes any; docs/operations.md shows it. */
export const OUTBOUND_SETTINGS = {
  OUTBOUND_ALLOW: {
    meaning: 'Destinations that requests for others may go to beside public ones with https; absent: none.',
    expects:
      'rules <purpose>=<destination>[:<port>] separated by commas, the purpose one or several of ' +
      `${OUTBOUND_PURPOSES.join('|')} or *, the destination an address range, a name or *.name`,
    parse: parseOutboundRules,
  },
  OUTBOUND_PUBLIC: {
    default: 'true',
    meaning: 'Whether requests for others may go to public addresses; false: only where OUTBOUND_ALLOW says so.',
    ...oneOf('true', 'false'),
  },
} as const;

/** What the guard goes by. */
export interface OutboundPolicy {
  readonly rules: readonly OutboundRule[];
  readonly allowPublic: boolean;
}

export function outboundPolicyOf(settings: SettingValues<typeof OUTBOUND_SETTINGS>): OutboundPolicy {
  return { rules: settings.OUTBOUND_ALLOW ?? [], allowPublic: settings.OUTBOUND_PUBLIC === 'true' };
}
