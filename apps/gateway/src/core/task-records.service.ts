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

/** What was asked unless it is long, and the first files only. */
const BRIEF = { maxRequestBytes: 16_384, maxArtifacts: 100 };
const ALONE = { maxRequestBytes: 16_777_216, maxArtifacts: 1_000 };

/** Tasks with what was asked of them, for wires that show it. Keys are of tasks their caller was shown to reach. */
export class TaskRecordsService {
  constructor(private readonly records: TaskRecords) {}

  /** Newest first. */
  async list(caller: Caller, window: PageWindow): Promise<NumberedPage<TaskRecord>> {
    const { items, total } = await this.records.list(taskScopeOf(caller), window);
    return { items: await this.records.asked(items, BRIEF), total };
  }

  asked(taskKey: TaskKey): Promise<TaskRecord> {
    return this.one(taskKey, ALONE);
  }

  /** As lists have it. */
  brief(taskKey: TaskKey): Promise<TaskRecord> {
    return this.one(taskKey, BRIEF);
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

  private async one(taskKey: TaskKey, limits: typeof ALONE): Promise<TaskRecord> {
    const [task] = await this.records.asked([taskKey], limits);
    if (!task) throw new DomainError('not_found', 'There is no such task.');
    return task;
  }
}
