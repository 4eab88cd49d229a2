import {
  type ArtifactRecord,
  type TaskRecord,
  DomainError,
  type NumberedPage,
  type PageWindow,
  type TaskKey,
  type TaskRecords,
} from '#lib/domain';
import { type Caller, taskScopeOf } from './caller.js';

/** Lists repeat what was asked unless it is long, and the first files only: many tasks are in one answer. */
const IN_LISTS = { maxRequestBytes: 16_384, maxArtifacts: 100 };
const ALONE = { maxRequestBytes: 16_777_216, maxArtifacts: 1_000 };

/** Tasks with what was asked of them, for wires that show it. Keys are of tasks their caller was shown to reach. */
export class TaskRecordsService {
  constructor(private readonly records: TaskRecords) {}

  /** Newest first. */
  async list(caller: Caller, window: PageWindow): Promise<NumberedPage<TaskRecord>> {
    const { items, total } = await this.records.list(taskScopeOf(caller), window);
    return { items: await this.records.asked(items, IN_LISTS), total };
  }

  async asked(taskKey: TaskKey): Promise<TaskRecord> {
    const [task] = await this.records.asked([taskKey], ALONE);
    if (!task) throw new DomainError('not_found', 'There is no such task.');
    return task;
  }

  /** Oldest first. */
  artifacts(taskKey: TaskKey, window: PageWindow): Promise<NumberedPage<ArtifactRecord>> {
    return this.records.artifacts(taskKey, window);
  }

  /** The seq of the last event that was handed out as a step; 0: none was. */
  stepCursor(taskKey: TaskKey): Promise<number> {
    return this.records.stepCursor(taskKey);
  }

  /** False when somebody else has moved it from there. */
  moveStepCursor(taskKey: TaskKey, from: number, to: number): Promise<boolean> {
    return this.records.moveStepCursor(taskKey, from, to);
  }
}
