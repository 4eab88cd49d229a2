import { type GatewayUsage, type OpenTasks, UsageStore } from '#lib/domain';
import type { Database, Statement } from '../database.js';

/** What gateways tell each other, and bounded counts, in Postgres. */
export class PgUsageStore extends UsageStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async exchange(gatewayId: string, usage: GatewayUsage): Promise<ReadonlyMap<string, GatewayUsage>> {
    const rows = await this.database.query<UsageRow>(EXCHANGE, [gatewayId, JSON.stringify(usage)]);
    return new Map(rows.map(({ gateway_id, usage: text }) => [gateway_id, JSON.parse(text) as GatewayUsage]));
  }

  override async leave(gatewayId: string): Promise<void> {
    await this.database.query(LEAVE, [gatewayId]);
  }

  override async openTasks(tenant: string, atMost: number): Promise<readonly OpenTasks[]> {
    return this.database.query<OpenTasks & OpenTasksRow>(OPEN_TASKS, [tenant, atMost]);
  }

  override async storedBytes(tenant: string): Promise<number> {
    const [row] = await this.database.query<{ readonly bytes: string }>(STORED_BYTES, [tenant]);
    return Number(row?.bytes ?? 0);
  }
}

interface UsageRow {
  readonly gateway_id: string;
  readonly usage: string;
}

type OpenTasksRow = Readonly<Record<string, unknown>>;

/** One row per gateway, written by that gateway alone. Those silent for three seconds are taken for dead. */
const EXCHANGE: Statement = {
  name: 'usage-store.exchange',
  text: `
with told as (
  insert into gateway_usage as u (gateway_id, seen_at, usage) values ($1, clock_timestamp(), $2)
  on conflict (gateway_id) do update set seen_at = excluded.seen_at, usage = excluded.usage
),
forgotten as (
  delete from gateway_usage where gateway_id in (
    select gateway_id from gateway_usage
    where gateway_id <> $1 and seen_at < clock_timestamp() - interval '1 minute' for update skip locked)
)
select gateway_id, usage from gateway_usage
where gateway_id <> $1 and seen_at > clock_timestamp() - interval '3 seconds'`,
};

const LEAVE: Statement = { name: 'usage-store.leave', text: 'delete from gateway_usage where gateway_id = $1' };

const OPEN_TASKS: Statement = {
  name: 'usage-store.open-tasks',
  text: `
select t.created_by as principal, count(*) filter (where h.state = 'queued')::int as queued,
  count(*) filter (where h.state <> 'queued')::int as started
from (
  select task_key, created_by from tasks where tenant = $1 and finished_at is null order by task_key limit $2
) t join task_heads h using (task_key)
group by t.created_by`,
};

const STORED_BYTES: Statement = {
  name: 'usage-store.stored-bytes',
  text: `
select (select coalesce(sum(size), 0) from artifacts where tenant = $1)
  + (select coalesce(sum(size), 0) from workspaces where tenant = $1) as bytes`,
};
