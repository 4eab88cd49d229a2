import type { TaskStore } from '#lib/domain';
import type { CoreProvider } from './core.provider.js';
import { CancellationsService } from './cancellations.service.js';
import { RepeatsService } from './repeats.service.js';
import { WatchersService } from './watchers.service.js';

/** What clients need that neither say which request they repeat nor that they have left: providers of the core. */
export function clientServices({ tasks }: { readonly tasks: TaskStore }): readonly CoreProvider[] {
  return [
    { provide: RepeatsService, useFactory: () => new RepeatsService(tasks) },
    {
      provide: WatchersService,
      useFactory: (cancellations: CancellationsService) => new WatchersService(tasks, cancellations),
      inject: [CancellationsService],
    },
  ];
}
