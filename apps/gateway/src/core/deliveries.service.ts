import {
  DomainError,
  type DeliveryOwner,
  type DeliveryRecord,
  type DeliveryStore,
  isEventId,
  type Page,
  type PageRequest,
} from '#lib/domain';
import { auditOf, type Caller } from './caller.js';
import type { TasksService } from './tasks.service.js';
import type { WebhooksService } from './webhooks.service.js';

/** Which delivery is meant; its id is that of the event it tells of. */
export interface ReplayRequest {
  readonly deliveryId: string;
  readonly requestId: string;
}

/** What was sent to a webhook, and to the callback of a task. Whoever reaches those reaches their deliveries. */
export class DeliveriesService {
  constructor(
    private readonly deliveries: DeliveryStore,
    private readonly webhooks: WebhooksService,
    private readonly tasks: TasksService,
  ) {}

  /** Newest first. @throws DomainError `not_found` */
  async ofWebhook(caller: Caller, webhookId: string, page: PageRequest): Promise<Page<DeliveryRecord>> {
    const { id } = await this.webhooks.get(caller, webhookId);
    return this.deliveries.list({ webhookId: id }, page);
  }

  /** Newest first. @throws DomainError `not_found` */
  async ofTask(caller: Caller, taskId: string, page: PageRequest): Promise<Page<DeliveryRecord>> {
    const { taskKey } = await this.tasks.snapshot(caller, taskId);
    return this.deliveries.list({ taskKey }, page);
  }

  /** @throws DomainError `not_found`, `invalid_request` where the webhook is off */
  async replayToWebhook(caller: Caller, webhookId: string, request: ReplayRequest): Promise<DeliveryRecord> {
    const { id, enabled } = await this.webhooks.get(caller, webhookId);
    if (!enabled) throw new DomainError('invalid_request', 'The webhook is switched off: switch it on first.');
    return this.replay(caller, { webhookId: id }, request);
  }

  /** @throws DomainError `not_found` */
  async replayToCallback(caller: Caller, taskId: string, request: ReplayRequest): Promise<DeliveryRecord> {
    const { taskKey } = await this.tasks.snapshot(caller, taskId);
    return this.replay(caller, { taskKey }, request);
  }

  private async replay(
    caller: Caller,
    owner: DeliveryOwner,
    { deliveryId, requestId }: ReplayRequest,
  ): Promise<DeliveryRecord> {
    const deed = { action: 'webhook.replay', target: deliveryId, details: { ...owner }, requestId };
    const audit = auditOf(caller, deed);
    const replayed = isEventId(deliveryId) ? await this.deliveries.replay(owner, deliveryId, audit) : undefined;
    if (!replayed) throw new DomainError('not_found', 'There is no such delivery.');
    return replayed;
  }
}
