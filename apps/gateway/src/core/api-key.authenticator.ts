import { DomainError, type KeyRecord, type KeyStore } from '#lib/domain';
import { Authenticator } from './authenticator.js';
import type { Caller } from './caller.js';

/** The form of a key and the test of its secret. */
export interface KeyFormat {
  /** Undefined when the text is no key. */
  parse(text: string): { readonly id: string; readonly secret: string } | undefined;
  /** Compares in constant time. */
  isSecretOf(secret: string, hash: Uint8Array): boolean;
}

/** How long a key row is believed: a revoked key works no longer than this. */
const TRUST_MS = 5_000;
/** Rows kept, unknown ids among them; the oldest go first. */
const MAX_ENTRIES = 10_000;
/** Compared with when there is no such key, so that an answer takes the same time. */
const NO_HASH = new Uint8Array(32);

interface Entry {
  readonly askedAtMs: number;
  readonly key: Promise<KnownKey | undefined>;
}

interface KnownKey {
  readonly record: KeyRecord;
  readonly caller: Caller;
}

/** Authenticates by API key. Rows are remembered for five seconds, also that there is none, so that hot paths do not query. */
export class ApiKeyAuthenticator extends Authenticator {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly keys: KeyStore,
    private readonly format: KeyFormat,
    private readonly nowMs: () => number = Date.now,
  ) {
    super();
  }

  override async authenticate(credential: string): Promise<Caller> {
    const parsed = this.format.parse(credential);
    if (!parsed) throw refused();
    const known = await this.find(parsed.id);
    const isGenuine = this.format.isSecretOf(parsed.secret, known?.record.secretHash ?? NO_HASH);
    if (!known || !isGenuine || !this.isLive(known.record)) throw refused();
    return known.caller;
  }

  private isLive({ expiresAtMs, revokedAtMs }: KeyRecord): boolean {
    return revokedAtMs === null && (expiresAtMs === null || expiresAtMs > this.nowMs());
  }

  private find(id: string): Promise<KnownKey | undefined> {
    const nowMs = this.nowMs();
    const entry = this.entries.get(id);
    if (entry && nowMs - entry.askedAtMs < TRUST_MS) return entry.key;
    const key = this.keys.find(id).then((record) => record && { record, caller: callerOf(record) });
    this.remember(id, { askedAtMs: nowMs, key });
    key.catch(() => this.entries.delete(id));
    return key;
  }

  private remember(id: string, entry: Entry): void {
    this.entries.delete(id);
    this.entries.set(id, entry);
    if (this.entries.size <= MAX_ENTRIES) return;
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}

function callerOf({ id, tenant, principal, scopes }: KeyRecord): Caller {
  return { tenant, principal, keyId: id, scopes: new Set(scopes) };
}

/** One answer for every reason: which part was wrong is nobody's business. */
function refused(): DomainError {
  return new DomainError('unauthenticated', 'The key is not valid, has expired or was revoked.');
}
