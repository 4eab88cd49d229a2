import {
  type AttemptOutcome,
  type AuditTrail,
  DomainError,
  encodeTestNotice,
  isWebhookId,
  type TaskScope,
  type WebhookRecord,
  type WebhookSettings,
  type WebhookStore,
} from '#lib/domain';
import { newMessageId } from '#lib/platform';
import { auditOf, type Caller, taskScopeOf } from './caller.js';
import { type DeliverySender, secretOfCallbacks, secretOfWebhook, type WebhookSigning } from './delivery.sender.js';
import type { DestinationCheck } from './destination.check.js';

/** A subscription as somebody asks for it. */
export type WebhookRequest = Omit<WebhookSettings, 'reach'>;

/** What somebody wants to be different; what is absent stays. */
export type WebhookChange = Partial<WebhookRequest>;

/** A webhook with its new secret, which is shown this once. */
export interface WithSecret {
  readonly webhook: WebhookRecord;
  readonly secret: string;
}

/** The new secret of somebody's callbacks, shown this once. */
export interface CallbackSecret {
  readonly secret: string;
  /** Until when messages are signed with the one before as well; null: nobody had seen one before. */
  readonly oldSecretUntilMs: number | null;
}

export interface WebhookPorts {
  readonly webhooks: WebhookStore;
  readonly signing: WebhookSigning;
  readonly audit: Pick<AuditTrail, 'record'>;
}

const MAX_PER_TENANT = 100;
/** Somebody else may change it between the look and the write. */
const ATTEMPTS = 5;

/**
 * Subscriptions. Their owner reaches them, and with `tasks:all` everybody of the tenant. One tells of its owner's tasks
 * only, unless the owner reached all when it was made or last changed. What is not there is DomainError `not_found`.
 */
export class WebhooksService {
  constructor(
    private readonly ports: WebhookPorts,
    private readonly destinations: DestinationCheck,
    private readonly sender: DeliverySender,
  ) {}

  list(caller: Caller): Promise<readonly WebhookRecord[]> {
    return this.ports.webhooks.list(taskScopeOf(caller));
  }

  async get(caller: Caller, id: string): Promise<WebhookRecord> {
    const webhook = isWebhookId(id) ? await this.ports.webhooks.find(taskScopeOf(caller), id) : undefined;
    if (!webhook) throw missing();
    return webhook;
  }

  /** @throws DomainError `invalid_request` for a URL we do not go to, and when the tenant has too many. */
  async create(caller: Caller, request: WebhookRequest, requestId: string): Promise<WithSecret> {
    await this.destinations.assertAllowed(request.url, '/url');
    const { tenant, principal } = caller;
    const id = newMessageId().replace(/^msg_/, 'wh_');
    const { shown, sealed } = this.ports.signing.mint(secretOfWebhook(tenant, id));
    const settings = { ...request, reach: reachOf(caller) };
    const audit = auditOf(caller, { action: 'webhook.create', target: id, details: detailsOf(settings), requestId });
    const webhook = await this.ports.webhooks.create(
      { id, tenant, principal, ...settings },
      { secret: sealed, maxPerTenant: MAX_PER_TENANT, audit },
    );
    if (webhook) return { webhook, secret: shown };
    throw new DomainError('invalid_request', `A tenant has at most ${MAX_PER_TENANT} webhooks.`);
  }

  /** @throws DomainError `invalid_request` for a URL we do not go to. */
  async change(caller: Caller, id: string, change: WebhookChange, requestId: string): Promise<WebhookRecord> {
    if (change.url !== undefined) await this.destinations.assertAllowed(change.url, '/url');
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const seen = await this.get(caller, id);
      const settings = { ...settingsOf(seen), ...change, reach: narrower(seen, caller) };
      const audit = auditOf(caller, { action: 'webhook.change', target: id, details: detailsOf(settings), requestId });
      const changed = await this.ports.webhooks.update(seen, settings, audit);
      if (changed) return changed;
    }
    throw new DomainError('unavailable', 'The webhook is being changed by others.', { retryAfterSeconds: 1 });
  }

  async remove(caller: Caller, id: string, requestId: string): Promise<void> {
    const seen = await this.get(caller, id);
    const audit = auditOf(caller, { action: 'webhook.delete', target: id, details: {}, requestId });
    if (!(await this.ports.webhooks.remove(seen, audit))) throw missing();
  }

  /** For `overlapMs` messages carry signatures of both secrets. */
  async rotate(caller: Caller, id: string, overlapMs: number, requestId: string): Promise<WithSecret> {
    const seen = await this.get(caller, id);
    const { shown, sealed } = this.ports.signing.mint(secretOfWebhook(seen.tenant, id));
    const audit = auditOf(caller, { action: 'webhook.rotate', target: id, details: { overlapMs }, requestId });
    const webhook = await this.ports.webhooks.rotate(seen, { secret: sealed, overlapMs, audit });
    if (!webhook) throw missing();
    return { webhook, secret: shown };
  }

  /** The callbacks of all tasks of this caller are signed with one secret; the first is made with the first callback. */
  async rotateCallbackSecret(caller: Caller, overlapMs: number, requestId: string): Promise<CallbackSecret> {
    const { shown, sealed } = this.ports.signing.mint(secretOfCallbacks(caller));
    const details = { overlapMs };
    const audit = auditOf(caller, { action: 'callbacks.rotate', target: caller.principal, details, requestId });
    const oldSecretUntilMs = await this.ports.webhooks.rotateCallbackSecret(caller, {
      secret: sealed,
      overlapMs,
      audit,
    });
    return { secret: shown, oldSecretUntilMs };
  }

  /** Sends a message of the type `webhook.test` now, whether it is switched on or not; it is not repeated and not logged. */
  async test(caller: Caller, id: string, requestId: string): Promise<AttemptOutcome> {
    const { tenant, url } = await this.get(caller, id);
    const details = { origin: new URL(url).origin };
    // Before it goes out: a message of ours to somebody else is nobody's secret.
    await this.ports.audit.record([auditOf(caller, { action: 'webhook.test', target: id, details, requestId })]);
    return this.sender.send({
      id: newMessageId(),
      body: encodeTestNotice(id, Date.now()),
      url,
      secrets: await this.ports.webhooks.secrets(id),
      purpose: secretOfWebhook(tenant, id),
    });
  }
}

function missing(): DomainError {
  return new DomainError('not_found', 'There is no such webhook.');
}

function reachOf(caller: Caller): WebhookRecord['reach'] {
  const { principal }: TaskScope = taskScopeOf(caller);
  return principal === undefined ? 'tenant' : 'own';
}

/** Nobody makes it tell of more than they may see themselves, nor of more than it did. */
function narrower({ reach }: WebhookRecord, caller: Caller): WebhookRecord['reach'] {
  return reach === 'tenant' ? reachOf(caller) : 'own';
}

function settingsOf({ url, description, events, agentIds, enabled, reach }: WebhookRecord): WebhookSettings {
  return { url, description, events, agentIds, enabled, reach };
}

/** The origin only: what follows it may be a secret of the receiver. */
function detailsOf({ url, events, agentIds, enabled, reach }: WebhookSettings): Readonly<Record<string, unknown>> {
  return { origin: new URL(url).origin, events, agent_ids: agentIds, enabled, reach };
}
