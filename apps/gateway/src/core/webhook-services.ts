import type {
  AuditTrail,
  DeliveryQueue,
  DeliveryStore,
  Logger,
  Metrics,
  OutboundClient,
  PushConfigStore,
  WebhookStore,
} from '#lib/domain';
import { ArtifactsService } from './artifacts.service.js';
import { CallbacksService } from './callbacks.service.js';
import type { CoreProvider } from './core.provider.js';
import { DeliveriesService } from './deliveries.service.js';
import { DeliveriesWorker, type DeliveryOptions } from './deliveries.worker.js';
import { DeliverySender, type PushEncoder, type WebhookSigning } from './delivery.sender.js';
import { DestinationCheck } from './destination.check.js';
import { PushesService } from './pushes.service.js';
import { TasksService } from './tasks.service.js';
import { WebhooksService } from './webhooks.service.js';

/** What telling others of tasks stands on. */
export interface NoticePorts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly outbound: OutboundClient;
  readonly audit: AuditTrail;
  readonly webhooks: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly deliveryQueue: DeliveryQueue;
  readonly signing: WebhookSigning;
  readonly pushConfigs: PushConfigStore;
  /** How those are told who asked by a protocol of others. */
  readonly pushes: (urlOf: (artifactId: string) => string) => PushEncoder;
  /** How messages to webhooks and callbacks are sent. */
  readonly delivery: DeliveryOptions & { readonly timeoutMs: number };
}

/** What is told to others, and who tells it: providers of the core. */
export function webhookServices(ports: NoticePorts): readonly CoreProvider[] {
  return [
    { provide: DestinationCheck, useFactory: () => new DestinationCheck(ports.outbound) },
    {
      provide: DeliverySender,
      useFactory: (artifacts: ArtifactsService) => {
        const pushes = ports.pushes((artifactId) => artifacts.urlOf(artifactId));
        return new DeliverySender({ ...ports, pushes }, ports.delivery.timeoutMs);
      },
      inject: [ArtifactsService],
    },
    {
      provide: DeliveriesWorker,
      useFactory: (sender: DeliverySender) => new DeliveriesWorker(ports, sender, ports.delivery),
      inject: [DeliverySender],
    },
    {
      provide: CallbacksService,
      useFactory: (check: DestinationCheck) => new CallbacksService(ports.webhooks, ports.signing, check),
      inject: [DestinationCheck],
    },
    {
      provide: PushesService,
      useFactory: (check: DestinationCheck, callbacks: CallbacksService) => new PushesService(ports, check, callbacks),
      inject: [DestinationCheck, CallbacksService],
    },
    {
      provide: WebhooksService,
      useFactory: (check: DestinationCheck, sender: DeliverySender) => new WebhooksService(ports, check, sender),
      inject: [DestinationCheck, DeliverySender],
    },
    {
      provide: DeliveriesService,
      useFactory: (webhooks: WebhooksService, tasks: TasksService) =>
        new DeliveriesService(ports.deliveries, webhooks, tasks),
      inject: [WebhooksService, TasksService],
    },
  ];
}
