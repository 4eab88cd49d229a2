import type { TaskId, TaskKey } from '../ids.js';
import type { ArtifactRecord, TaskScope } from './task-store.js';

/** Part of a list whose pages are numbered. */
export interface PageWindow {
  readonly offset: number;
  /** 1 to 200. */
  readonly limit: number;
}

/** A page with the number of all items there are, as far as they are counted. */
export interface NumberedPage<T> {
  readonly items: readonly T[];
  readonly total: number;
}

/** How much of each task is read. */
export interface RecordLimits {
  /** What was asked in more bytes than this is left out. */
  readonly maxRequestBytes: number;
  readonly maxArtifacts: number;
}

/** A task with what was asked of it, as JSON text; null: it is too long. */
export interface TaskRecord {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly input: string | null;
  readonly context: string | null;
  /** The oldest ones. */
  readonly artifacts: readonly ArtifactRecord[];
}

/** Tasks as wires show them that repeat what was asked, number their pages and hand out steps one by one. */
export abstract class TaskRecords {
  /** In the order of the keys; those that are gone are missing. */
  abstract asked(taskKeys: readonly TaskKey[], limits: RecordLimits): Promise<readonly TaskRecord[]>;
  /** Newest first, of the newest 10,000. */
  abstract list(scope: TaskScope, window: PageWindow): Promise<NumberedPage<TaskKey>>;
  /** Oldest first. */
  abstract artifacts(taskKey: TaskKey, window: PageWindow): Promise<NumberedPage<ArtifactRecord>>;
  /** The seq of the last event that was handed out as a step; 0: none was. */
  abstract stepCursor(taskKey: TaskKey): Promise<number>;
  /** Compare-and-set: false when somebody else has moved it from there. */
  abstract moveStepCursor(taskKey: TaskKey, from: number, to: number): Promise<boolean>;
}
