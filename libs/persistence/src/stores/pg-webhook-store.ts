import {
  type AuditEntry,
  type CallbackOwner,
  type SealedSecret,
  type SecretChange,
  type TaskScope,
  type WebhookEvent,
  type WebhookRecord,
  type WebhookSettings,
  type WebhookStop,
  WebhookStore,
} from '#lib/domain';
import type { Database } from '../database.js';
import { auditValues } from './audit.columns.js';
import {
  CREATE,
  ENSURE_CALLBACK_SECRET,
  FIND,
  LIST,
  REMOVE,
  ROTATE,
  ROTATE_CALLBACK_SECRET,
  SECRETS,
  UPDATE,
} from './webhook.statements.js';

/** Subscriptions in Postgres. */
export class PgWebhookStore extends WebhookStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async create(
    webhook: WebhookSettings & CallbackOwner & { readonly id: string },
    made: { readonly secret: SealedSecret; readonly maxPerTenant: number; readonly audit: AuditEntry },
  ): Promise<WebhookRecord | undefined> {
    const owner = [webhook.id, webhook.tenant, webhook.principal];
    const [row] = await this.database.query<WebhookRow>(CREATE, [
      ...owner,
      ...settingValues(webhook),
      Buffer.from(made.secret),
      made.maxPerTenant,
      ...auditValues(made.audit),
    ]);
    return row && decodeWebhook(row);
  }

  override async find({ tenant, principal }: TaskScope, id: string): Promise<WebhookRecord | undefined> {
    const [row] = await this.database.query<WebhookRow>(FIND, [tenant, principal ?? null, id]);
    return row && decodeWebhook(row);
  }

  override async list({ tenant, principal }: TaskScope): Promise<readonly WebhookRecord[]> {
    return (await this.database.query<WebhookRow>(LIST, [tenant, principal ?? null])).map(decodeWebhook);
  }

  override async update(
    { tenant, id, version }: WebhookRecord,
    settings: WebhookSettings,
    audit: AuditEntry,
  ): Promise<WebhookRecord | undefined> {
    const values = [tenant, id, version, ...settingValues(settings), ...auditValues(audit)];
    const [row] = await this.database.query<WebhookRow>(UPDATE, values);
    return row && decodeWebhook(row);
  }

  override async remove({ tenant, id }: WebhookRecord, audit: AuditEntry): Promise<boolean> {
    const removed = await this.database.query(REMOVE, [tenant, id, ...auditValues(audit)]);
    return removed.length === 1;
  }

  override async rotate(
    { tenant, id }: WebhookRecord,
    { secret, overlapMs, audit }: SecretChange,
  ): Promise<WebhookRecord | undefined> {
    const values = [tenant, id, Buffer.from(secret), overlapMs, ...auditValues(audit)];
    const [row] = await this.database.query<WebhookRow>(ROTATE, values);
    return row && decodeWebhook(row);
  }

  override async secrets(id: string): Promise<readonly SealedSecret[]> {
    const [row] = await this.database.query<SecretsRow>(SECRETS, [id]);
    return row ? secretsOf(row) : [];
  }

  override async ensureCallbackSecret({ tenant, principal }: CallbackOwner, secret: SealedSecret): Promise<void> {
    await this.database.query(ENSURE_CALLBACK_SECRET, [tenant, principal, Buffer.from(secret)]);
  }

  override async rotateCallbackSecret(
    { tenant, principal }: CallbackOwner,
    { secret, overlapMs, audit }: SecretChange,
  ): Promise<number | null> {
    const values = [tenant, principal, Buffer.from(secret), overlapMs, ...auditValues(audit)];
    const [row] = await this.database.query<{ old_secret_until: Date | null }>(ROTATE_CALLBACK_SECRET, values);
    return row?.old_secret_until?.getTime() ?? null;
  }
}

export interface SecretsRow {
  readonly secret: Buffer | null;
  readonly old_secret: Buffer | null;
}

/** The newest first. */
export function secretsOf({ secret, old_secret: old }: SecretsRow): readonly SealedSecret[] {
  return [secret, old].filter((value) => value !== null);
}

/** In the order of the parameters: reach, url, description, events, agents, enabled. */
function settingValues({ reach, url, description, events, agentIds, enabled }: WebhookSettings): unknown[] {
  return [reach, url, description, events, agentIds, enabled];
}

interface WebhookRow {
  readonly webhook_id: string;
  readonly tenant: string;
  readonly principal: string;
  readonly reach: WebhookRecord['reach'];
  readonly url: string;
  readonly description: string | null;
  readonly events: readonly WebhookEvent[];
  readonly agent_ids: readonly string[] | null;
  readonly enabled: boolean;
  readonly stopped_by: WebhookStop | null;
  readonly stopped_at: Date | null;
  readonly failing_since: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly version: number;
  readonly secret_since: Date;
  readonly old_secret_until: Date | null;
}

function decodeWebhook(row: WebhookRow): WebhookRecord {
  return {
    id: row.webhook_id,
    tenant: row.tenant,
    principal: row.principal,
    reach: row.reach,
    url: row.url,
    description: row.description,
    events: row.events,
    agentIds: row.agent_ids,
    enabled: row.enabled,
    stoppedBy: row.stopped_by,
    stoppedAtMs: row.stopped_at?.getTime() ?? null,
    failingSinceMs: row.failing_since?.getTime() ?? null,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime(),
    version: row.version,
    secretSinceMs: row.secret_since.getTime(),
    oldSecretUntilMs: row.old_secret_until?.getTime() ?? null,
  };
}
