import {
  type AttemptOutcome,
  type AuditEntry,
  type ClaimedDelivery,
  type DeliveryOwner,
  type DeliveryRecord,
  DeliveryStore,
  type DeliveryVerdict,
  type DueLane,
  type EventId,
  type EventType,
  type Page,
  type PageRequest,
  type RecordedAttempt,
  type Settled,
  type TaskId,
  type TaskKey,
  type TaskState,
  type WebhookEvent,
} from '#lib/domain';
import { newEventId } from '#lib/platform';
import type { Database } from '../database.js';
import { auditValues } from './audit.columns.js';
import {
  CLAIM_DELIVERY,
  COUNT_DUE,
  DUE_LANES,
  GIVE_UP,
  LIST_OF_TASK,
  LIST_OF_WEBHOOK,
  REPLAY,
  SETTLE,
} from './delivery.statements.js';
import { eventIdOf, uuidOf } from './event-id.js';
import { cut, decodeCursor } from './page.js';
import { secretsOf, type SecretsRow } from './pg-webhook-store.js';

/** A webhook of which every attempt has failed for so long is switched off. */
const FAILING_MS = 5 * 24 * 3_600_000;
const EVENT_ID = /^evt_[0-9a-f]{32}$/;

/** Deliveries in Postgres. */
export class PgDeliveryStore extends DeliveryStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async dueLanes(
    after: string,
    limits: { readonly lanes: number; readonly perLane: number },
  ): Promise<readonly DueLane[]> {
    return this.database.query<DueLane>(DUE_LANES, [after, limits.lanes, limits.perLane]);
  }

  override async claim(lane: string, leaseMs: number): Promise<ClaimedDelivery | undefined> {
    const [row] = await this.database.query<ClaimedRow>(CLAIM_DELIVERY, [lane, leaseMs]);
    return row && decodeClaimed(lane, row);
  }

  override async settle(
    { lane, eventId, taskKey, attempt }: ClaimedDelivery,
    outcome: AttemptOutcome,
    verdict: DeliveryVerdict,
  ): Promise<Settled> {
    const isGone = verdict.kind === 'failed' && verdict.endpointGone;
    const [row] = await this.database.query<{ stopped: 'gone' | 'failing' | null }>(SETTLE, [
      lane,
      uuidOf(eventId),
      attempt,
      verdict.kind === 'retry' ? 'pending' : verdict.kind,
      verdict.kind === 'retry' ? verdict.delayMs : null,
      outcome.error === 'interrupted' ? 0 : 1,
      JSON.stringify([encodeAttempt(attempt, outcome)]),
      verdict.kind === 'delivered',
      isGone,
      FAILING_MS,
      uuidOf(newEventId()),
    ]);
    if (!row) return { recorded: false };
    if (row.stopped !== null) await this.database.query(GIVE_UP, [lane, null]);
    else if (isGone) await this.database.query(GIVE_UP, [lane, taskKey]);
    return { recorded: true, ...(row.stopped === null ? {} : { stopped: row.stopped }) };
  }

  override async list(owner: DeliveryOwner, page: PageRequest): Promise<Page<DeliveryRecord>> {
    const before = decodeCursor(page, EVENT_ID);
    const values = [before === undefined ? null : uuidOf(before as EventId), page.limit + 1];
    const rows =
      'webhookId' in owner
        ? await this.database.query<DeliveryRow>(LIST_OF_WEBHOOK, [owner.webhookId, ...values])
        : await this.database.query<DeliveryRow>(LIST_OF_TASK, [owner.taskKey, ...values]);
    return cut(rows.map(decodeDelivery), page, ({ eventId }) => eventId);
  }

  override async replay(
    owner: DeliveryOwner,
    eventId: EventId,
    audit: AuditEntry,
  ): Promise<DeliveryRecord | undefined> {
    const owners = 'webhookId' in owner ? [owner.webhookId, null] : [null, owner.taskKey];
    const [row] = await this.database.query<DeliveryRow>(REPLAY, [...owners, uuidOf(eventId), ...auditValues(audit)]);
    return row && decodeDelivery(row);
  }

  override async countDue(limit: number): Promise<number> {
    const [row] = await this.database.query<{ due: number }>(COUNT_DUE, [limit]);
    return row?.due ?? 0;
  }
}

/** An attempt in the column `attempts`. */
interface StoredAttempt {
  readonly attempt: number;
  /** When its outcome was known, in ms since the epoch. */
  readonly at: number;
  readonly status?: number;
  readonly error?: RecordedAttempt['error'];
  readonly ms: number;
}

function encodeAttempt(attempt: number, { status, error, latencyMs }: AttemptOutcome): StoredAttempt {
  return {
    attempt,
    at: Date.now(),
    ms: latencyMs,
    ...(status === undefined ? {} : { status }),
    ...(error && { error }),
  };
}

interface ClaimedRow extends SecretsRow {
  readonly event_id: string;
  readonly task_key: TaskKey;
  readonly attempt: number;
  readonly tries: number;
  readonly tenant: string;
  readonly webhook_id: string | null;
  readonly push_config: string | null;
  readonly push_format: string | null;
  readonly push_credentials: Buffer | null;
  readonly event_type: EventType;
  readonly seq: number;
  readonly task_state: TaskState;
  readonly run_no: number;
  readonly task_id: TaskId;
  readonly agent_id: string;
  readonly type: string | null;
  readonly session_id: string | null;
  readonly created_by: string;
  readonly created_at: Date;
  readonly at: Date;
  readonly payload: string;
  readonly url: string | null;
}

function decodeClaimed(lane: string, row: ClaimedRow): ClaimedDelivery {
  const eventId = eventIdOf(row.event_id);
  return {
    lane,
    eventId,
    taskKey: row.task_key,
    attempt: row.attempt,
    tries: row.tries,
    tenant: row.tenant,
    webhookId: row.webhook_id,
    ...(row.push_config === null ? {} : { push: decodePush(row.push_config, row) }),
    url: row.url,
    secrets: secretsOf(row),
    owner: { tenant: row.tenant, principal: row.created_by },
    facts: {
      eventId,
      type: row.event_type,
      seq: row.seq,
      atMs: row.at.getTime(),
      payload: row.payload,
      taskId: row.task_id,
      agentId: row.agent_id,
      taskType: row.type,
      sessionId: row.session_id,
      state: row.task_state,
      runNo: row.run_no,
      createdBy: row.created_by,
      createdAtMs: row.created_at.getTime(),
    },
  };
}

/** Without a form the config is gone: then there is no address either. */
function decodePush(id: string, row: ClaimedRow): NonNullable<ClaimedDelivery['push']> {
  return { id, format: row.push_format ?? '', credentials: row.push_credentials };
}

interface DeliveryRow {
  readonly event_id: string;
  readonly task_id: string;
  readonly event_type: WebhookEvent;
  readonly seq: number;
  readonly state: DeliveryRecord['state'];
  readonly created_at: Date;
  readonly next_attempt_at: Date | null;
  readonly attempts: readonly StoredAttempt[];
}

function decodeDelivery(row: DeliveryRow): DeliveryRecord {
  return {
    eventId: eventIdOf(row.event_id),
    taskId: row.task_id,
    event: row.event_type,
    seq: row.seq,
    state: row.state,
    createdAtMs: row.created_at.getTime(),
    nextAttemptAtMs: row.next_attempt_at?.getTime() ?? null,
    attempts: row.attempts.map(({ attempt, at, ms, status, error }) => ({
      attempt,
      atMs: at,
      latencyMs: ms,
      ...(status === undefined ? {} : { status }),
      ...(error === undefined ? {} : { error }),
    })),
  };
}
