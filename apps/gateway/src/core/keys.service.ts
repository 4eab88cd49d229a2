import {
  DomainError,
  type KeyFilter,
  type KeyRecord,
  type KeyStore,
  keyStateOf,
  MAX_LIVE_SECRETS,
  type Page,
  type PageRequest,
  type Scope,
} from '#lib/domain';
import { auditOf, type Caller } from './caller.js';

/** Makes keys; what is stored of one, and the text that is shown once. */
export interface KeyMint {
  mint(id?: string): { readonly id: string; readonly secretHash: Uint8Array; readonly text: string };
}

/** A key somebody asks for. */
export interface KeyWish {
  /** Absent: the caller's. */
  readonly tenant?: string;
  /** Absent: the caller. */
  readonly principal?: string;
  readonly scopes: readonly Scope[];
  readonly label?: string;
  readonly expiresAtMs: number | null;
  readonly requestId: string;
}

/** A key with its text, which is never to be had again. */
export interface ShownKey {
  readonly key: KeyRecord;
  readonly text: string;
}

/** Which key is meant, and in which request. */
export interface KeyDeed {
  readonly id: string;
  readonly requestId: string;
}

/** What else is asked for is no key of ours; the database need not be asked, nor could it always. */
const KEY_ID = /^[a-z0-9]{1,32}$/;

/**
 * API keys as callers see them: those of their tenant, with `platform:admin` of all. One that is unknown or out of reach
 * is DomainError `not_found`. Nobody gets more by a key than they may do themselves.
 */
export class KeysService {
  constructor(
    private readonly keys: KeyStore,
    private readonly keyMint: KeyMint,
    /** Told of a key that changed. */
    private readonly onChange: (id: string) => void,
  ) {}

  /** Oldest first, of the caller's tenant unless the filter says which. @throws DomainError `forbidden` */
  async list(
    caller: Caller,
    { tenant = caller.tenant, principal }: KeyFilter,
    page: PageRequest,
  ): Promise<Page<KeyRecord>> {
    assertTenant(caller, tenant);
    return this.keys.list({ tenant, principal }, page);
  }

  async get(caller: Caller, id: string): Promise<KeyRecord> {
    const key = KEY_ID.test(id) ? await this.keys.find(id) : undefined;
    if (!key || (key.tenant !== caller.tenant && !caller.scopes.has('platform:admin'))) {
      throw new DomainError('not_found', 'There is no such key.');
    }
    return key;
  }

  /** @throws DomainError `forbidden` when the caller may not give what the key would have */
  async create(caller: Caller, wish: KeyWish): Promise<ShownKey> {
    const { tenant = caller.tenant, principal = caller.principal, scopes, label = null, expiresAtMs, requestId } = wish;
    assertTenant(caller, tenant);
    assertMayHold(caller, { tenant, principal, scopes });
    await this.assertEndsInTime(caller, expiresAtMs);
    const { text, ...minted } = this.keyMint.mint();
    const details = { tenant, principal, scopes, expires_at: expiresAtMs };
    const audit = auditOf(caller, { action: 'key.create', target: minted.id, details, requestId });
    await this.keys.put({ ...minted, tenant, principal, scopes, label, expiresAtMs }, audit);
    return { key: await this.get(caller, minted.id), text };
  }

  /**
   * Gives the key a new secret; the one it has works for `overlapMs` longer, with 0 no earlier one works any more.
   *
   * @throws DomainError `forbidden`, `gone` when it is no longer live, `rate_limited` when too many secrets of it are
   */
  async rotate(
    caller: Caller,
    { id, requestId, overlapMs }: KeyDeed & { readonly overlapMs: number },
  ): Promise<ShownKey> {
    const key = await this.get(caller, id);
    assertMayHold(caller, key);
    await this.assertEndsInTime(caller, key.expiresAtMs);
    const { text, secretHash } = this.keyMint.mint(id);
    const audit = auditOf(caller, { action: 'key.rotate', target: id, details: { overlap_ms: overlapMs }, requestId });
    const isRotated = await this.keys.rotate({ id, secretHash, overlapMs }, audit);
    this.onChange(id);
    const after = await this.get(caller, id);
    if (!isRotated) throw refusalOf(after);
    return { key: after, text };
  }

  /** The key as it is then; one that was revoked before stays as it is. @throws DomainError `forbidden` */
  async revoke(caller: Caller, { id, requestId }: KeyDeed): Promise<KeyRecord> {
    const { principal, scopes } = await this.get(caller, id);
    if (scopes.includes('platform:admin') && !caller.scopes.has('platform:admin')) throw lacking('platform:admin');
    const audit = auditOf(caller, { action: 'key.revoke', target: id, details: { principal }, requestId });
    await this.keys.revoke(id, audit);
    this.onChange(id);
    return this.get(caller, id);
  }

  /**
   * Nobody is left with a key for longer than the one they make or rotate it with, or the end of that would end nothing.
   * Tokens of issuers are renewed for as long as their holder is known there, so their own end is no bound.
   */
  private async assertEndsInTime(caller: Caller, expiresAtMs: number | null): Promise<void> {
    if (!KEY_ID.test(caller.keyId)) return;
    const own = await this.keys.find(caller.keyId);
    if (!own || keyStateOf(own, Date.now()) !== 'live')
      throw new DomainError('forbidden', 'The key this is asked with is not live any more.');
    if (own.expiresAtMs === null || (expiresAtMs !== null && expiresAtMs <= own.expiresAtMs)) return;
    const end = new Date(own.expiresAtMs).toISOString();
    throw new DomainError(
      'forbidden',
      `The key this is asked with expires at ${end}, and gives none that lives longer.`,
    );
  }
}

/** Other tenants are for administrators of the platform. */
function assertTenant(caller: Caller, tenant: string): void {
  if (tenant !== caller.tenant && !caller.scopes.has('platform:admin')) throw lacking('platform:admin');
}

/** Groups of scopes that reach what belongs to a principal: its tasks, and where their results are told. */
const PERSONAL = ['tasks:', 'webhooks:'] as const;

/**
 * Whoever makes or rotates a key could use it. It can do no more than they, and what belongs to another principal is
 * reached through it only by those who reach it anyway.
 */
function assertMayHold(caller: Caller, key: Pick<KeyRecord, 'tenant' | 'principal' | 'scopes'>): void {
  const missing = key.scopes.filter((scope) => !caller.scopes.has(scope));
  if (missing.length > 0) throw lacking(missing.join(', '));
  const isOwn = key.principal === caller.principal && key.tenant === caller.tenant;
  const reachesTasks = key.scopes.some((scope) => PERSONAL.some((group) => scope.startsWith(group)));
  if (!isOwn && reachesTasks && !caller.scopes.has('tasks:all')) throw lacking('tasks:all');
}

function lacking(scopes: string): DomainError {
  return new DomainError('forbidden', `The credentials lack the scope ${scopes}, which this key would give or takes.`);
}

/** Why a key was not rotated. */
function refusalOf(key: KeyRecord): DomainError {
  if (keyStateOf(key, Date.now()) !== 'live') return new DomainError('gone', 'The key has expired or was revoked.');
  const freeAtMs = Math.min(...key.retiring.map(({ untilMs }) => untilMs));
  return new DomainError('rate_limited', `The key has ${MAX_LIVE_SECRETS} secrets that work, the most there may be.`, {
    retryAfterSeconds: Math.max(1, Math.ceil((freeAtMs - Date.now()) / 1000)),
  });
}
