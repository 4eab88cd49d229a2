import { type AuditEntry, AuditTrail, type Logger } from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { AUDIT_RECORD, auditRow, insertAudit } from './audit.columns.js';
import { counted, Denials } from './denials.js';

/** How long equal denials are counted together, in ms. */
const DENIALS_MS = 10_000;
/** Longer texts of an attempt are cut: they come from callers who may not do what they try. */
const MAX_TEXT = 512;

const RECORD: Statement = {
  name: 'audit-trail.record',
  text: insertAudit(`json_to_recordset($1::json) as entries(${AUDIT_RECORD})`),
};

export interface AuditTrailOptions {
  readonly denialsMs?: number;
}

/** The audit trail in Postgres. */
export class PgAuditTrail extends AuditTrail {
  private readonly denials = new Denials();
  private readonly timer: NodeJS.Timeout;
  private flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    { denialsMs = DENIALS_MS }: AuditTrailOptions = {},
  ) {
    super();
    this.timer = setInterval(() => void this.flush(), denialsMs).unref();
  }

  override async record(entries: readonly AuditEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await this.database.query(RECORD, [JSON.stringify(entries.map((entry) => clean(auditRow(entry))))]);
  }

  override denied(entry: AuditEntry): void {
    try {
      this.denials.add(shorten(entry), Date.now());
    } catch (error) {
      this.logger.error('a denied attempt could not be noted', { action: entry.action, error });
    }
  }

  /** Records what has been denied until now; for the end of the process. Before the database is closed. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }

  /** One at a time; what could not be recorded is kept for the next time. */
  private flush(): Promise<void> {
    this.flushing = this.flushing.then(() => this.recordDenials());
    return this.flushing;
  }

  private async recordDenials(): Promise<void> {
    const denials = this.denials.take();
    try {
      await this.record(denials.map(counted));
    } catch (error) {
      this.logger.error('denied attempts could not be recorded', { records: denials.length, error });
      this.denials.putBack(denials);
    }
  }
}

/** What Postgres takes in no text: one record must not fail its neighbours. */
const UNSTORABLE = /[\0\p{Cs}]/gu;

function clean<T extends object>(row: T): T {
  const texts = Object.entries(row as Readonly<Record<string, string>>);
  return Object.fromEntries(texts.map(([column, text]) => [column, text.replace(UNSTORABLE, '\u{fffd}')])) as T;
}

function shorten(entry: AuditEntry): AuditEntry {
  const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
  const { tenant, principal, keyId, action, target, requestId } = entry;
  return {
    ...entry,
    tenant: cut(tenant),
    principal: cut(principal),
    keyId: cut(keyId),
    action: cut(action),
    target: cut(target),
    requestId: cut(requestId),
  };
}
