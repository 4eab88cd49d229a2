import type { Statement } from '../database.js';
import { insertAuditValues } from './audit.columns.js';
import { giveUp } from './delivery.statements.js';

const WEBHOOK_COLUMNS = `
w.webhook_id, w.tenant, w.principal, w.reach, w.url, w.description, w.events, w.agent_ids, w.enabled, w.stopped_by,
w.stopped_at, w.failing_since, w.created_at, w.updated_at, w.version, w.secret_since,
case when w.old_secret_until > clock_timestamp() then w.old_secret_until end as old_secret_until`;

/** Those that come one after the other count each other only roughly: the bound is there against floods. */
export const CREATE: Statement = {
  name: 'webhook-store.create',
  text: `
with w as (
  insert into webhooks (webhook_id, tenant, principal, reach, url, description, events, agent_ids, enabled, stopped_by,
    stopped_at, created_at, updated_at, secret, secret_since)
  select $1, $2, $3, $4, $5, $6, $7::text[], $8::text[], $9::bool, case when not $9::bool then 'owner' end,
    case when not $9::bool then clock_timestamp() end, clock_timestamp(), clock_timestamp(), $10::bytea, clock_timestamp()
  where (select count(*) from webhooks where tenant = $2) < $11
  returning *
),
audited as (${insertAuditValues(12, 'w')})
select ${WEBHOOK_COLUMNS} from w`,
};

export const FIND: Statement = {
  name: 'webhook-store.find',
  text: `select ${WEBHOOK_COLUMNS} from webhooks w
where w.tenant = $1 and ($2::text is null or w.principal = $2) and w.webhook_id = $3`,
};

export const LIST: Statement = {
  name: 'webhook-store.list',
  text: `select ${WEBHOOK_COLUMNS} from webhooks w
where w.tenant = $1 and ($2::text is null or w.principal = $2) order by w.created_at, w.webhook_id`,
};

/** What is still to be sent to one that is switched off is given up: what happens meanwhile would not be told either. */
export const UPDATE: Statement = {
  name: 'webhook-store.update',
  text: `
with w as (
  update webhooks w set reach = $4, url = $5, description = $6, events = $7, agent_ids = $8, enabled = $9,
    stopped_by = case when $9 then null else coalesce(w.stopped_by, 'owner') end,
    stopped_at = case when $9 then null else coalesce(w.stopped_at, clock_timestamp()) end,
    failing_since = case when $9 and (not w.enabled or w.url <> $5) then null else w.failing_since end,
    updated_at = clock_timestamp(), version = w.version + 1
  where w.tenant = $1 and w.webhook_id = $2 and w.version = $3
  returning *
),
given_up as (${giveUp('lane in (select webhook_id from w where not enabled)')}),
audited as (${insertAuditValues(10, 'w')})
select ${WEBHOOK_COLUMNS} from w`,
};

export const REMOVE: Statement = {
  name: 'webhook-store.remove',
  text: `
with w as (delete from webhooks where tenant = $1 and webhook_id = $2 returning webhook_id),
given_up as (${giveUp('lane in (select webhook_id from w)')}),
audited as (${insertAuditValues(3, 'w')})
select webhook_id from w`,
};

export const ROTATE: Statement = {
  name: 'webhook-store.rotate',
  text: `
with w as (
  update webhooks w set old_secret = w.secret, old_secret_until = clock_timestamp() + $4::float8 * interval '1 ms',
    secret = $3, secret_since = clock_timestamp(), updated_at = clock_timestamp(), version = w.version + 1
  where w.tenant = $1 and w.webhook_id = $2
  returning *
),
audited as (${insertAuditValues(5, 'w')})
select ${WEBHOOK_COLUMNS} from w`,
};

export const SECRETS: Statement = {
  name: 'webhook-store.secrets',
  text: `
select secret, case when old_secret_until > clock_timestamp() then old_secret end as old_secret
from webhooks where webhook_id = $1`,
};

export const ENSURE_CALLBACK_SECRET: Statement = {
  name: 'webhook-store.ensure-callback-secret',
  text: `
insert into callback_secrets (tenant, principal, secret, secret_since) values ($1, $2, $3, clock_timestamp())
on conflict do nothing`,
};

export const ROTATE_CALLBACK_SECRET: Statement = {
  name: 'webhook-store.rotate-callback-secret',
  text: `
with c as (
  insert into callback_secrets as c (tenant, principal, secret, secret_since) values ($1, $2, $3, clock_timestamp())
  on conflict (tenant, principal) do update set old_secret = c.secret,
    old_secret_until = clock_timestamp() + $4::float8 * interval '1 ms', secret = excluded.secret,
    secret_since = excluded.secret_since
  returning c.old_secret_until
),
audited as (${insertAuditValues(5, 'c')})
select old_secret_until from c`,
};
