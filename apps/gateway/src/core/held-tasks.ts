import type { BlobStore, TaskRecords } from '#lib/domain';
import { EventWriter } from '#lib/execution';
import { AgentDirectory } from './agent.directory.js';
import type { CoreProvider } from './core.provider.js';
import { Quotas } from './quotas.js';
import { ReleasesService } from './releases.service.js';
import { RunEnqueuer } from './run.enqueuer.js';
import { TaskFilesService } from './task-files.service.js';
import { TaskRecordsService } from './task-records.service.js';
import { TasksService } from './tasks.service.js';

/** What tasks that are held, and wires that hand out steps, stand on. */
export interface HeldTaskPorts {
  readonly records: TaskRecords;
  readonly blobs: BlobStore;
  readonly maxUploadBytes: number;
}

/** Providers of the core. */
export function heldTaskServices(ports: HeldTaskPorts): readonly CoreProvider[] {
  return [
    {
      provide: ReleasesService,
      useFactory: (tasks: TasksService, writer: EventWriter, enqueuer: RunEnqueuer) =>
        new ReleasesService(tasks, writer, enqueuer),
      inject: [TasksService, EventWriter, RunEnqueuer],
    },
    {
      provide: TaskFilesService,
      useFactory: (tasks: TasksService, agents: AgentDirectory, writer: EventWriter, quotas: Quotas) =>
        new TaskFilesService(tasks, agents, { ...ports, writer, quotas }),
      inject: [TasksService, AgentDirectory, EventWriter, Quotas],
    },
    { provide: TaskRecordsService, useFactory: () => new TaskRecordsService(ports.records) },
  ];
}
