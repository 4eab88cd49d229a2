import type { BlobRemovals, BlobStore, EventBus, Logger, Metrics, Retention, RunQueue, RunStore } from '#lib/domain';
import type { EventWriter } from '../event.writer.js';
import type { SessionAdvancer } from '../session.advancer.js';
import { BlobsSweep } from './blobs.sweep.js';
import { DeadlinesSweep } from './deadlines.sweep.js';
import { ExpiriesSweep } from './expiries.sweep.js';
import { HoldsSweep } from './holds.sweep.js';
import { LostRunsSweep } from './lost-runs.sweep.js';
import { OutboxSweep } from './outbox.sweep.js';
import { RetentionSweep } from './retention.sweep.js';
import { SessionsSweep } from './sessions.sweep.js';
import type { Sweep } from './sweep.loop.js';

const HOUR_MS = 3_600_000;

export interface SweepsPorts {
  readonly runs: RunStore;
  readonly writer: EventWriter;
  readonly advancer: SessionAdvancer;
  readonly queue: RunQueue;
  readonly bus: EventBus;
  readonly blobs: BlobStore;
  readonly removals: BlobRemovals;
  readonly retention: Retention;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

export interface SweepsOptions {
  readonly leaseMs: number;
  /** Whether the runners of a kind can go on from a checkpoint. */
  readonly canResume: (runner: string) => boolean;
  /** Makes the partitions of the days ahead. */
  readonly ensurePartitions: () => Promise<unknown>;
}

/** What every process, gateways too, does beside its work, so that whichever is left still ends what is due. */
export function createSweeps(ports: SweepsPorts, options: SweepsOptions): readonly Sweep[] {
  return [
    new LostRunsSweep(ports, Math.min(1_000, options.leaseMs / 20), options.canResume),
    new OutboxSweep(ports),
    new DeadlinesSweep(ports),
    new ExpiriesSweep(ports),
    new HoldsSweep(ports),
    new BlobsSweep(ports),
    new RetentionSweep(ports),
    new SessionsSweep(ports.advancer),
    {
      name: 'partitions',
      everyMs: HOUR_MS,
      runOnce: async () => {
        await options.ensurePartitions();
      },
    },
  ];
}
