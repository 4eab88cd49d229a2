import { CallbacksService } from './callbacks.service.js';
import type { CorePorts } from './core.module.js';
import type { CoreProvider } from './core.provider.js';
import { DeliveriesService } from './deliveries.service.js';
import { DeliveriesWorker } from './deliveries.worker.js';
import { DeliverySender } from './delivery.sender.js';
import { DestinationCheck } from './destination.check.js';
import { WebhooksService } from './webhooks.service.js';
import { TasksService } from './tasks.service.js';

/** What is told to others, and who tells it: providers of the core. */
export function webhookServices(ports: CorePorts): readonly CoreProvider[] {
  return [
    { provide: DestinationCheck, useFactory: () => new DestinationCheck(ports.outbound) },
    { provide: DeliverySender, useFactory: () => new DeliverySender(ports, ports.delivery.timeoutMs) },
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
