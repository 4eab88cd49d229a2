import type { Statement } from '../database.js';
import { AUDIT_RECORD, insertAudit } from './audit.columns.js';

/** What an append changes besides heads and events; a statement is made, named and prepared per combination that occurs. */
export const APPEND_PARTS = [
  'tasks',
  'steps',
  'closeSteps',
  'artifacts',
  'confirmations',
  'closeConfirmations',
  'approvals',
  'checkpoints',
  'answers',
  'workspaces',
  'dropWorkspaces',
  'release',
  'dispatch',
  'undispatch',
  'advance',
  'conversations',
  'audit',
  'calls',
] as const;
export type AppendPart = (typeof APPEND_PARTS)[number];

/**
 * Locks the heads whose guard holds, in key order, moves them on and writes the events under the seqs this gives out.
 * Guards read nothing but the head: a guard on a joined table would see the state before its lock wait.
 */
const BASE = `
with input as (
  select * from unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::text[], $6::bool[], $7::text[], $8::bool[],
    $9::text[], $10::bool[], $11::text[], $12::timestamptz[], $13::bool[], $14::bool[], $15::bool[], $16::int[],
    $17::bool[], $18::bool[], $19::bool[], $20::bool[])
    with ordinality as i(task_key, n, run_no, run_pos, from_states, only_open, only_wait, only_expired,
      state, closes, wait_id, wait_until, stalled, cancels, progressed, lost, only_stalled, only_cancelled, only_held, unholds, place)
),
locked as (
  select i.*, date_trunc('milliseconds', clock_timestamp()) as now_at
  from input i join task_heads h using (task_key)
  where case when i.run_pos is not null
    then h.run_open and h.run_no = i.run_no and h.run_pos = i.run_pos
    else h.state = any (string_to_array(i.from_states, ' '))
      and (i.only_open is null or h.run_open = i.only_open)
      and (i.run_no is null or h.run_no = i.run_no)
      and (i.only_wait is null or h.wait_id = i.only_wait and h.wait_until > clock_timestamp())
      and (i.only_expired is null or (h.lease_until < clock_timestamp()) = i.only_expired)
      and (i.only_stalled is null or h.stalled = i.only_stalled)
      and (i.only_held is null or (h.held_until is not null) = i.only_held)
    end
    and (i.only_cancelled is null or (h.cancel_at is not null) = i.only_cancelled)
  order by h.task_key for no key update of h
),
moved as (
  update task_heads h set
    last_seq = h.last_seq + l.n,
    last_at = case when l.n = 0 then h.last_at else greatest(h.last_at, l.now_at) end,
    progress_at = case when l.progressed then greatest(h.last_at, l.now_at) else h.progress_at end,
    state = coalesce(l.state, h.state),
    run_open = h.run_open and not l.closes,
    lease_until = case when l.closes then null else h.lease_until end,
    run_pos = h.run_pos + case when l.run_pos is null then 0 else l.n end,
    wait_id = case when l.wait_id is null then h.wait_id else nullif(l.wait_id, '') end,
    wait_until = case when l.wait_id is null then h.wait_until else l.wait_until end,
    stalled = coalesce(l.stalled, h.stalled),
    held_until = case when l.unholds then null else h.held_until end,
    cancel_at = case when l.cancels then coalesce(h.cancel_at, l.now_at) else h.cancel_at end,
    lost_runs = case l.lost when 0 then 0 when 1 then h.lost_runs + 1 else h.lost_runs end
  from locked l where h.task_key = l.task_key
  returning h.task_key, l.place, h.last_seq - l.n as base_seq, h.last_at as at, h.cancel_at, h.stalled
),
stored as (
  insert into events (task_key, seq, event_id, event_type, at, payload)
  select m.task_key, m.base_seq + e.k, e.event_id, e.event_type, m.at, e.payload
  from unnest($21::int[], $22::int[], $23::uuid[], $24::text[], $25::text[]) as e(place, k, event_id, event_type, payload)
  join moved m on m.place = e.place
)`;

const RESULT = `
select place::int as place, base_seq, (extract(epoch from at) * 1000)::float8 as at_ms,
  (extract(epoch from cancel_at) * 1000)::float8 as cancel_at_ms, stalled
from moved`;

/** `p` is the JSON document of the part; each works on the tasks that passed their guard only. */
const PARTS: Readonly<Record<AppendPart, (p: string) => string>> = {
  tasks: (p) => `
update tasks t set
  current_step = case when p.current_step is null then t.current_step else nullif(p.current_step, '') end,
  waiting_on = case when p.waiting_on is null then t.waiting_on else nullif(p.waiting_on, '') end,
  result = coalesce(p.result, t.result), usage = coalesce(p.usage, t.usage), error = coalesce(p.error, t.error),
  error_code = coalesce(p.error_code, t.error_code),
  end_state = coalesce(p.end_state, t.end_state),
  finished_at = case when p.end_state is null then t.finished_at else m.at end,
  artifact_count = t.artifact_count + p.artifacts,
  input = case when t.input = '""' then coalesce(p.input, t.input) else t.input end,
  input_artifacts = case when p.inputs is null then t.input_artifacts
    else (coalesce(t.input_artifacts, '[]')::jsonb || p.inputs::jsonb)::text end
from moved m join json_to_recordset(${p}::json) as p(place int, current_step text, waiting_on text, result text,
  usage text, error text, error_code text, end_state text, artifacts int, input text, inputs text) on p.place = m.place
where t.task_key = m.task_key`,

  steps: (p) => `
insert into steps as s (task_key, step_id, first_seq, name, state, attempt, error, started_at, finished_at)
select m.task_key, p.step_id, m.base_seq + p.k, coalesce(p.name, p.step_id), p.state, coalesce(p.attempt, 1), p.error,
  m.at, case when p.state = 'running' then null else m.at end
from moved m join json_to_recordset(${p}::json) as p(place int, k int, step_id text, name text, state text, attempt int,
  error text) on p.place = m.place
on conflict (task_key, step_id) do update set
  name = case when excluded.name = excluded.step_id then s.name else excluded.name end,
  state = excluded.state, attempt = greatest(s.attempt, excluded.attempt), error = excluded.error,
  finished_at = excluded.finished_at`,

  closeSteps: (p) => `
update steps s set state = p.state, error = p.error, finished_at = m.at
from moved m join json_to_recordset(${p}::json) as p(place int, state text, error text, kept json) on p.place = m.place
where s.task_key = m.task_key and s.state = 'running'
  and not exists (select from json_array_elements_text(p.kept) as kept(step_id) where kept.step_id = s.step_id)`,

  artifacts: (p) => `
insert into artifacts (artifact_id, task_key, tenant, step_id, kind, name, media_type, size, sha256, origin, relative_path,
  created_at)
select p.artifact_id, m.task_key, t.tenant, p.step_id, p.kind, p.name, p.media_type, p.size, p.sha256, p.origin,
  p.relative_path, m.at
from moved m join json_to_recordset(${p}::json) as p(place int, artifact_id text, step_id text, kind text, name text,
  media_type text, size bigint, sha256 text, origin text, relative_path text) on p.place = m.place
join tasks t on t.task_key = m.task_key`,

  confirmations: (p) => `
insert into confirmations (task_key, wait_id, tool_call_id, position, kind, tool_name, arguments, prompt, digest, expires_at,
  state, decision, decided_by, decided_at)
select m.task_key, p.wait_id, p.tool_call_id, p.position, p.kind, p.tool_name, p.arguments, p.prompt, p.digest, p.expires_at,
  p.state, p.decision, p.decided_by, case when p.state = 'pending' then null else m.at end
from moved m join json_to_recordset(${p}::json) as p(place int, wait_id text, tool_call_id text, position int, kind text,
  tool_name text, arguments text, prompt text, digest text, expires_at timestamptz, state text, decision text,
  decided_by text) on p.place = m.place`,

  closeConfirmations: (p) => `
update confirmations c set state = p.state, decided_by = p.decided_by, decided_at = m.at, decision = (
  select d.decision from json_to_recordset(p.decisions) as d(tool_call_id text, decision text)
  where d.tool_call_id = c.tool_call_id limit 1)
from moved m join json_to_recordset(${p}::json) as p(place int, state text, decided_by text, decisions json)
  on p.place = m.place
where c.task_key = m.task_key and c.state = 'pending'`,

  // A second use of one breaks the constraint of the column, and so the append that would have announced the call.
  approvals: (p) => `
update confirmations c set used_by = c.used_by || p.used_by
from moved m join json_to_recordset(${p}::json) as p(place int, wait_id text, tool_call_id text, used_by text)
  on p.place = m.place
where c.task_key = m.task_key and c.wait_id = p.wait_id and c.tool_call_id = p.tool_call_id`,

  checkpoints: (p) => `
insert into checkpoints (task_key, run_no, data, updated_at)
select m.task_key, p.run_no, p.data, m.at
from moved m join json_to_recordset(${p}::json) as p(place int, run_no int, data text) on p.place = m.place
on conflict (task_key) do update set run_no = excluded.run_no, data = excluded.data, answer = null,
  updated_at = excluded.updated_at`,

  answers: (p) => `
insert into checkpoints (task_key, run_no, answer, updated_at)
select m.task_key, 0, p.answer, m.at
from moved m join json_to_recordset(${p}::json) as p(place int, answer text) on p.place = m.place
on conflict (task_key) do update set answer = excluded.answer, updated_at = excluded.updated_at`,

  workspaces: (p) => `
insert into workspaces (task_key, tenant, sha256, size, run_no, updated_at)
select m.task_key, t.tenant, p.sha256, p.size, p.run_no, m.at
from moved m join json_to_recordset(${p}::json) as p(place int, run_no int, sha256 text, size bigint) on p.place = m.place
join tasks t on t.task_key = m.task_key
on conflict (task_key) do update set sha256 = excluded.sha256, size = excluded.size, run_no = excluded.run_no,
  updated_at = excluded.updated_at`,

  dropWorkspaces: (p) => `
delete from workspaces w using moved m join json_to_recordset(${p}::json) as p(place int) on p.place = m.place
where w.task_key = m.task_key`,

  // One in a session starts when its turn comes: the note in `advance` has somebody look whether that is now.
  release: (p) => `
insert into outbox (task_key, run_no, pool, priority, reason, next_check_at)
select m.task_key, 1, t.pool, t.priority, 'submitted', clock_timestamp() + interval '2 s'
from moved m join json_to_recordset(${p}::json) as p(place int) on p.place = m.place
join tasks t on t.task_key = m.task_key and t.ordinal is null
on conflict do nothing`,

  dispatch: (p) => `
insert into outbox (task_key, run_no, pool, priority, reason, attempt, error, next_check_at)
select m.task_key, p.run_no, t.pool, t.priority, p.reason, coalesce(p.attempt, 1), p.error, clock_timestamp() + (p.delay_ms + 2000) * interval '1 ms'
from moved m join json_to_recordset(${p}::json) as p(place int, run_no int, reason text, delay_ms int,
  attempt int, error text) on p.place = m.place
join tasks t on t.task_key = m.task_key
on conflict do nothing`,

  undispatch: (p) => `
delete from outbox o using moved m join json_to_recordset(${p}::json) as p(place int) on p.place = m.place
where o.task_key = m.task_key`,

  advance: (p) => `
insert into session_advance (task_key, tenant, agent_id, user_id, session_id, next_check_at)
select m.task_key, t.tenant, t.agent_id, coalesce(t.user_id, t.created_by), t.session_id, clock_timestamp() + interval '1 s'
from moved m join json_to_recordset(${p}::json) as p(place int) on p.place = m.place
join tasks t on t.task_key = m.task_key and t.ordinal is not null
on conflict (task_key) do update set next_check_at = excluded.next_check_at`,

  conversations: (p) => `
insert into session_conversations as c (tenant, agent_id, user_id, session_id, ordinal, data, updated_at)
select t.tenant, t.agent_id, coalesce(t.user_id, t.created_by), t.session_id, t.ordinal, p.data, m.at
from moved m join json_to_recordset(${p}::json) as p(place int, data text) on p.place = m.place
join tasks t on t.task_key = m.task_key and t.ordinal is not null
on conflict (tenant, agent_id, user_id, session_id) do update set
  ordinal = excluded.ordinal, data = excluded.data, updated_at = excluded.updated_at
where excluded.ordinal > c.ordinal`,

  audit: (p) => `
${insertAudit(`moved m join json_to_recordset(${p}::json) as p(place int, ${AUDIT_RECORD}) on p.place = m.place`)}`,

  calls: (p) => `
update token_calls c set announced = true, answer = coalesce(p.answer, c.answer)
from moved m join json_to_recordset(${p}::json) as p(place int, tool_call_id text, owner uuid, answer text)
  on p.place = m.place
where c.task_key = m.task_key and c.tool_call_id = p.tool_call_id and c.owner = p.owner`,
};

const cache = new Map<string, Statement>();

/** The statement for these parts; their documents are its parameters from $26 on, in the order of APPEND_PARTS. */
export function appendStatement(parts: readonly AppendPart[]): Statement {
  // Postgres tells prepared statements apart by 63 characters: the parts' places do, their names would not.
  const name = `append.${parts.map((part) => APPEND_PARTS.indexOf(part)).join('.')}`;
  let statement = cache.get(name);
  if (!statement) {
    const ctes = parts.map((part, index) => `,\n${part}_written as (${PARTS[part](`$${26 + index}`)})`);
    statement = { name, text: `${BASE}${ctes.join('')}${RESULT}` };
    cache.set(name, statement);
  }
  return statement;
}
