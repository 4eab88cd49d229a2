import { readFile } from 'node:fs/promises';
import {
  AuditPruner,
  BucketSink,
  FileSink,
  HeadExport,
  HeadSigner,
  type HeadSink,
  Sealer,
  WebhookSink,
} from '#lib/audit';
import {
  type AuditLedger,
  type AuditPruningLedger,
  DomainError,
  type Logger,
  type Metrics,
  type OutboundClient,
} from '#lib/domain';
import type { Sweep } from '#lib/execution';
import { openLockedObjects } from '#lib/storage';
import type { AuditOptions } from './audit.settings.js';

/** Twice a second: a record is sealed within two seconds of the end of the oldest transaction that writes. */
const SEAL_MS = 500;

/** What a gateway does for the audit trail beside its requests: it seals, and brings heads to where they are safe. */
export interface AuditSealing {
  readonly sweeps: readonly Sweep[];
  /** The public halves of the keys it signs with, or has. */
  readonly keys: readonly { readonly kid: string; readonly publicKey: string }[];
  /** What an operator should know of it. */
  notes(): readonly string[];
  readonly close: () => void;
}

export interface SealingPorts {
  readonly ledger: AuditLedger;
  readonly prunings: AuditPruningLedger;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly outbound: OutboundClient;
}

/** @throws DomainError `unavailable` with one line for the operator */
export async function openSealing(options: AuditOptions, ports: SealingPorts): Promise<AuditSealing> {
  const { ledger, logger, metrics } = ports;
  const signer = options.keyFile === undefined ? undefined : await readSigner(options.keyFile);
  if (!signer) logger.warn('audit heads are not signed: AUDIT_KEY_FILE names no key');
  const sealer = new Sealer(ledger, logger, signer);
  const { sinks, close } = await openSinks(options, ports);
  const exports = sinks.map((sink) => new HeadExport(ledger, sink, logger));
  const pruner = new AuditPruner(ports.prunings, logger, signer);
  const faults = (): Record<string, boolean> => ({
    unsigned: signer === undefined,
    not_sealed: sealer.fault !== undefined,
    not_exported: exports.some(({ isFailing }) => isFailing),
    not_pruned: pruner.fault !== undefined,
  });
  metrics.gauge('switchyard_audit_lag_seconds', async () => [[{}, await ledger.lagSeconds()]]);
  metrics.gauge('switchyard_audit_fault', () => Object.entries(faults()).map(([fault, is]) => [{ fault }, is ? 1 : 0]));
  const sealing: Sweep = { name: 'audit-seal', everyMs: SEAL_MS, runOnce: () => sealer.run() };
  return {
    sweeps: [sealing, pruner, ...exports],
    keys: (signer?.keys ?? []).map(({ kid, pem }) => ({ kid, publicKey: pem })),
    notes: () => Object.entries(faults()).flatMap(([fault, is]) => (is ? [`audit_${fault}`] : [])),
    close,
  };
}

async function readSigner(file: string): Promise<HeadSigner> {
  const pem = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new DomainError('unavailable', `AUDIT_KEY_FILE: it cannot be read (${cause.code}).`, { cause });
  });
  const signer = HeadSigner.parse(pem);
  if (signer) return signer;
  throw new DomainError('unavailable', 'AUDIT_KEY_FILE: it must begin with an Ed25519 private key in PEM (PKCS #8).');
}

async function openSinks(
  { headsFile, headsWebhook, headsBucket }: AuditOptions,
  { outbound }: SealingPorts,
): Promise<{ readonly sinks: readonly HeadSink[]; readonly close: () => void }> {
  const sinks: HeadSink[] = [];
  if (headsFile !== undefined) sinks.push(new FileSink(headsFile));
  if (headsWebhook !== undefined) sinks.push(new WebhookSink(headsWebhook, outbound));
  if (headsBucket === undefined) return { sinks, close: () => undefined };
  const { bucket, retainDays } = headsBucket;
  const objects = await openLockedObjects(bucket, retainDays, 'AUDIT_HEADS_BUCKET');
  sinks.push(new BucketSink(bucket.bucket, objects));
  return { sinks, close: () => objects.close() };
}
