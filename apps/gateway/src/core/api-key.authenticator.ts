import { type KeyRecord, type KeyStore, keyStateOf } from '#lib/domain';
import { RefusedCredential } from './authenticator.js';
import type { Caller } from './caller.js';
import type { KeyUses } from './key-uses.js';

/** A key as it is sent, in its parts. */
export interface SentKey {
  readonly id: string;
  readonly secret: string;
}

/** The form of a key and the test of its secret. */
export interface KeyFormat {
  /** Undefined when the text is no key. */
  parse(text: string): SentKey | undefined;
  /** Compares in constant time. */
  isSecretOf(secret: string, hash: Uint8Array): boolean;
}

/** How long a key row is believed: less than the 5 s within which a revocation is felt, the way there and back included. */
const TRUST_MS = 4_000;
/** Rows kept, unknown ids among them; the oldest go first. */
const MAX_ENTRIES = 10_000;
/** Compared with when there is no such key, so that an answer takes the same time. */
const NO_HASH = new Uint8Array(32);

interface Entry {
  readonly askedAtMs: number;
  readonly key: Promise<KnownKey | undefined>;
  /** What `key` came to. */
  known?: KnownKey | undefined;
}

interface KnownKey {
  readonly record: KeyRecord;
  readonly caller: Caller;
}

/** Authenticates by API key. Rows are remembered for some seconds, also that there is none, so that hot paths do not query. */
export class ApiKeyAuthenticator {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly keys: KeyStore,
    private readonly format: KeyFormat,
    private readonly uses: Pick<KeyUses, 'note'>,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /**
   * A secret that does not fit what is remembered is looked up again, unless `looksAgain` is false: it may be newer.
   *
   * @throws RefusedCredential, DomainError `unavailable`
   */
  async authenticate({ id, secret }: SentKey, looksAgain = true): Promise<Caller> {
    const remembered = this.remembered(id);
    let known = await (remembered ?? this.ask(id)).key;
    let isGenuine = this.isGenuine(secret, known);
    if (!isGenuine && known && remembered && looksAgain) {
      known = await this.ask(id).key;
      isGenuine = this.isGenuine(secret, known);
    }
    if (!known) throw new RefusedCredential('unknown key');
    if (!isGenuine) throw new RefusedCredential('wrong secret', known.caller);
    const state = keyStateOf(known.record, this.nowMs());
    if (state !== 'live') throw new RefusedCredential(`${state} key`, known.caller);
    this.uses.note(id);
    return known.caller;
  }

  /** True when this very key was good when it was last looked at, however long ago that is. */
  recognises({ id, secret }: SentKey): boolean {
    return this.isGenuine(secret, this.entries.get(id)?.known);
  }

  /** Asked of the store each time. */
  lapsed(ids: readonly string[]): Promise<readonly string[]> {
    return this.keys.lapsed(ids);
  }

  /** What was remembered of the key no longer holds. */
  forget(id: string): void {
    this.entries.delete(id);
  }

  private isGenuine(secret: string, known: KnownKey | undefined): boolean {
    const { secretHash = NO_HASH, retiring = [] } = known?.record ?? {};
    if (this.format.isSecretOf(secret, secretHash)) return known !== undefined;
    const nowMs = this.nowMs();
    return retiring.some((old) => old.untilMs > nowMs && this.format.isSecretOf(secret, old.secretHash));
  }

  private remembered(id: string): Entry | undefined {
    const entry = this.entries.get(id);
    return entry && this.nowMs() - entry.askedAtMs < TRUST_MS ? entry : undefined;
  }

  private ask(id: string): Entry {
    const key = this.keys.find(id).then((record) => record && { record, caller: callerOf(record) });
    const entry: Entry = { askedAtMs: this.nowMs(), key };
    this.remember(id, entry);
    key.then(
      (known) => (entry.known = known),
      () => this.entries.get(id) === entry && this.entries.delete(id),
    );
    return entry;
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
