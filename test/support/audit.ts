import { generateKeyPairSync } from 'node:crypto';
import { describe, exportLines, ExportVerifier, HeadSigner, Sealer } from '#lib/audit';
import type { AuditEntry, Logger, SealSession } from '#lib/domain';
import { Database, PgAuditLedger, PgAuditReader, SEALER_ROLE } from '#lib/persistence';
import { SilentLogger } from './silent-logger.js';
import { until } from './until.js';

/** A new key for heads: the private half in PEM, as in AUDIT_KEY_FILE, and the public one. */
export function mintAuditKey(): { readonly pem: string; readonly publicPem: string; readonly signer: HeadSigner } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { pem, publicPem, signer: HeadSigner.parse(pem)! };
}

interface SealerOptions {
  readonly signer?: HeadSigner;
  readonly logger?: Logger;
  /** When it believes to seal. */
  readonly daysAgo?: number;
}

class PastLedger extends PgAuditLedger {
  constructor(
    database: Database,
    private readonly days: number,
  ) {
    super(database);
  }

  override seal<T>(work: (session: SealSession) => Promise<T>): Promise<T | undefined> {
    const at = timeAgo(this.days * 24);
    return super.seal((session) => work({ ...session, due: async (limit) => ({ ...(await session.due(limit)), at }) }));
  }
}

/** As the `at` of a record. */
export function timeAgo(hours: number): string {
  return new Date(Date.now() - hours * 3_600_000).toISOString().replace('Z', '000Z');
}

/** The sealer of a process, on a connection of its own. */
export function openSealer(
  databaseUrl: string,
  { signer, logger = new SilentLogger(), daysAgo = 0 }: SealerOptions = {},
): { readonly sealer: Sealer; readonly ledger: PgAuditLedger; close(): Promise<void> } {
  const database = new Database({ databaseUrl, max: 1, name: 'sealer', role: SEALER_ROLE });
  const ledger = daysAgo === 0 ? new PgAuditLedger(database) : new PastLedger(database, daysAgo);
  const sealer = new Sealer(ledger, logger, signer, () => Date.now() - daysAgo * 86_400_000);
  return { sealer, ledger, close: () => database.close() };
}

export function auditEntry(changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    tenant: 'acme',
    principal: 'ann',
    keyId: 'k1',
    action: 'task.submit',
    target: 't-1',
    outcome: 'allowed',
    details: '{"agent_id":"a"}',
    requestId: 'r-1',
    ...changes,
  };
}

/** Seals what is not sealed yet, and says what an auditor would find in the whole trail; signatures are not looked at. */
export async function trailFaults(databaseUrl: string): Promise<readonly string[]> {
  const { sealer, ledger, close } = openSealer(databaseUrl);
  const database = new Database({ databaseUrl, max: 1, name: 'auditor' });
  try {
    const settled = async (): Promise<boolean> => {
      await sealer.run();
      return sealer.fault !== undefined || (await ledger.lagSeconds()) === 0;
    };
    await until(settled, { timeoutMs: 30_000, what: 'the audit trail to be sealed' });
    if (sealer.fault !== undefined) return [`the trail is not sealed: ${sealer.fault}`];
    const verifier = new ExportVerifier({ keys: undefined, checkpoints: [] });
    let lines = 0;
    for await (const page of exportLines(new PgAuditReader(database), {})) {
      for (const line of page) verifier.add(line, (lines += 1));
    }
    const { findings, unsealed } = verifier.end();
    const left = unsealed > 0 ? [`${unsealed} records are not sealed`] : [];
    return [...findings.map(describe), ...left];
  } finally {
    await database.close();
    await close();
  }
}
