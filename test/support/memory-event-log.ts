import {
  type Append,
  type Appended,
  type BlobReference,
  type ControlGuard,
  EventLog,
  type EventId,
  type EventPlace,
  type EventReference,
  foldEvents,
  type PageLimits,
  type RunGuard,
  type StoredEvent,
  type Tail,
  type TaskId,
  type TaskKey,
  type TaskPatch,
  type TaskState,
} from '#lib/domain';

interface MemoryTask {
  state: TaskState;
  runNo: number;
  runOpen: boolean;
  runPos: number;
  waitId: string | null;
  cancelAtMs?: number;
  stalled: boolean;
  /** Absent: it is not. */
  held?: boolean;
  checkpoint?: string;
  answer?: string | undefined;
  workspace?: BlobReference;
  events: StoredEvent[];
}

/** Something that happens to an append: nothing of it is stored, or all of it though the caller is told otherwise. */
export interface AppendFault {
  readonly error: Error;
  readonly afterCommit?: boolean;
}

/** The event log in memory, by the same contract as the real one. */
export class MemoryEventLog extends EventLog {
  readonly tasks = new Map<TaskKey, MemoryTask>();
  /** Every batch that was asked for, in order. */
  readonly batches: (readonly Append[])[] = [];
  /** Faults of the next appends; undefined stands for one that works. */
  readonly faults: (AppendFault | undefined)[] = [];
  /** Refuses a batch, as a row that breaks a constraint does. */
  refuses: (append: Append) => boolean = () => false;
  /** Awaited by each append, so that a test can hold it back. */
  gate: Promise<void> = Promise.resolve();
  nowMs = 1_000;

  /** A task with an open run, as a claim leaves it. */
  claimed(taskKey: TaskKey, runNo = 1): MemoryTask {
    const task: MemoryTask = {
      state: 'running',
      runNo,
      runOpen: true,
      runPos: 0,
      waitId: null,
      stalled: false,
      events: [],
    };
    this.tasks.set(taskKey, task);
    return task;
  }

  override async append(batch: readonly Append[]): Promise<readonly Appended[]> {
    this.batches.push(batch);
    await this.gate;
    const fault = this.faults.shift();
    if (fault && !fault.afterCommit) throw fault.error;
    if (new Set(batch.map(({ taskKey }) => taskKey)).size < batch.length) throw new Error('two appends of one task');
    if (batch.some(this.refuses)) throw Object.assign(new Error('refused'), { code: '23514' });
    const appended = batch.flatMap((append) => this.apply(append) ?? []);
    if (fault) throw fault.error;
    return appended;
  }

  override async page(taskKey: TaskKey, afterSeq: number, { maxEvents }: PageLimits): Promise<readonly StoredEvent[]> {
    return this.events(taskKey)
      .filter(({ seq }) => seq > afterSeq)
      .slice(0, maxEvents);
  }

  override async tails(taskKeys: readonly TaskKey[]): Promise<ReadonlyMap<TaskKey, Tail>> {
    const known = taskKeys.filter((key) => this.tasks.has(key));
    return new Map(known.map((key) => [key, this.tail(key)]));
  }

  override async locate(events: readonly EventReference[]): Promise<ReadonlyMap<EventId, EventPlace>> {
    const stored = events.flatMap(({ taskKey, eventId }) =>
      this.events(taskKey).filter((event) => event.eventId === eventId),
    );
    return new Map(stored.map(({ eventId, seq, atMs }) => [eventId, { seq, atMs }]));
  }

  override async workspaces(taskKeys: readonly TaskKey[]): Promise<ReadonlyMap<TaskKey, BlobReference>> {
    const saved = taskKeys.map((taskKey) => [taskKey, this.tasks.get(taskKey)?.workspace] as const);
    return new Map(saved.flatMap(([taskKey, workspace]) => (workspace ? [[taskKey, workspace]] : [])));
  }

  override async select(taskKey: TaskKey, types: readonly string[]): Promise<readonly StoredEvent[]> {
    return this.events(taskKey).filter(({ type }) => types.includes(type));
  }

  override async seqOf(taskKey: TaskKey, eventId: EventId): Promise<number | undefined> {
    return this.events(taskKey).find((event) => event.eventId === eventId)?.seq;
  }

  /** The types of a task's events, in order. */
  types(taskKey: TaskKey): string[] {
    return this.events(taskKey).map(({ type }) => type);
  }

  events(taskKey: TaskKey): readonly StoredEvent[] {
    return this.tasks.get(taskKey)?.events ?? [];
  }

  private tail(taskKey: TaskKey): Tail {
    const { events, state } = this.tasks.get(taskKey)!;
    return { taskId: taskKey as string as TaskId, lastSeq: events.length, state };
  }

  private apply(append: Append): Appended | undefined {
    const task = this.tasks.get(append.taskKey);
    if (!task || !holds(task, append.guard)) return undefined;
    const patch = foldEvents(append.events.map(({ body }) => body));
    const baseSeq = task.events.length;
    append.events.forEach(({ eventId, body, json }, index) =>
      task.events.push({ seq: baseSeq + 1 + index, eventId, type: body.type, atMs: this.nowMs, payload: json }),
    );
    move(task, append, patch, this.nowMs);
    const { cancelAtMs, stalled } = task;
    return {
      taskKey: append.taskKey,
      baseSeq,
      atMs: this.nowMs,
      stalled,
      ...(cancelAtMs === undefined ? {} : { cancelAtMs }),
    };
  }
}

function move(task: MemoryTask, append: Append, patch: TaskPatch, nowMs: number): void {
  if (append.guard.kind === 'run') task.runPos += append.events.length;
  task.state = patch.state ?? task.state;
  task.runOpen &&= patch.runOpen !== false && append.dispatch === undefined;
  task.waitId = patch.waitId === undefined ? task.waitId : patch.waitId;
  moveFlags(task, patch);
  task.checkpoint = append.checkpoint ?? task.checkpoint;
  task.answer = append.checkpoint === undefined ? (append.answer ?? task.answer) : undefined;
  saveWorkspace(task, append, patch);
  if (patch.cancelRequested) task.cancelAtMs ??= nowMs;
}

function moveFlags(task: MemoryTask, patch: TaskPatch): void {
  task.stalled = patch.stalled ?? task.stalled;
  if (patch.released || patch.finished) delete task.held;
}

function saveWorkspace(task: MemoryTask, { workspace, guard }: Append, { finished }: TaskPatch): void {
  if (workspace) task.workspace = workspace;
  if (workspace === null || (finished && guard.kind === 'control')) delete task.workspace;
}

function holds(task: MemoryTask, guard: RunGuard | ControlGuard): boolean {
  if (!agrees(guard.cancelRequested, task.cancelAtMs !== undefined)) return false;
  if (guard.kind === 'run') return task.runOpen && task.runNo === guard.runNo && task.runPos === guard.runPos;
  return (
    guard.from.includes(task.state) &&
    agrees(guard.runOpen, task.runOpen) &&
    agrees(guard.runNo, task.runNo) &&
    agrees(guard.waitId, task.waitId) &&
    agrees(guard.stalled, task.stalled) &&
    agrees(guard.held, task.held ?? false)
  );
}

/** A condition that is not asked for holds. */
function agrees<T>(asked: T | undefined, actual: T | null): boolean {
  return asked === undefined || asked === actual;
}
