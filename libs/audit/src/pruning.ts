import type { AuditPruning } from '#lib/domain';

const FORM = 'switchyard-audit-pruning/1';
const DAY_MS = 86_400_000;

/** What is signed: a JSON array of strings, in which `all` or `of` says whether a tenant is named. */
export function pruningText({
  log,
  tenant,
  size,
  root,
  sealedAt,
  days,
  at,
}: Omit<AuditPruning, 'kid' | 'signature'>): string {
  const whose = tenant === null ? ['all', ''] : ['of', tenant];
  return JSON.stringify([FORM, log, ...whose, String(size), root, sealedAt, String(days), at]);
}

/** True when the records had been sealed for so many days by then, in ms since the epoch. */
export function isOver({ sealedAt, days }: Pick<AuditPruning, 'sealedAt' | 'days'>, atMs: number): boolean {
  return Date.parse(sealedAt) + days * DAY_MS <= atMs;
}
