import type { AuditEntry } from '../audit-entry.js';
import type { AttemptOutcome, DeliveryVerdict } from '../delivery-outcome.js';
import type { EventId, TaskKey } from '../ids.js';
import type { NoticeFacts, WebhookEvent } from '../webhook.js';
import type { PushConfig } from './push-config-store.js';
import type { Page, PageRequest } from './task-store.js';
import type { CallbackOwner, SealedSecret } from './webhook-store.js';

/**
 * Where deliveries queue up: a webhook, or the callbacks of a tenant to one origin. What is in one lane is sent a few at
 * a time, whatever happens in others.
 */
export interface DueLane {
  readonly lane: string;
  readonly tenant: string;
  /** Deliveries that are due, not counted beyond the limit. */
  readonly due: number;
}

/** One delivery, taken by this process for a while. */
export interface ClaimedDelivery {
  readonly lane: string;
  readonly eventId: EventId;
  readonly taskKey: TaskKey;
  /** 1-based, over all attempts there ever were; who takes it later has a higher one. */
  readonly attempt: number;
  /** Attempts that came to an end before this one, since it began or was last replayed. */
  readonly tries: number;
  readonly tenant: string;
  /** Null for a callback, and for one who is told of every change of a task. */
  readonly webhookId: string | null;
  /** Set for the latter. */
  readonly push?: Pick<PushConfig, 'id' | 'format' | 'credentials'>;
  /** Null: its webhook is switched off, or gone as its config is. */
  readonly url: string | null;
  /** Those it is to be signed with now, the newest first. */
  readonly secrets: readonly SealedSecret[];
  /** Whose task it is of. */
  readonly owner: CallbackOwner;
  readonly facts: NoticeFacts;
}

/** An attempt as the log shows it. */
export interface RecordedAttempt extends Omit<AttemptOutcome, 'retryAfterMs'> {
  readonly attempt: number;
  readonly atMs: number;
}

/** A delivery as the log shows it. */
export interface DeliveryRecord {
  readonly eventId: EventId;
  readonly taskId: string;
  readonly event: WebhookEvent;
  readonly seq: number;
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly createdAtMs: number;
  /** Null once it is delivered or given up. */
  readonly nextAttemptAtMs: number | null;
  /** The newest 30, oldest first. */
  readonly attempts: readonly RecordedAttempt[];
}

/** Which deliveries: those of a webhook, or the callbacks of a task. */
export type DeliveryOwner = { readonly webhookId: string } | { readonly taskKey: TaskKey };

/** What an attempt's record leads to. */
export interface Settled {
  /** False: somebody else has taken the delivery since, and nothing was recorded. */
  readonly recorded: boolean;
  /** Set when this attempt was the one that switched its webhook off. */
  readonly stopped?: 'gone' | 'failing';
}

/** What is to be sent, and what became of it. Deliveries are made by the database, with the event they tell of. */
export abstract class DeliveryStore {
  /** Lanes with something due, by name, after the one named; at most `limit`. */
  abstract dueLanes(
    after: string,
    limits: { readonly lanes: number; readonly perLane: number },
  ): Promise<readonly DueLane[]>;
  /**
   * Takes the next delivery of a lane that is due and not behind an earlier one of its task, by compare-and-set, for
   * `leaseMs`: after that it is due again, unless it was settled.
   */
  abstract claim(lane: string, leaseMs: number): Promise<ClaimedDelivery | undefined>;
  /** Records an attempt and its verdict, if the delivery is still this process's. */
  abstract settle(claimed: ClaimedDelivery, outcome: AttemptOutcome, verdict: DeliveryVerdict): Promise<Settled>;
  /** Newest first. @throws DomainError `invalid_request` for a cursor that is not ours. */
  abstract list(owner: DeliveryOwner, page: PageRequest): Promise<Page<DeliveryRecord>>;
  /** Makes it due again, from the first attempt of its schedule on; undefined when there is none. */
  abstract replay(owner: DeliveryOwner, eventId: EventId, audit: AuditEntry): Promise<DeliveryRecord | undefined>;
  /** Deliveries that are due, not counted beyond `limit`. */
  abstract countDue(limit: number): Promise<number>;
}
