import {
  type AuditEntry,
  PUSH_EVENTS,
  type PushConfig,
  PushConfigStore,
  type PushConfigWrite,
  type TaskKey,
} from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { auditValues, insertAuditValues } from './audit.columns.js';
import { giveUp } from './delivery.statements.js';

/** Configs of pushes in Postgres. */
export class PgPushConfigStore extends PushConfigStore {
  constructor(private readonly database: Database) {
    super();
  }

  /**
   * The head is changed first, which locks it as whoever appends to the task does: an event is either seen by what makes up
   * for those that have been stored, or sees the config.
   */
  override async put(config: PushConfig, { isFromStart, maxPerTask, audit }: PushConfigWrite): Promise<boolean> {
    const { taskKey, id, tenant, principal, url, credentials, format } = config;
    const sealed = credentials && Buffer.from(credentials);
    return this.database.transaction(async (client) => {
      await client.query(SET_TOLD, [taskKey]);
      const values = [
        taskKey,
        id,
        tenant,
        principal,
        url,
        sealed,
        format,
        maxPerTask,
        isFromStart,
        ...auditValues(audit),
      ];
      const { rowCount } = await client.query({ ...PUT, values });
      return rowCount === 1;
    });
  }

  override async list(taskKey: TaskKey): Promise<readonly PushConfig[]> {
    return (await this.database.query<ConfigRow>(LIST, [taskKey])).map(decodeConfig);
  }

  override async remove(taskKey: TaskKey, id: string, audit: AuditEntry): Promise<boolean> {
    return (await this.database.query(REMOVE, [taskKey, id, ...auditValues(audit)])).length === 1;
  }
}

const SET_TOLD = 'update task_heads set told = true where task_key = $1';

const TOLD = PUSH_EVENTS.map((type) => `'${type}'`).join(', ');

/** What has happened before is told to one that came with its task, as if the config had been there. */
const PUT: Statement = {
  name: 'push-config-store.put',
  text: `
with place as (
  select coalesce(
    (select place from push_configs where task_key = $1 and config_id = $2),
    (select min(n) from generate_series(0, $8::int - 1) n
      where not exists (select from push_configs where task_key = $1 and place = n))) as place
),
p as (
  insert into push_configs (task_key, config_id, place, tenant, principal, url, credentials, format, created_at)
  select $1, $2, place, $3, $4, $5, $6::bytea, $7, clock_timestamp() from place
  where place is not null and exists (select from task_heads where task_key = $1)
  on conflict (task_key, config_id) do update set principal = excluded.principal, url = excluded.url,
    credentials = excluded.credentials, format = excluded.format
  returning *
),
caught_up as (
  insert into webhook_deliveries (lane, event_id, task_key, seq, tenant, push_config, event_type, task_state, run_no,
    next_attempt_at, created_at)
  select push_lane(p.tenant, p.url, p.place), e.event_id, e.task_key, e.seq, p.tenant, p.config_id, e.event_type, h.state,
    h.run_no, e.at, e.at
  from p join task_heads h using (task_key) join events e using (task_key)
  where $9::bool and e.event_type in (${TOLD})
  on conflict do nothing
),
audited as (${insertAuditValues(10, 'p')})
select config_id from p`,
};

const LIST: Statement = {
  name: 'push-config-store.list',
  text: `
select task_key, config_id, tenant, principal, url, credentials, format from push_configs
where task_key = $1 order by created_at, config_id`,
};

const REMOVE: Statement = {
  name: 'push-config-store.remove',
  text: `
with p as (delete from push_configs where task_key = $1 and config_id = $2 returning config_id),
given_up as (${giveUp('task_key = $1 and push_config = (select config_id from p)')}),
audited as (${insertAuditValues(3, 'p')})
select config_id from p`,
};

interface ConfigRow {
  readonly task_key: TaskKey;
  readonly config_id: string;
  readonly tenant: string;
  readonly principal: string;
  readonly url: string;
  readonly credentials: Buffer | null;
  readonly format: string;
}

function decodeConfig(row: ConfigRow): PushConfig {
  const { task_key: taskKey, config_id: id, tenant, principal, url, credentials, format } = row;
  return { taskKey, id, tenant, principal, url, credentials, format };
}
