import { isSecretName, mayHoldSecret, REDACTED, redactValue } from '#lib/domain';

/** Levels of arrays and objects in one payload. */
export const MAX_DEPTH = 64;
/** Names of members are few, and looked at once each. */
const MAX_KNOWN_NAMES = 4_096;

const URI_NAMES: ReadonlySet<string> = new Set(['url', 'uri', 'href', 'src', 'link']);
/** Where a link in an event may lead: to the web, to mail, into the same document or site, or to a picture it holds itself. */
const ALLOWED_URI = /^(?:https?:\/\/|mailto:|data:image\/(?:png|jpeg|gif|webp);base64,|[^:]*$|[^:]*[/?#])/i;
/** What a browser takes out of a URI before it looks at it, and what it may begin with. */
const IGNORED_IN_URI = /[\0-\x20\x7f]/g;

type Meaning = 'secret' | 'uri' | 'none';
const known = new Map<string, Meaning>();

function meaningOf(name: string): Meaning {
  const found = known.get(name);
  if (found !== undefined) return found;
  const meaning = isSecretName(name) ? 'secret' : isUriName(name) ? 'uri' : 'none';
  if (known.size < MAX_KNOWN_NAMES && name.length <= 64) known.set(name, meaning);
  return meaning;
}

function isUriName(name: string): boolean {
  return URI_NAMES.has(name.toLowerCase()) || /(?:[a-z]U|[_-][uU])r[il]$/.test(name);
}

/** True when a member of the value has a name that its content has to be looked at for. @throws RangeError when it is too deep */
export function hasNamedMember(value: object, depth = 1): boolean {
  if (depth > MAX_DEPTH) throw new RangeError('too deep');
  let found = false;
  for (const item of Object.values(value)) {
    if (isObject(item) && hasNamedMember(item, depth + 1)) found = true;
  }
  return found || (!Array.isArray(value) && Object.keys(value).some((name) => meaningOf(name) !== 'none'));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** True when a payload may hold what is not stored as it is; this is all that most events cost. */
export function isSuspicious(payload: object, json: string): boolean {
  return hasNamedMember(payload) || mayHoldSecret(json);
}

/** The value a JSON text stands for, without secrets and links that lead elsewhere than the web. */
export function cleaned(json: string): unknown {
  return redactValue(JSON.parse(json, withoutLink));
}

/** A value as JSON text, cleaned. */
export function cleanText(value: unknown): string {
  const json = JSON.stringify(value);
  return isSuspicious(isObject(value) ? value : [value], json) ? JSON.stringify(cleaned(json)) : json;
}

function withoutLink(name: string, value: unknown): unknown {
  if (typeof value !== 'string' || meaningOf(name) !== 'uri') return value;
  return ALLOWED_URI.test(value.replace(IGNORED_IN_URI, '')) ? value : REDACTED;
}
