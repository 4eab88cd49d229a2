import type {
  Append,
  Appended,
  AuditEntry,
  ControlGuard,
  Dispatch,
  EventDraft,
  RunGuard,
  SessionEnd,
  TaskId,
  TaskKey,
  BlobReference,
  CallRecord,
} from '#lib/domain';
import { continues, joinDeltas } from './delta-joiner.js';

const NONE: readonly AuditEntry[] = [];

/** Where a run stands in the log: the guard of its appends. One per run, moved on by the writer. */
export class RunCursor {
  /** Events of this run that are stored. */
  runPos = 0;

  constructor(readonly runNo: number) {}
}

/** What became of a write. Only `stored` left anything behind. */
export type WriteOutcome =
  | { readonly kind: 'stored'; readonly appended: Appended }
  /** The guard failed: the run is not the live one any more, or the task is in another state. */
  | { readonly kind: 'fenced' }
  /** The database would not take these events. */
  | { readonly kind: 'refused'; readonly cause: unknown }
  /** The database did not answer for too long, or the writer is closed. */
  | { readonly kind: 'unavailable'; readonly cause: unknown };

/** Events of one task that are stored together, in the order of their writes. */
export interface Write {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly guard: RunCursor | ControlGuard;
  readonly events: readonly EventDraft[];
  /** JSON text. */
  readonly checkpoint?: string;
  /** Null: what was saved is dropped. */
  readonly workspace?: BlobReference | null;
  readonly dispatch?: Dispatch;
  /** With the last write of a run, when its task belongs to a session. */
  readonly session?: SessionEnd;
  /** JSON text; with a control guard only. */
  readonly answer?: string;
  /** JSON text; with `task.released` only. */
  readonly input?: string;
  readonly audit?: readonly AuditEntry[];
  /** With a control guard only. */
  readonly call?: CallRecord;
  /** With a run's guard: not stored when a cancel was asked. Never joined, so that nothing else shares its fate. */
  readonly unlessCancelled?: true;
  readonly settle?: (outcome: WriteOutcome) => void;
}

/** One append and the writes it is made of. */
export interface Work {
  readonly taskId: TaskId;
  readonly append: Append;
  readonly writes: readonly Write[];
}

/** Writes that wait, by task, first come first served. */
export class WriteQueue {
  private readonly lanes = new Map<TaskKey, Write[]>();

  get isEmpty(): boolean {
    return this.lanes.size === 0;
  }

  push(write: Write): void {
    const lane = this.lanes.get(write.taskKey);
    if (lane) lane.push(write);
    else this.lanes.set(write.taskKey, [write]);
  }

  /** The next batch: at most `maxRows` events (a single larger write goes alone), at most one append per task. */
  take(maxRows: number): Work[] {
    const works: Work[] = [];
    const leftOvers: [TaskKey, Write[]][] = [];
    let rows = 0;
    for (const [taskKey, lane] of this.lanes) {
      const count = countFitting(lane, works.length === 0 ? Math.max(maxRows, lane[0]!.events.length) : maxRows - rows);
      if (count === 0) continue;
      const work = merge(lane.splice(0, count));
      works.push(work);
      rows += work.append.events.length;
      this.lanes.delete(taskKey);
      if (lane.length > 0) leftOvers.push([taskKey, lane]);
      if (rows >= maxRows) break;
    }
    // What is left goes to the end of the line, so that one busy task cannot starve the others.
    for (const [taskKey, lane] of leftOvers) this.lanes.set(taskKey, lane);
    return works;
  }

  /** Takes out what a run still has waiting. */
  drop(taskKey: TaskKey, guard: RunCursor): Write[] {
    const lane = this.lanes.get(taskKey) ?? [];
    const kept = lane.filter((write) => write.guard !== guard);
    if (kept.length > 0) this.lanes.set(taskKey, kept);
    else this.lanes.delete(taskKey);
    return lane.filter((write) => write.guard === guard);
  }
}

/** How many writes at the head of a lane can go in one append of at most `maxRows` events. */
function countFitting(lane: readonly Write[], maxRows: number): number {
  const guard = lane[0]!.guard;
  let rows = 0;
  let last: EventDraft | undefined;
  let count = 0;
  for (const write of lane) {
    if (count > 0 && (write.guard !== guard || !(guard instanceof RunCursor) || write.unlessCancelled)) break;
    for (const draft of write.events) {
      if (!continues(last, draft)) rows += 1;
      last = draft;
    }
    if (rows > maxRows) break;
    count += 1;
    if (write.dispatch || write.unlessCancelled) break;
  }
  return count;
}

function merge(writes: readonly Write[]): Work {
  const [first] = writes as [Write];
  const last = writes.at(-1)!;
  const guard = first.guard;
  const checkpoint = writes.findLast((write) => write.checkpoint !== undefined)?.checkpoint;
  const workspace = writes.findLast((write) => write.workspace !== undefined)?.workspace;
  const audit = writes.flatMap((write) => write.audit ?? NONE);
  const append: Append = {
    taskKey: first.taskKey,
    guard: guard instanceof RunCursor ? runGuard(guard, first) : guard,
    events: joinDeltas(writes.length === 1 ? first.events : writes.flatMap((write) => write.events)),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(last.dispatch ? { dispatch: last.dispatch } : {}),
    ...(last.session ? { session: last.session } : {}),
    ...(audit.length > 0 ? { audit } : {}),
    ...controlParts(first),
  };
  return { taskId: first.taskId, append, writes };
}

/** What only writes with a control guard bring along, which are never joined. */
function controlParts({ answer, input, call }: Write): Pick<Append, 'answer' | 'input' | 'call'> {
  return {
    ...(answer === undefined ? {} : { answer }),
    ...(input === undefined ? {} : { input }),
    ...(call ? { call } : {}),
  };
}

function runGuard({ runNo, runPos }: RunCursor, { unlessCancelled }: Write): RunGuard {
  return { kind: 'run', runNo, runPos, ...(unlessCancelled ? { cancelRequested: false } : {}) };
}
