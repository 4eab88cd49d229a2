import type { AuditEntry } from '../audit-entry.js';
import type { WebhookEvent } from '../webhook.js';
import type { TaskScope } from './task-store.js';

/** Why a webhook is off; `owner`: somebody switched it off. */
export type WebhookStop = 'owner' | 'gone' | 'failing';

/** A subscription as stored. Times in ms since the epoch. */
export interface WebhookRecord {
  /** `wh_` and 32 hex digits. */
  readonly id: string;
  readonly tenant: string;
  /** Who made it. */
  readonly principal: string;
  /** Whose tasks it tells of: all of the tenant, or those of `principal`. */
  readonly reach: 'tenant' | 'own';
  readonly url: string;
  readonly description: string | null;
  readonly events: readonly WebhookEvent[];
  /** Of these agents only; null: of all. */
  readonly agentIds: readonly string[] | null;
  readonly enabled: boolean;
  readonly stoppedBy: WebhookStop | null;
  readonly stoppedAtMs: number | null;
  /** Since when every attempt has failed; null: the last one did not. */
  readonly failingSinceMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Grows with every change. */
  readonly version: number;
  readonly secretSinceMs: number;
  /** Until when messages are signed with the secret before as well; null: there is none, or its time is over. */
  readonly oldSecretUntilMs: number | null;
}

/** What its owner may change. */
export type WebhookSettings = Pick<WebhookRecord, 'url' | 'description' | 'events' | 'agentIds' | 'enabled' | 'reach'>;

/** A secret in a form that only those can read who have the key. */
export type SealedSecret = Uint8Array;

/** A new secret, and for how long the one before goes on. */
export interface SecretChange {
  readonly secret: SealedSecret;
  readonly overlapMs: number;
  readonly audit: AuditEntry;
}

/** Whose callbacks are meant. */
export interface CallbackOwner {
  readonly tenant: string;
  readonly principal: string;
}

/** Subscriptions, and the secrets that callbacks are signed with. Every query names its tenant. */
export abstract class WebhookStore {
  /** Undefined: the tenant has as many as it may have. */
  abstract create(
    webhook: WebhookSettings & CallbackOwner & { readonly id: string },
    made: { readonly secret: SealedSecret; readonly maxPerTenant: number; readonly audit: AuditEntry },
  ): Promise<WebhookRecord | undefined>;
  /** Undefined when unknown or outside the scope. */
  abstract find(scope: TaskScope, id: string): Promise<WebhookRecord | undefined>;
  /** Oldest first. */
  abstract list(scope: TaskScope): Promise<readonly WebhookRecord[]>;
  /**
   * One that is switched on starts afresh; for one that is switched off nothing is sent any more.
   * Undefined when it is not there, or not as `seen` any more.
   */
  abstract update(
    seen: WebhookRecord,
    settings: WebhookSettings,
    audit: AuditEntry,
  ): Promise<WebhookRecord | undefined>;
  /** With what is still to be sent. False when it was not there. */
  abstract remove(seen: WebhookRecord, audit: AuditEntry): Promise<boolean>;
  /** Undefined when it is not there any more. */
  abstract rotate(seen: WebhookRecord, change: SecretChange): Promise<WebhookRecord | undefined>;
  /** The secrets it is signed with now, the newest first; none when it is not there any more. */
  abstract secrets(id: string): Promise<readonly SealedSecret[]>;
  /** Stores the secret if there is none yet. */
  abstract ensureCallbackSecret(owner: CallbackOwner, secret: SealedSecret): Promise<void>;
  /** Answers until when the one before goes on, in ms since the epoch; null: there was none. */
  abstract rotateCallbackSecret(owner: CallbackOwner, change: SecretChange): Promise<number | null>;
}
