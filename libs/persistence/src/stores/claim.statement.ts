import type { AskedCall, RunPolicy } from '#lib/domain';
import type { Statement } from '../database.js';
import { ARTIFACT_COLUMNS, STEP_COLUMNS } from './task.rows.js';

/** The tool calls that the newest answer of a task was about, as a JSON array; null when there is none. */
export const ASKED = (taskKey: string): string => `select json_agg(a) from (
    select tool_call_id, tool_name, digest, decision, wait_id, decided_by, used_by[1] as used_by from confirmations where task_key = ${taskKey}
      and kind = 'tool_confirmation' and decision is not null
      and wait_id = (select max(wait_id) from confirmations where task_key = ${taskKey}) order by position) a`;

export interface AskedRow {
  readonly tool_call_id: string;
  readonly tool_name: string | null;
  readonly digest: string;
  readonly decision: string;
  readonly wait_id: string;
  readonly decided_by: string;
  readonly used_by: string | null;
}

export function decodeAsked(rows: readonly AskedRow[] | null): readonly AskedCall[] {
  return (rows ?? []).map(({ tool_call_id, tool_name, digest, decision, wait_id, decided_by, used_by }) => ({
    toolCallId: tool_call_id,
    toolName: tool_name,
    digest,
    decision,
    waitId: wait_id,
    decidedBy: decided_by,
    usedBy: used_by,
  }));
}

/** Names of the server's tools a task's runs may call: those its caller left of the backend's. */
export function decodeAllowed(allowedTools: string | null, policy: RunPolicy): readonly string[] {
  return allowedTools === null ? policy.tools : (JSON.parse(allowedTools) as readonly string[]);
}

/**
 * Compare-and-set of many runs: job n is won where the head stands at run n - 1 with no open run. Claim, lease, event and
 * the end of the outbox row are one statement, which also reads what the executor needs. What a stall wrote into the row
 * while this waited for the head is not seen here, so the head's flag decides whether the row is touched.
 */
const claimText = (before: EarlierRuns): string => `
with input as (
  select * from unnest($1::uuid[], $2::int[], $3::uuid[]) as i(task_key, run_no, event_id)
),
locked as (
  select i.*, date_trunc('milliseconds', clock_timestamp()) as now_at
  from input i join task_heads h using (task_key)
  where h.run_no = i.run_no - 1 and not h.run_open and h.state in ('queued', 'running')
  order by h.task_key for no key update of h
),
taken as (
  delete from outbox o using locked l where o.task_key = l.task_key and o.run_no = l.run_no
  returning o.task_key, o.reason, o.attempt, o.error
),
moved as (
  update task_heads h set run_no = l.run_no, run_open = true, runtime_id = $4, run_pos = 0, state = 'running',
    last_seq = h.last_seq + 1, last_at = greatest(h.last_at, l.now_at), progress_at = greatest(h.last_at, l.now_at),
    started_at = coalesce(h.started_at, greatest(h.last_at, l.now_at)),
    lease_until = clock_timestamp() + $5::int * interval '1 ms', attempt = coalesce(t.attempt, h.attempt)
  from locked l left join taken t using (task_key) where h.task_key = l.task_key
  returning h.task_key, h.run_no, h.last_seq as seq, h.last_at as at, h.cancel_at, h.stalled, h.attempt, l.event_id,
    coalesce(t.reason, case when h.run_no = 1 then 'submitted' else 'lost' end) as reason, t.error
),
stored as (
  insert into events (task_key, seq, event_id, event_type, at, payload)
  select task_key, seq, event_id, case when reason in ('submitted', 'resumed') then 'task.started' else 'task.retrying' end, at,
    '{"run_no":' || run_no || ',"runtime_id":' || to_json($4::text) ||
    case when reason in ('submitted', 'resumed') then '' else ',"reason":"' || reason || '"' end ||
    case when error is null then '' else ',"error":' || error end || '}'
  from moved
  returning task_key, event_type, payload
),
rows as (
  update tasks t set waiting_on = null,
    current_step = case when w.reason in ('submitted', 'resumed') then t.current_step end
  from moved w where t.task_key = w.task_key
    and (w.stalled or w.run_no > 1 and (t.waiting_on is not null or t.current_step is not null))
)${before.ctes}
select w.task_key, w.run_no, w.seq, (extract(epoch from w.at) * 1000)::float8 as at_ms, w.reason, w.attempt,
  (extract(epoch from w.cancel_at) * 1000)::float8 as cancel_at_ms, w.stalled, e.event_type, e.payload, w.event_id,
  t.task_id, t.tenant, t.agent_id, t.type, t.session_id, t.user_id, t.created_by, t.runner, t.detail,
  (extract(epoch from t.deadline_at) * 1000)::float8 as deadline_at_ms, t.input, t.context, t.client_tools, t.allowed_tools, t.input_artifacts,
  t.backend_version_id, b.options, b.policy,
  case when t.ordinal is null then null else (
    select v.data from session_conversations v where v.tenant = t.tenant and v.agent_id = t.agent_id
      and v.user_id = coalesce(t.user_id, t.created_by) and v.session_id = t.session_id and v.ordinal < t.ordinal) end as conversation,
  ${before.columns}
from moved w join stored e using (task_key) join tasks t using (task_key)
join backend_versions b on b.id = t.backend_version_id ${before.joins}`;

/** What earlier runs of the task have left. */
interface EarlierRuns {
  readonly ctes: string;
  readonly columns: string;
  readonly joins: string;
}

const EARLIER_RUNS: EarlierRuns = {
  ctes: `,
lost_steps as (
  update steps s set state = 'failed', error = $6, finished_at = w.at
  from moved w where w.run_no > 1 and w.reason not in ('submitted', 'resumed') and s.task_key = w.task_key and s.state = 'running'
)`,
  columns: `c.data as checkpoint, c.answer,
  case when w.run_no = 1 then null else (${ASKED('w.task_key')}) end as asked,
  case when w.run_no = 1 then null else (
    select json_agg(s) from (select ${STEP_COLUMNS} from steps where task_key = w.task_key) s) end as steps,
  case when w.run_no = 1 then null else (select json_agg(a) from (
    select ${ARTIFACT_COLUMNS} from artifacts a where a.task_key = w.task_key order by a.artifact_id desc limit 1000) a)
  end as artifacts, ws.sha256 as workspace_sha256, ws.size::float8 as workspace_size`,
  joins: `left join checkpoints c on c.task_key = w.task_key and w.run_no > 1
left join workspaces ws on ws.task_key = w.task_key and w.run_no > 1`,
};

const NO_EARLIER_RUNS: EarlierRuns = {
  ctes: '',
  columns: `null as checkpoint, null as answer, null::json as asked, null::json as steps, null::json as artifacts,
  null as workspace_sha256, null::float8 as workspace_size`,
  joins: '',
};

export const CLAIM: Statement = { name: 'run-store.claim', text: claimText(EARLIER_RUNS) };

/** The same where no job is of a second run: setting out on what those may have left costs more than all the rest. */
export const CLAIM_FIRST: Statement = { name: 'run-store.claim-first', text: claimText(NO_EARLIER_RUNS) };
