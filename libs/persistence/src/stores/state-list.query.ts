import { isTerminal, type PageRequest, type StateListFilter, type TaskScope, type TaskState } from '#lib/domain';
import { decodeCursor } from './page.js';
import { SNAPSHOT_COLUMNS, type SnapshotRow } from './task.rows.js';

/** The count is in each row; where there is no task, in one without a task. */
export interface StateListRow extends SnapshotRow {
  readonly changed_at_ms: number;
  readonly total: number;
}

const CURSOR = /^\d{1,15} [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Where the next page begins: behind this task. */
export function cursorOf({ changed_at_ms, task_key }: StateListRow): string {
  return `${changed_at_ms} ${task_key}`;
}

/** When its state changed last: of one that has ended its end, of others the last event that says so. */
const CHANGED_AT = `coalesce(t.finished_at, (select max(e.at) from events e where e.task_key = t.task_key
  and e.event_type in ('task.created', 'task.started', 'task.waiting_for_input', 'task.resumed')))`;

/** Tasks by when their state changed, with how many there are. */
export function stateListQuery(
  scope: TaskScope,
  filter: StateListFilter,
  page: PageRequest,
): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const add = (value: unknown): string => `$${values.push(value)}`;
  const conditions = [`t.tenant = ${add(scope.tenant)}`, `t.agent_id = ${add(filter.agentId)}`];
  if (scope.principal !== undefined) conditions.push(`t.created_by = ${add(scope.principal)}`);
  if (filter.sessionId !== undefined) {
    const id = add(filter.sessionId);
    conditions.push(`(t.session_id = ${id} or t.session_id is null and t.task_id = ${id})`);
  }
  if (filter.states) conditions.push(stateCondition(filter.states, values));
  if (filter.isRejected !== undefined) conditions.push(`(t.error_code = 'rejected') = ${add(filter.isRejected)}::bool`);
  if (filter.awaits) conditions.push(awaits(filter.awaits, add));
  const since = filter.changedSinceMs;
  const changed = since === undefined ? '' : `where changed_at >= to_timestamp(${add(since)}::float8 / 1000)`;
  const after = decodeCursor(page, CURSOR)?.split(' ');
  const behind =
    after === undefined
      ? ''
      : `where (f.changed_at, f.task_key) < (to_timestamp(${add(after[0])}::float8 / 1000), ${add(after[1])}::uuid)`;
  const text = `
with matching as (
  select t.task_key, ${CHANGED_AT} as changed_at from tasks t join task_heads h using (task_key) where ${conditions.join(' and ')}
),
found as materialized (select * from matching ${changed}),
paged as (select * from found f ${behind} order by changed_at desc, task_key desc limit ${add(page.limit + 1)})
select ${SNAPSHOT_COLUMNS}, (extract(epoch from p.changed_at) * 1000)::float8 as changed_at_ms, c.total
from (select count(*)::int as total from found) c
left join (paged p join tasks t using (task_key) join task_heads h using (task_key)) on true
order by p.changed_at desc, p.task_key desc`;
  return { text, values };
}

function awaits({ kinds, isAny }: NonNullable<StateListFilter['awaits']>, add: (value: unknown) => string): string {
  return `exists (select from confirmations c where c.task_key = t.task_key and c.wait_id = h.wait_id
    and c.kind = any (${add(kinds)})) = ${add(isAny)}::bool`;
}

/** Ended tasks are found by `end_state`, live ones among the few that have not finished. */
export function stateCondition(states: readonly TaskState[], values: unknown[]): string {
  const conditions: string[] = [];
  const ended = states.filter(isTerminal);
  const live = states.filter((state) => !isTerminal(state));
  if (ended.length > 0) conditions.push(`t.end_state = any ($${values.push(ended)})`);
  if (live.length > 0) conditions.push(`(t.finished_at is null and h.state = any ($${values.push(live)}))`);
  return `(${conditions.join(' or ')})`;
}
