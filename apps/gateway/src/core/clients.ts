import type { TaskStore } from '#lib/domain';
import type { CoreProvider } from './core.provider.js';
import { CancellationsService } from './cancellations.service.js';
import { RepeatsService } from './repeats.service.js';
import { WatchersService, type WatchersPorts } from './watchers.service.js';

export interface ClientPorts extends WatchersPorts {
  readonly tasks: Pick<TaskStore, 'watch' | 'giveUp' | 'newestKey'>;
}

/** What clients need that neither say which request they repeat nor that they have left: providers of the core. */
export function clientServices(ports: ClientPorts): readonly CoreProvider[] {
  return [
    { provide: RepeatsService, useFactory: () => new RepeatsService(ports.tasks) },
    {
      provide: WatchersService,
      useFactory: (cancellations: CancellationsService) => new WatchersService(ports, cancellations),
      inject: [CancellationsService],
    },
  ];
}
