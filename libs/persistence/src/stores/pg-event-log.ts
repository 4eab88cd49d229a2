import {
  type Append,
  type Appended,
  type BlobReference,
  EventLog,
  type EventId,
  type EventPlace,
  type EventReference,
  type EventType,
  type PageLimits,
  type StoredEvent,
  type Tail,
  type TaskId,
  type TaskKey,
  type TaskState,
} from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { appendParts, foldAppend, type FoldedAppend } from './append.document.js';
import { eventIdOf, uuidOf } from './event-id.js';
import { APPEND_PARTS, appendStatement } from './append.statement.js';

/** The event log in Postgres. Appends run on the writer's connection, reads on the log readers' pool. */
export class PgEventLog extends EventLog {
  constructor(
    private readonly writer: Database,
    private readonly readers: Database,
  ) {
    super();
  }

  override async append(batch: readonly Append[]): Promise<readonly Appended[]> {
    if (batch.length === 0) return [];
    const folded = batch.map(foldAppend);
    const documents = appendParts(folded);
    const parts = APPEND_PARTS.filter((part) => documents.has(part));
    const values = [
      ...headColumns(folded),
      ...eventColumns(batch),
      ...parts.map((part) => JSON.stringify(documents.get(part))),
    ];
    const rows = await this.writer.query<AppendedRow>(appendStatement(parts), values);
    return rows.map((row) => decodeAppended(row, batch));
  }

  override async page(taskKey: TaskKey, afterSeq: number, limits: PageLimits): Promise<readonly StoredEvent[]> {
    const rows = await this.readers.query<EventRow>(PAGE, [taskKey, afterSeq, limits.maxEvents, limits.maxBytes]);
    return rows.map(decodeEvent);
  }

  override async tails(taskKeys: readonly TaskKey[]): Promise<ReadonlyMap<TaskKey, Tail>> {
    const rows = await this.readers.query<TailRow>(TAILS, [taskKeys]);
    return new Map(
      rows.map((row) => [row.task_key, { taskId: row.task_id, lastSeq: row.last_seq, state: row.state }] as const),
    );
  }

  override async locate(events: readonly EventReference[]): Promise<ReadonlyMap<EventId, EventPlace>> {
    const rows = await this.readers.query<PlaceRow>(LOCATE, [
      events.map(({ taskKey }) => taskKey),
      events.map(({ eventId }) => uuidOf(eventId)),
    ]);
    return new Map(rows.map((row) => [eventIdOf(row.event_id), { seq: row.seq, atMs: row.at_ms }] as const));
  }

  override async workspaces(taskKeys: readonly TaskKey[]): Promise<ReadonlyMap<TaskKey, BlobReference>> {
    const rows = await this.readers.query<WorkspaceRow>(WORKSPACES, [taskKeys]);
    return new Map(rows.map(({ task_key, sha256, size }) => [task_key, { sha256, size }] as const));
  }

  override async select(taskKey: TaskKey, types: readonly EventType[]): Promise<readonly StoredEvent[]> {
    return (await this.readers.query<EventRow>(SELECT, [taskKey, types])).map(decodeEvent);
  }

  override async seqOf(taskKey: TaskKey, eventId: EventId): Promise<number | undefined> {
    const [row] = await this.readers.query<{ seq: number }>(SEQ_OF, [taskKey, uuidOf(eventId)]);
    return row?.seq;
  }
}

/** A page ends at the row with which it passes its bytes; the running sum stops reading there. */
const PAGE: Statement = {
  name: 'event-log.page',
  text: `
select seq, event_id, event_type, at_ms, payload from (
  select seq, event_id, event_type, (extract(epoch from at) * 1000)::float8 as at_ms, payload,
    sum(octet_length(payload) + 256) over (order by seq) - octet_length(payload) - 256 as bytes_before
  from (select * from events where task_key = $1 and seq > $2 order by seq limit $3) e
) p where bytes_before < $4 order by seq`,
};

const SELECT: Statement = {
  name: 'event-log.select',
  text: `
select seq, event_id, event_type, (extract(epoch from at) * 1000)::float8 as at_ms, payload
from events where task_key = $1 and event_type = any ($2) order by seq`,
};

const TAILS: Statement = {
  name: 'event-log.tails',
  text: `
select h.task_key, t.task_id, h.last_seq, h.state
from task_heads h join tasks t using (task_key) where h.task_key = any ($1::uuid[])`,
};

const LOCATE: Statement = {
  name: 'event-log.locate',
  text: `
select e.event_id, e.seq, (extract(epoch from e.at) * 1000)::float8 as at_ms
from unnest($1::uuid[], $2::uuid[]) as r(task_key, event_id)
join events e on e.task_key = r.task_key and e.event_id = r.event_id`,
};

const WORKSPACES: Statement = {
  name: 'event-log.workspaces',
  text: 'select task_key, sha256, size::float8 as size from workspaces where task_key = any ($1::uuid[])',
};

const SEQ_OF: Statement = {
  name: 'event-log.seq-of',
  text: 'select seq from events where task_key = $1 and event_id = $2::uuid',
};

interface AppendedRow {
  readonly place: number;
  readonly base_seq: number;
  readonly at_ms: number;
  readonly cancel_at_ms: number | null;
  readonly stalled: boolean;
}

interface EventRow {
  readonly seq: number;
  readonly event_id: string;
  readonly event_type: EventType;
  readonly at_ms: number;
  readonly payload: string;
}

interface PlaceRow {
  readonly event_id: string;
  readonly seq: number;
  readonly at_ms: number;
}

interface WorkspaceRow {
  readonly task_key: TaskKey;
  readonly sha256: string;
  readonly size: number;
}

interface TailRow {
  readonly task_key: TaskKey;
  readonly task_id: TaskId;
  readonly last_seq: number;
  readonly state: TaskState;
}

function decodeAppended(row: AppendedRow, batch: readonly Append[]): Appended {
  const append = batch[row.place - 1];
  if (!append) throw new Error('append answered for a task that was not in the batch');
  return {
    taskKey: append.taskKey,
    baseSeq: row.base_seq,
    atMs: row.at_ms,
    stalled: row.stalled,
    ...(row.cancel_at_ms === null ? {} : { cancelAtMs: row.cancel_at_ms }),
  };
}

function decodeEvent(row: EventRow): StoredEvent {
  return {
    seq: row.seq,
    eventId: eventIdOf(row.event_id),
    type: row.event_type,
    atMs: row.at_ms,
    payload: row.payload,
  };
}

function headColumns(batch: readonly FoldedAppend[]): unknown[] {
  const column = (pick: (folded: FoldedAppend) => unknown): unknown[] => batch.map(pick);
  return [
    column(({ append }) => append.taskKey),
    column(({ append }) => append.events.length),
    column(({ append: { guard } }) => guard.runNo ?? null),
    column(({ append: { guard } }) => (guard.kind === 'run' ? guard.runPos : null)),
    column(({ append: { guard } }) => (guard.kind === 'control' ? guard.from.join(' ') : null)),
    column(({ append: { guard } }) => (guard.kind === 'control' ? (guard.runOpen ?? null) : null)),
    column(({ append: { guard } }) => (guard.kind === 'control' ? (guard.waitId ?? null) : null)),
    column(({ append: { guard } }) => (guard.kind === 'control' ? (guard.leaseExpired ?? null) : null)),
    column(({ patch }) => patch.state ?? null),
    column(({ append, patch }) => patch.runOpen === false || append.dispatch !== undefined),
    column(({ patch }) => (patch.waitId === null ? '' : (patch.waitId ?? null))),
    column(({ patch }) => patch.waitUntil ?? null),
    column(({ patch }) => patch.stalled ?? null),
    column(({ patch }) => patch.cancelRequested),
    column(({ patch }) => patch.progressed),
    column(lostRuns),
    column(({ append: { guard } }) => (guard.kind === 'control' ? (guard.stalled ?? null) : null)),
    column(({ append: { guard } }) => guard.cancelRequested ?? null),
    column(({ append: { guard } }) => (guard.kind === 'control' ? (guard.held ?? null) : null)),
    column(({ patch }) => patch.released === true || patch.finished),
  ];
}

/** 1 counts one more lost run, 0 starts over (a pause or a checkpoint is progress), null leaves the count. */
function lostRuns({ append, patch }: FoldedAppend): number | null {
  if (append.dispatch?.reason === 'lost') return 1;
  return append.checkpoint !== undefined || patch.state === 'waiting_for_input' ? 0 : null;
}

function eventColumns(batch: readonly Append[]): unknown[] {
  const place: number[] = [];
  const k: number[] = [];
  const ids: string[] = [];
  const types: string[] = [];
  const payloads: string[] = [];
  batch.forEach((append, index) => {
    append.events.forEach((event, offset) => {
      place.push(index + 1);
      k.push(offset + 1);
      ids.push(uuidOf(event.eventId));
      types.push(event.body.type);
      payloads.push(event.json);
    });
  });
  return [place, k, ids, types, payloads];
}
