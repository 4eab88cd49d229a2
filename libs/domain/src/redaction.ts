import { mayHoldSecret } from './secret-hints.js';

/** What stands in place of a secret. */
export const REDACTED = '[redacted]';

type Form = readonly [RegExp, string];

/** A token is no word: one with a digit in it. */
const TOKEN = String.raw`(?=[\w+/.=~-]{0,200}\d)[\w+/.=~-]`;

/**
 * Forms of secrets, in order. Each has an anchor in secret-hints.ts, and none takes more than time in proportion to the text.
 * They hold neither quotes nor backslashes, so that they match in JSON text as well and leave it JSON.
 */
const FORMS: readonly Form[] = [
  // RFC 7468: to the end of the block, or as far as it looks like one.
  [
    /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[^"]{0,8192}?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|[\w+/=\s\\]*)/g,
    REDACTED,
  ],
  // RFC 7519: header and payload are JSON objects, whose base64 begins like this; the rest may be cut off.
  [/(?<![A-Za-z0-9_-])eyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g, REDACTED],
  [/swy_[a-z0-9]{1,32}_[\w-]{32,}/g, REDACTED],
  [/(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g, REDACTED],
  [/AIza[\w-]{30,}|ya29\.[\w-]{20,}|(?<![A-Za-z0-9])SG\.[\w-]{16,}\.[\w-]{16,}/g, REDACTED],
  [/gh[opsru]_[A-Za-z0-9]{30,}|github_pat_\w{22,}|glpat-[\w-]{16,}|shpat_\w{24,}/g, REDACTED],
  [/xox[abeprs]-[\w-]{10,}|https:\/\/hooks\.slack\.com\/services\/[\w/]{8,}/g, REDACTED],
  [/(?<![A-Za-z0-9])[prs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[\w+/=-]{16,}/g, REDACTED],
  [/(?<![A-Za-z0-9])(?:npm|hf)_[A-Za-z0-9]{24,}|(?<![\w-])sk-(?=[\w-]{0,200}\d)[\w-]{16,}/g, REDACTED],
  // RFC 6750 and 7617.
  [new RegExp(String.raw`(\b(?:bearer|basic)\s{1,3})${TOKEN}{16,}`, 'gi'), `$1${REDACTED}`],
  // RFC 3986, section 3.2.1: the password, or a user name that is one.
  [/(:\/\/[^\s/:@"'\\]{0,256}:)[^\s/@"'\\]{1,256}(?=@)/g, `$1${REDACTED}`],
  [/(:\/\/)[^\s/:@"'\\]{20,256}(?=@)/g, `$1${REDACTED}`],
  // Links whose signature or token is all it takes, ours and those of others.
  [
    /([?&](?:sig|X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token|X-Goog-Signature|access_token|api_?key|token)=)[^&\s"'#\\]{8,}/gi,
    `$1${REDACTED}`,
  ],
  // name=value, as in settings, headers and code.
  [
    new RegExp(
      String.raw`(\b[\w-]{0,40}(?:key|token|secret|password)\\{0,2}["']?\s{0,3}[:=]\s{0,3}\\{0,2}["']?)${TOKEN}{16,}`,
      'gi',
    ),
    `$1${REDACTED}`,
  ],
];

/** The text with what looks like a secret taken out: keys, tokens, private keys, passwords in URLs, signed links. */
export function redactSecrets(text: string): string {
  if (!mayHoldSecret(text)) return text;
  return FORMS.reduce((left, [form, by]) => left.replace(form, by), text);
}

/** Names of members whose value is a secret whatever it looks like, in lower case and without separators. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  ...['password', 'passwd', 'passphrase', 'secret', 'clientsecret', 'apikey', 'xapikey', 'accesstoken', 'refreshtoken'],
  ...['idtoken', 'authtoken', 'sessiontoken', 'authorization', 'proxyauthorization', 'cookie', 'setcookie'],
  ...['privatekey', 'secretkey', 'secretaccesskey', 'awssecretaccesskey', 'credentials'],
]);

/** True for the name of a member whose value is a secret by its name. */
export function isSecretName(name: string): boolean {
  return name.length >= 6 && name.length <= 24 && SECRET_NAMES.has(name.toLowerCase().replace(/[-_]/g, ''));
}

/**
 * A JSON value with secrets taken out of all its texts and names, and out of members that are secrets by their name. The
 * value itself when there are none.
 */
export function redactValue<T>(value: T): T {
  return redactAny(value) as T;
}

function redactAny(value: unknown): unknown {
  if (typeof value === 'string') return redactSecrets(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return redactEach(value, value.map(redactAny));
  const entries = Object.entries(value);
  const redacted = entries.map(([name, member]) => [redactSecrets(name), redactMember(name, member)] as const);
  const isSame = redacted.every(
    ([name, member], index) => name === entries[index]![0] && member === entries[index]![1],
  );
  return isSame ? value : Object.fromEntries(redacted);
}

function redactMember(name: string, member: unknown): unknown {
  const isPlain = (typeof member === 'string' && member !== '') || typeof member === 'number';
  return isPlain && isSecretName(name) ? REDACTED : redactAny(member);
}

function redactEach(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return after.every((item, index) => item === before[index]) ? before : after;
}

/**
 * Arguments with the fields taken out that their schema marks as secret, named by JSON Pointer (RFC 6901); `*` stands for
 * every member or item. A pointer that leads nowhere is free of effect. The value itself when nothing was there.
 */
export function redactFields<T>(value: T, pointers: readonly string[]): T {
  return pointers.reduce<unknown>((left, pointer) => redactAt(left, tokensOf(pointer)), value) as T;
}

function tokensOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function redactAt(value: unknown, [token, ...rest]: readonly string[]): unknown {
  if (token === undefined) return REDACTED;
  if (typeof value !== 'object' || value === null) return value;
  const isMeant = (name: string): boolean => token === '*' || token === name;
  if (Array.isArray(value)) {
    return redactEach(
      value,
      value.map((item, index) => (isMeant(String(index)) ? redactAt(item, rest) : (item as unknown))),
    );
  }
  const entries = Object.entries(value).map(([name, member]) => ({ name, member: member as unknown }));
  const meant = entries.filter(({ name }) => isMeant(name)).map((one) => ({ ...one, by: redactAt(one.member, rest) }));
  if (meant.every(({ member, by }) => member === by)) return value;
  const before = entries.map(({ name, member }) => [name, member] as const);
  return Object.fromEntries([...before, ...meant.map(({ name, by }) => [name, by] as const)]);
}
