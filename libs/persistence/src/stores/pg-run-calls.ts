import {
  type CallRequest,
  type CallReservation,
  type CallTerms,
  RunCalls,
  type RunPolicy,
  type RunStanding,
  type TaskId,
  type TaskKey,
  type TaskState,
} from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { ASKED, type AskedRow, decodeAllowed, decodeAsked } from './claim.statement.js';

/** Runs for those with their tokens, in Postgres. */
export class PgRunCalls extends RunCalls {
  constructor(private readonly database: Database) {
    super();
  }

  override async standing(taskKey: TaskKey): Promise<RunStanding | undefined> {
    const [row] = await this.database.query<StandingRow>(STANDING, [taskKey]);
    return (
      row && {
        runNo: row.run_no,
        runOpen: row.run_open,
        state: row.state,
        runtimeId: row.runtime_id,
        isLeased: row.is_leased,
        cancelRequested: row.cancel_requested,
        deadlineAtMs: row.deadline_at_ms,
      }
    );
  }

  override async terms(taskKey: TaskKey): Promise<CallTerms | undefined> {
    const [row] = await this.database.query<TermsRow>(TERMS, [taskKey]);
    if (!row) return undefined;
    const { task_id: taskId, tenant, agent_id: agentId, created_by: createdBy, runner, input, context } = row;
    const policy = JSON.parse(row.policy) as RunPolicy;
    return {
      ...{ taskId, tenant, agentId, createdBy, runner, backendVersion: row.backend_version_id, input, context, policy },
      allowedTools: decodeAllowed(row.allowed_tools, policy),
      asked: decodeAsked(row.asked),
    };
  }

  override async reserve(request: CallRequest): Promise<CallReservation> {
    const { taskKey, runNo, toolCallId, toolName, digest, owner, holdMs, most } = request;
    const values = [taskKey, runNo, toolCallId, toolName, digest, owner, holdMs, most];
    const [taken] = await this.database.query<{ announced: boolean }>(RESERVE, values);
    if (taken) return { kind: 'taken', wasAnnounced: taken.announced };
    const [known] = await this.database.query<KnownRow>(KNOWN, [taskKey, runNo, toolCallId]);
    if (!known?.is_live) return { kind: 'over' };
    if (known.digest === null) return { kind: 'exhausted' };
    if (known.digest !== digest) return { kind: 'conflict' };
    return known.answer === null ? { kind: 'busy' } : { kind: 'answered', answer: known.answer };
  }

  override async release({ taskKey, toolCallId, owner }: Parameters<RunCalls['release']>[0]): Promise<void> {
    await this.database.query(RELEASE, [taskKey, toolCallId, owner]);
  }
}

/** Of a run that may still do something: what every append by its token asks too. */
const IS_LIVE = `h.run_open and h.state = 'running' and h.lease_until > clock_timestamp()`;

const STANDING: Statement = {
  name: 'run-calls.standing',
  text: `
select h.run_no, h.run_open, h.state, h.runtime_id, coalesce(h.lease_until > clock_timestamp(), false) as is_leased,
  h.cancel_at is not null as cancel_requested, (extract(epoch from t.deadline_at) * 1000)::float8 as deadline_at_ms
from task_heads h join tasks t using (task_key) where h.task_key = $1`,
};

const TERMS: Statement = {
  name: 'run-calls.terms',
  text: `
select t.task_id, t.tenant, t.agent_id, t.created_by, t.runner, t.backend_version_id, t.input, t.context, t.allowed_tools, b.policy, (${ASKED('t.task_key')}) as asked
from tasks t join backend_versions b on b.id = t.backend_version_id where t.task_key = $1`,
};

/**
 * A row that has no answer and is held no longer is taken over: whoever had it is gone. Calls are counted before the one
 * that is added; two at once may both be the last.
 */
const RESERVE: Statement = {
  name: 'run-calls.reserve',
  text: `
insert into token_calls as c (task_key, tool_call_id, run_no, tool_name, digest, owner, held_until)
select h.task_key, $3, h.run_no, $4, $5, $6::uuid, clock_timestamp() + $7::int * interval '1 ms'
from task_heads h
where h.task_key = $1 and h.run_no = $2 and h.cancel_at is null and ${IS_LIVE}
  and (select count(*) from token_calls o where o.task_key = $1 and o.run_no = $2 and o.tool_call_id <> $3) < $8::int
on conflict (task_key, tool_call_id) do update
set run_no = excluded.run_no, owner = excluded.owner, held_until = excluded.held_until
where c.answer is null and c.digest = excluded.digest and c.held_until < clock_timestamp()
returning announced`,
};

const KNOWN: Statement = {
  name: 'run-calls.known',
  text: `
select h.run_no = $2 and h.cancel_at is null and ${IS_LIVE} as is_live, c.digest, c.answer
from task_heads h left join token_calls c on c.task_key = h.task_key and c.tool_call_id = $3
where h.task_key = $1`,
};

const RELEASE: Statement = {
  name: 'run-calls.release',
  text: `
delete from token_calls where task_key = $1 and tool_call_id = $2 and owner = $3::uuid and not announced and answer is null`,
};

interface StandingRow {
  readonly run_no: number;
  readonly run_open: boolean;
  readonly state: TaskState;
  readonly runtime_id: string | null;
  readonly is_leased: boolean;
  readonly cancel_requested: boolean;
  readonly deadline_at_ms: number;
}

interface TermsRow {
  readonly task_id: TaskId;
  readonly tenant: string;
  readonly agent_id: string;
  readonly created_by: string;
  readonly runner: string;
  readonly backend_version_id: string;
  readonly input: string;
  readonly context: string;
  readonly allowed_tools: string | null;
  readonly policy: string;
  readonly asked: readonly AskedRow[] | null;
}

interface KnownRow {
  readonly is_live: boolean | null;
  readonly digest: string | null;
  readonly answer: string | null;
}
