import { type AttemptOutcome, type DeliveryRecord, type Page, WEBHOOK_EVENTS, type WebhookRecord } from '#lib/domain';
import type { CallbackSecret, WebhookChange, WebhookRequest, WithSecret } from '../core/webhooks.service.js';
import { encodeTime, encodeTimeOrNull } from './tasks.mapping.js';
import type {
  AttemptAnswer,
  CallbackSecretAnswer,
  DeliveriesAnswer,
  DeliveryAnswer,
  NewWebhookAnswer,
  RotateBody,
  TestAnswer,
  WebhookAnswer,
  WebhookBody,
  WebhookPatchBody,
} from './webhooks.dto.js';

const DEFAULT_OVERLAP_SECONDS = 86_400;

export function decodeWebhook({ url, description, events, agent_ids, enabled }: WebhookBody): WebhookRequest {
  return {
    url,
    description: description ?? null,
    events: events ?? WEBHOOK_EVENTS,
    agentIds: agent_ids ?? null,
    enabled: enabled ?? true,
  };
}

/** `null` brings the default back where there is one, and says nothing elsewhere. */
export function decodeChange(body: WebhookPatchBody): WebhookChange {
  const { url, description, events, agent_ids, enabled } = body;
  return {
    ...(url == null ? {} : { url }),
    ...(description === undefined ? {} : { description }),
    ...(events === undefined ? {} : { events: events ?? WEBHOOK_EVENTS }),
    ...(agent_ids === undefined ? {} : { agentIds: agent_ids }),
    ...(enabled == null ? {} : { enabled }),
  };
}

export function decodeOverlapMs({ overlap_seconds }: RotateBody): number {
  return (overlap_seconds ?? DEFAULT_OVERLAP_SECONDS) * 1_000;
}

export function encodeWebhook(webhook: WebhookRecord): WebhookAnswer {
  return {
    webhook_id: webhook.id,
    url: webhook.url,
    description: webhook.description,
    events: webhook.events,
    agent_ids: webhook.agentIds,
    reach: webhook.reach,
    enabled: webhook.enabled,
    disabled_reason: webhook.stoppedBy,
    disabled_at: encodeTimeOrNull(webhook.stoppedAtMs),
    failing_since: encodeTimeOrNull(webhook.failingSinceMs),
    created_by: webhook.principal,
    created_at: encodeTime(webhook.createdAtMs),
    updated_at: encodeTime(webhook.updatedAtMs),
    secret_since: encodeTime(webhook.secretSinceMs),
    old_secret_until: encodeTimeOrNull(webhook.oldSecretUntilMs),
  };
}

export function encodeNewWebhook({ webhook, secret }: WithSecret): NewWebhookAnswer {
  return { ...encodeWebhook(webhook), secret };
}

export function encodeCallbackSecret({ secret, oldSecretUntilMs }: CallbackSecret): CallbackSecretAnswer {
  return { secret, old_secret_until: encodeTimeOrNull(oldSecretUntilMs) };
}

export function encodeTest(outcome: AttemptOutcome): TestAnswer {
  return { delivered: outcome.error === undefined, ...encodeOutcome(outcome) };
}

export function encodeDelivery(delivery: DeliveryRecord): DeliveryAnswer {
  return {
    delivery_id: delivery.eventId,
    task_id: delivery.taskId,
    event: delivery.event,
    seq: delivery.seq,
    state: delivery.state,
    created_at: encodeTime(delivery.createdAtMs),
    next_attempt_at: encodeTimeOrNull(delivery.nextAttemptAtMs),
    attempts: delivery.attempts.map(({ attempt, atMs, ...outcome }): AttemptAnswer => ({
      attempt,
      at: encodeTime(atMs),
      ...encodeOutcome(outcome),
    })),
  };
}

export function encodeDeliveries({ items, nextCursor }: Page<DeliveryRecord>): DeliveriesAnswer {
  return { deliveries: items.map(encodeDelivery), next_cursor: nextCursor ?? null };
}

function encodeOutcome({ status, error, latencyMs }: AttemptOutcome): Omit<TestAnswer, 'delivered'> {
  return { status: status ?? null, error: error ?? null, latency_ms: latencyMs };
}
