import pg from 'pg';
import { encodeEnvelope, isTerminalEvent, type StoredEvent, type TaskId, type TaskKey } from '#lib/domain';
import { Database, PgEventLog } from '#lib/persistence';
import { trailFaults } from './audit.js';
import type { ClientHistory, Mutation, SentRequest, Subscription } from './history.js';
import { assertProjections } from './projections.js';
import type { Effect } from './scripted/index.js';

/** What a history must keep to. */
const RULES = {
  a: 'what was acknowledged is there',
  b: 'every task has exactly one end, and nothing after it',
  c: 'every subscriber has seen the log from its cursor, without gap, in its bytes',
  d: 'rows are what events say',
  e: 'every acknowledged change has one audit record, no other is there, and the trail verifies',
  f: 'no side effect happened twice, or without being in the log',
  g: 'tasks of a session run one after another, in the order in which they came',
} as const;

type Rule = keyof typeof RULES;

/** One way in which a history contradicts the database. */
export interface Finding {
  readonly rule: Rule;
  readonly what: string;
}

/** What the checker has found, and how much there was to find it in. */
export interface Verdict {
  readonly findings: readonly Finding[];
  readonly checked: Readonly<
    Record<'tasks' | 'events' | 'requests' | 'subscriptions' | 'delivered' | 'effects', number>
  >;
  readonly faults: Readonly<Record<string, number>>;
}

interface StoredTask {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly session: string;
  /** The place in the session; null for a task without one. */
  readonly ordinal: number | null;
  readonly events: readonly StoredEvent[];
}

interface Evidence {
  readonly history: ClientHistory;
  readonly tasks: ReadonlyMap<string, StoredTask>;
  /** Request ids of the audit records, by action and task. */
  readonly audit: ReadonlyMap<string, readonly string[]>;
  readonly effects: readonly Effect[];
  /** What verifying the audit trail has found. */
  readonly trail: readonly string[];
}

/**
 * Holds what clients have seen against what the database says, once everything is quiet. `effects` is what runners did
 * to the world. Task ids must be unique in the whole database.
 */
export async function checkHistory(
  databaseUrl: string,
  history: ClientHistory,
  effects: readonly Effect[] = [],
): Promise<Verdict> {
  const evidence: Evidence = {
    history,
    effects,
    trail: await trailFaults(databaseUrl),
    ...(await readDatabase(databaseUrl)),
  };
  const projections = await assertProjections(databaseUrl).then(
    () => [],
    (error: unknown) => [String(error)],
  );
  const broken: Record<Rule, readonly string[]> = {
    a: missingSubmits(evidence),
    b: wrongEnds(evidence),
    c: brokenStreams(evidence),
    d: projections,
    e: [...wrongAudit(evidence), ...evidence.trail],
    f: wrongEffects(evidence),
    g: overlaps(evidence),
  };
  const findings = (Object.keys(broken) as Rule[]).flatMap((rule) => broken[rule].map((what) => ({ rule, what })));
  const logs = [...evidence.tasks.values()];
  const checked = {
    tasks: logs.length,
    events: logs.reduce((sum, { events }) => sum + events.length, 0),
    requests: history.requests.length,
    subscriptions: history.subscriptions.length,
    delivered: history.subscriptions.reduce((sum, { events }) => sum + events.length, 0),
    effects: effects.length,
  };
  return { findings, checked, faults: Object.fromEntries(history.faults) };
}

/** Throws when something was found, and when nothing could have been: no fault struck, or nobody asked for anything. */
export function assertClean({ findings, checked, faults }: Verdict): void {
  const shown = findings.slice(0, 20).map(({ rule, what }) => `(${rule}) ${RULES[rule]}: ${what}`);
  if (shown.length > 0) throw new Error(`${findings.length} findings:\n${shown.join('\n')}`);
  if (Object.keys(faults).length === 0) throw new Error('The run is void: no fault has struck anything.');
  if (checked.requests === 0) throw new Error('The run is void: nobody has asked for anything.');
}

const TASKS = `select task_key as "taskKey", task_id as "taskId", ordinal::int,
  concat_ws(' ', agent_id, coalesce(user_id, created_by), session_id) as session
  from tasks`;

async function readDatabase(databaseUrl: string): Promise<Pick<Evidence, 'tasks' | 'audit'>> {
  const database = new Database({ databaseUrl, max: 2, name: 'checker' });
  const sql = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=switchyard' });
  await sql.connect();
  try {
    const log = new PgEventLog(database, database);
    const tasks = new Map<string, StoredTask>();
    for (const row of (await sql.query<Omit<StoredTask, 'events'>>(TASKS)).rows) {
      tasks.set(row.taskId, { ...row, events: await eventsOf(log, row.taskKey) });
    }
    const audit = new Map<string, string[]>();
    const records = await sql.query<{ action: string; target: string; request_id: string }>(
      'select action, target, request_id from audit_records',
    );
    for (const { action, target, request_id: requestId } of records.rows) {
      // What else is recorded, denied attempts and what the system does by itself, is nothing a client has asked for.
      if (!(action in MOST)) continue;
      const name = auditName(action, target);
      audit.set(name, [...(audit.get(name) ?? []), requestId]);
    }
    return { tasks, audit };
  } finally {
    await sql.end();
    await database.close();
  }
}

async function eventsOf(log: PgEventLog, taskKey: TaskKey): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const page = await log.page(taskKey, events.at(-1)?.seq ?? 0, { maxEvents: 500, maxBytes: 1 << 22 });
    if (page.length === 0) return events;
    events.push(...page);
  }
}

const auditName = (action: string, taskId: string): string => `${action} of ${taskId}`;
const isAcked = ({ status }: SentRequest): boolean => status !== undefined && status >= 200 && status < 300;

function missingSubmits({ history, tasks }: Evidence): string[] {
  const acked = new Set(history.requests.filter((sent) => sent.action === 'task.submit' && isAcked(sent)).map(taskOf));
  return [...acked].filter((taskId) => tasks.get(taskId)?.events[0]?.type !== 'task.created');
}

function wrongEnds({ tasks }: Evidence): string[] {
  return [...tasks.values()].flatMap(({ taskId, events }) => {
    const ends = events.filter(({ type }) => isTerminalEvent(type));
    if (ends.length !== 1) return [`${taskId} has ${ends.length} ends`];
    return ends[0] === events.at(-1) ? [] : [`${taskId} goes on after ${ends[0]?.type}`];
  });
}

function brokenStreams({ history, tasks }: Evidence): string[] {
  return history.subscriptions.flatMap((subscription) => {
    const task = tasks.get(subscription.taskId);
    const fault = task ? streamFault(subscription, task) : 'has no such task';
    return fault === undefined ? [] : [`a subscriber of ${subscription.taskId} ${fault}`];
  });
}

function streamFault({ afterSeq, events, isComplete }: Subscription, task: StoredTask): string | undefined {
  for (const [index, { seq, data }] of events.entries()) {
    const due = afterSeq + index + 1;
    if (seq !== due) return `saw ${seq} where ${due} was due`;
    const stored = task.events[seq - 1];
    if (stored?.seq !== seq) return `saw ${seq}, which is not stored`;
    if (encodeEnvelope(task.taskId, stored) !== data) return `saw ${seq} in other bytes than are stored`;
  }
  const seen = afterSeq + events.length;
  return isComplete && seen < task.events.length
    ? `was told of the end after ${seen} of ${task.events.length}`
    : undefined;
}

function wrongAudit({ history, audit, tasks }: Evidence): string[] {
  const byName = new Map<string, SentRequest[]>();
  for (const sent of history.requests) {
    const name = auditName(sent.action, sent.taskId);
    byName.set(name, [...(byName.get(name) ?? []), sent]);
  }
  const missing = [...byName].flatMap(([name, sent]) => auditFault(sent, audit.get(name) ?? []) ?? []);
  const foreign = [...audit.keys()].filter((name) => !byName.has(name)).map((name) => `${name}: nobody asked for it`);
  const answered = history.requests.filter(({ action }) => action === 'task.resume').map(taskOf);
  const uneven = [...new Set(answered)].flatMap((taskId) => {
    const accepted = tasks.get(taskId)?.events.filter(({ type }) => type === 'task.resumed').length ?? 0;
    const name = auditName('task.resume', taskId);
    const records = audit.get(name)?.length ?? 0;
    return records === accepted ? [] : [`${name}: ${records} records of ${accepted} answers in the log`];
  });
  return [...missing, ...foreign, ...uneven];
}

/** How many records the same change of one task may have, when one of its requests was acknowledged. */
const MOST: Readonly<Record<Mutation, number>> = { 'task.submit': 1, 'task.cancel': Infinity, 'task.resume': Infinity };

function auditFault(sent: readonly SentRequest[], records: readonly string[]): string | undefined {
  const [{ action, taskId }] = sent as [SentRequest];
  const name = auditName(action, taskId);
  const asked = new Set(sent.map(({ requestId }) => requestId));
  if (records.some((requestId) => !asked.has(requestId))) return `${name}: a record of a request that was never sent`;
  if (new Set(records).size < records.length) return `${name}: one request has several records`;
  if (records.length > MOST[action]) return `${name}: ${records.length} records of one change`;
  // A cancel is also acknowledged with nothing to write down: when the task is over, or is being cancelled already.
  const changed = sent.filter((request) => request.status === 202);
  if (changed.length > 0 && records.length === 0) return `${name}: no record of an acknowledged change`;
  if (action !== 'task.resume') return undefined;
  const unrecorded = changed.find(({ requestId }) => !records.includes(requestId));
  return unrecorded ? `${name}: no record of request ${unrecorded.requestId}` : undefined;
}

function wrongEffects({ effects, tasks }: Evidence): string[] {
  const seen = new Map<string, Effect>();
  return effects.flatMap((effect) => {
    const { taskId, token, runNo } = effect;
    const earlier = seen.get(`${taskId} ${token}`);
    seen.set(`${taskId} ${token}`, effect);
    if (earlier) return [`${token} of ${taskId} in run ${earlier.runNo} and in run ${runNo}`];
    const events = tasks.get(taskId)?.events ?? [];
    const isLogged = events.some(({ type, payload }) => type === 'tool.invoked' && callOf(payload) === token);
    return isLogged ? [] : [`${token} of ${taskId} in run ${runNo} is not in the log`];
  });
}

/** A task may start when the one before it has ended, or never started, and not earlier. */
function overlaps({ tasks }: Evidence): string[] {
  const started = [...tasks.values()].flatMap(({ taskId, session, ordinal, events }) => {
    const startedAtMs = events.find(({ type }) => type === 'task.started')?.atMs;
    const endedAtMs = events.find(({ type }) => isTerminalEvent(type))?.atMs ?? Infinity;
    return startedAtMs === undefined || ordinal === null ? [] : [{ taskId, session, ordinal, startedAtMs, endedAtMs }];
  });
  started.sort((one, other) => one.session.localeCompare(other.session) || one.ordinal - other.ordinal);
  return started.flatMap((task, at) => {
    const before = started[at - 1];
    if (before?.session !== task.session || before.endedAtMs <= task.startedAtMs) return [];
    return [`${task.taskId} began before ${before.taskId} had ended`];
  });
}

function callOf(payload: string): unknown {
  return (JSON.parse(payload) as { tool_call_id?: unknown }).tool_call_id;
}

function taskOf({ taskId }: SentRequest): string {
  return taskId;
}
