import { strict as assert } from 'node:assert';
import {
  applyPatch,
  type ConfirmationProjection,
  type EventBody,
  foldEvents,
  isTerminal,
  type Projection,
  type TaskId,
  type TaskKey,
  type TaskState,
  transition,
} from '#lib/domain';
import { Database, PgEventLog, PgTaskStore } from '#lib/persistence';

interface Stores {
  readonly log: PgEventLog;
  readonly store: PgTaskStore;
  readonly database: Database;
}

interface StoredTask {
  task_key: TaskKey;
  task_id: TaskId;
  tenant: string;
}

const ALL = { name: '', text: 'select task_key, task_id, tenant from tasks order by task_key' };
const PAGE = { limit: 10_000 };

/** Rebuilds every task of a database from its events alone and compares it with the stored rows; also: seqs are dense, no event is illegal. */
export async function assertProjections(databaseUrl: string): Promise<number> {
  const database = new Database({ databaseUrl, max: 2, name: 'projection check' });
  try {
    const log = new PgEventLog(database, database);
    const store = new PgTaskStore(database);
    const tasks = await database.query<StoredTask>(ALL, []);
    for (const task of tasks) await assertTask(task, { log, store, database });
    return tasks.length;
  } finally {
    await database.close();
  }
}

async function assertTask(task: StoredTask, { log, store, database }: Stores): Promise<void> {
  const expected = await rebuild(task.task_key, log);
  const {
    runOpen,
    runtimeId,
    pool,
    taskKey,
    taskId,
    tenant,
    blockedBy,
    lastHeartbeatAtMs,
    pendingConfirmations,
    ...stored
  } = (await store.snapshot({ tenant: task.tenant }, task.task_id)) ?? assert.fail(`${task.task_id} has no snapshot`);
  const what = `task ${taskId} (${tenant}, ${taskKey}, run open: ${runOpen} at ${runtimeId} of ${pool}, blocked by ${blockedBy}, seen ${lastHeartbeatAtMs})`;
  assert.deepEqual(stored, expected.task, what);
  assert.deepEqual(
    new Map((await store.steps(task.task_key, PAGE)).items.map((step) => [step.stepId, step])),
    expected.steps,
    `steps of ${what}`,
  );
  const artifacts = (await store.artifacts(task.task_key, PAGE)).items.map(
    ({ taskKey: _key, tenant: _tenant, createdAtMs: _at, ...artifact }) => [artifact.artifact_id, artifact] as const,
  );
  assert.deepEqual(new Map(artifacts), expected.artifacts, `artifacts of ${what}`);
  const asked = [...expected.confirmations.values()];
  const pending = asked.filter((item) => item.state === 'pending');
  assert.deepEqual(pendingConfirmations, pending, `pending confirmations of ${what}`);
  const rows = await database.query<ConfirmationRow>(CONFIRMATIONS, [task.task_key]);
  assert.deepEqual(new Set(rows.map(decodeConfirmation)), new Set(asked), `confirmations of ${what}`);
  const [guards] = await database.query<GuardColumns>(GUARDS, [task.task_key]);
  assert.deepEqual({ ...guards }, guardsOf(expected), `what lists and guards go by of ${what}`);
}

/** Columns that no snapshot shows: lists find ended tasks by them, and the guard of an answer reads when it expires. */
interface GuardColumns {
  readonly end_state: TaskState | null;
  readonly error_code: string | null;
  readonly wait_until: Date | null;
}

const GUARDS = {
  name: '',
  text: 'select end_state, error_code, wait_until from tasks join task_heads using (task_key) where task_key = $1',
};

function guardsOf({ task, confirmations }: Projection): GuardColumns {
  const asked = [...confirmations.values()].filter(({ waitId }) => waitId === task.waitId);
  const expiries = asked.map(({ expires_at }) => Date.parse(expires_at));
  return {
    end_state: isTerminal(task.state) ? task.state : null,
    error_code: task.error?.code ?? null,
    wait_until: expiries.length > 0 ? new Date(Math.min(...expiries)) : null,
  };
}

const CONFIRMATIONS = {
  name: '',
  text: `select tool_call_id, kind, tool_name, arguments, prompt, digest, expires_at, wait_id, state, decision, decided_by,
    decided_at, used_by from confirmations where task_key = $1`,
};

interface ConfirmationRow extends Pick<
  ConfirmationProjection,
  'tool_call_id' | 'kind' | 'prompt' | 'tool_name' | 'digest' | 'state'
> {
  readonly arguments: string | null;
  readonly expires_at: Date;
  readonly wait_id: string;
  readonly decision: string | null;
  readonly decided_by: string | null;
  readonly decided_at: Date | null;
  readonly used_by: readonly string[];
}

function decodeConfirmation(row: ConfirmationRow): ConfirmationProjection {
  const { tool_call_id, kind, tool_name, prompt, digest, state } = row;
  const optional = {
    tool_name,
    prompt,
    arguments: row.arguments === null ? null : (JSON.parse(row.arguments) as unknown),
  };
  return {
    tool_call_id,
    kind,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
    digest,
    expires_at: row.expires_at.toISOString(),
    waitId: row.wait_id,
    state,
    decidedBy: row.decided_by,
    decision: row.decision === null ? null : (JSON.parse(row.decision) as ConfirmationProjection['decision']),
    decidedAtMs: row.decided_at?.getTime() ?? null,
    usedBy: row.used_by[0] ?? null,
  };
}

async function rebuild(taskKey: TaskKey, log: PgEventLog): Promise<Projection> {
  let projection: Projection | undefined;
  let state: TaskState | undefined;
  let seq = 0;
  for (;;) {
    const events = await log.page(taskKey, seq, { maxEvents: 500, maxBytes: 1 << 22 });
    for (const event of events) {
      assert.equal(event.seq, seq + 1, `seq of ${taskKey} has a hole`);
      seq = event.seq;
      const body = { type: event.type, payload: JSON.parse(event.payload) } as EventBody;
      state = transition(state, body.type);
      projection = applyPatch(projection, foldEvents([body]), { lastSeq: seq, atMs: event.atMs });
    }
    if (events.length === 0) return projection ?? assert.fail(`${taskKey} has no events`);
  }
}
