import type { Scope } from '../scopes.js';

/** An API key as stored; the secret only as its SHA-256. */
export interface KeyRecord {
  /** 1 to 32 of `[a-z0-9]`. */
  readonly id: string;
  readonly secretHash: Uint8Array;
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
}

/** API keys. */
export abstract class KeyStore {
  abstract find(id: string): Promise<KeyRecord | undefined>;
  abstract list(): Promise<readonly KeyRecord[]>;
  /** Inserts, or replaces the secret and scopes of a known id. */
  abstract put(key: Omit<KeyRecord, 'createdAtMs' | 'revokedAtMs'>): Promise<void>;
  /** True when any key exists. */
  abstract any(): Promise<boolean>;
  /** False when there is no such live key. */
  abstract revoke(id: string): Promise<boolean>;
}
