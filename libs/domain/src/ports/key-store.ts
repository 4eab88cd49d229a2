import type { AuditEntry } from '../audit-entry.js';
import type { Scope } from '../scopes.js';
import type { Page, PageRequest } from './task-store.js';

/** A secret that was replaced, and works until its time is over. */
export interface RetiringSecret {
  readonly secretHash: Uint8Array;
  readonly untilMs: number;
}

/** An API key as stored; its secrets only as their SHA-256. Times in ms since the epoch. */
export interface KeyRecord {
  /** 1 to 32 of `[a-z0-9]`. */
  readonly id: string;
  readonly secretHash: Uint8Array;
  /** Secrets from before the last rotations; those whose time is over may still be among them. */
  readonly retiring: readonly RetiringSecret[];
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly Scope[];
  /** What somebody calls it. */
  readonly label: string | null;
  readonly createdAtMs: number;
  readonly rotatedAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** True to five minutes; null: never since this is written down. */
  readonly lastUsedAtMs: number | null;
}

/** A key to be. */
export type NewKey = Pick<KeyRecord, 'id' | 'secretHash' | 'tenant' | 'principal' | 'scopes' | 'label' | 'expiresAtMs'>;

/** A new secret for a key. */
export interface Rotation {
  readonly id: string;
  readonly secretHash: Uint8Array;
  /** How long the secret it replaces goes on working, in ms; 0: every earlier one ends now. */
  readonly overlapMs: number;
}

/** Which keys to list. */
export interface KeyFilter {
  /** Absent: of every tenant. */
  readonly tenant?: string;
  readonly principal?: string;
}

/** Secrets of one key that work at the same time, at most. */
export const MAX_LIVE_SECRETS = 5;

/** API keys. What changes one is written with its audit record, in one statement. */
export abstract class KeyStore {
  abstract find(id: string): Promise<KeyRecord | undefined>;
  /** Those of these keys that are revoked or have expired. */
  abstract lapsed(ids: readonly string[]): Promise<readonly string[]>;
  /** Oldest first. @throws DomainError `invalid_request` for a cursor that is not ours. */
  abstract list(filter: KeyFilter, page: PageRequest): Promise<Page<KeyRecord>>;
  /** Inserts, or replaces all there is of a known id, so that it is live again. */
  abstract put(key: NewKey, audit: AuditEntry): Promise<void>;
  /** True when any key exists. */
  abstract any(): Promise<boolean>;
  /** False when there is no such live key, or it has `MAX_LIVE_SECRETS` and the overlap is not 0. */
  abstract rotate(rotation: Rotation, audit: AuditEntry): Promise<boolean>;
  /** False when there is no such key that is not revoked yet. */
  abstract revoke(id: string, audit: AuditEntry): Promise<boolean>;
  /** Notes that these keys were used about now. */
  abstract markUsed(ids: readonly string[]): Promise<void>;
}

/** What a key is good for. */
export function keyStateOf({ expiresAtMs, revokedAtMs }: KeyRecord, nowMs: number): 'live' | 'expired' | 'revoked' {
  if (revokedAtMs !== null) return 'revoked';
  return expiresAtMs !== null && expiresAtMs <= nowMs ? 'expired' : 'live';
}
