import type { AuditField, AuditRecord } from '#lib/domain';

/** One way in which an export is not what was sealed and signed. */
export type Finding =
  | { readonly kind: 'altered'; readonly leaf: number; readonly id: string; readonly fields: readonly AuditField[] }
  | { readonly kind: 'missing'; readonly from: number; readonly to: number; readonly id?: string }
  | { readonly kind: 'inserted'; readonly leaf: number | null; readonly id: string }
  | { readonly kind: 'reordered'; readonly leaf: number; readonly sealedAs: number | null; readonly id: string }
  /** Records and their hashes agree with each other, and not with the head that was signed. */
  | { readonly kind: 'rewritten'; readonly from: number; readonly to: number; readonly by: 'export' | 'checkpoint' }
  | { readonly kind: 'cut'; readonly from: number; readonly to: number | null }
  | { readonly kind: 'wrong_key'; readonly kid: string; readonly given: readonly string[] }
  | {
      readonly kind: 'forged_head';
      readonly size: number;
      readonly kid: string | null;
      readonly by: 'export' | 'checkpoint';
    }
  /** What is said of records that are not kept cannot be believed. */
  | {
      readonly kind: 'bad_pruning';
      readonly tenant: string | null;
      readonly size: number;
      readonly days: number;
      readonly fault: 'forged' | 'not signed' | 'of another log' | 'early' | 'short';
    }
  | { readonly kind: 'unsigned'; readonly size: number }
  | { readonly kind: 'other_log'; readonly log: string; readonly expected: string }
  | { readonly kind: 'malformed'; readonly line: number; readonly what: string };

/** A finding in words. */
export function describe(finding: Finding): string {
  return (TEXTS[finding.kind] as (finding: Finding) => string)(finding);
}

type Texts = { readonly [K in Finding['kind']]: (finding: Extract<Finding, { readonly kind: K }>) => string };

const TEXTS: Texts = {
  altered: ({ leaf, id, fields }) =>
    fields.length === 0
      ? `record ${leaf} (${id}) is altered, together with its own hashes`
      : `record ${leaf} (${id}) is altered: ${fields.join(', ')}`,
  missing: ({ from, to, id }) =>
    to - from === 1
      ? `record ${from}${id === undefined ? '' : ` (${id})`} is missing`
      : `records ${from} to ${to - 1} are missing`,
  inserted: ({ leaf, id }) =>
    leaf === null ? `record ${id} was inserted behind the seal` : `record ${leaf} (${id}) was inserted`,
  reordered: ({ leaf, sealedAs, id }) =>
    `record ${id} is reordered: it stands as ${leaf} and was sealed as ${sealedAs ?? 'another'}`,
  rewritten: ({ from, to, by }) =>
    `${range(from, to)} were rewritten: they have other hashes than the head of ${to} records ${SIGNED[by]}`,
  cut: ({ from, to }) =>
    to === null ? `the file ends early, at record ${from}` : `the tail is cut: ${range(from, to)} are missing`,
  wrong_key: ({ kid, given }) => `the heads are signed by the key ${kid}, not by ${given.join(', ')}`,
  forged_head: ({ size, kid, by }) =>
    `the signature of the head of ${size} records ${by === 'checkpoint' ? 'in the file of heads ' : ''}is not that of key ${kid ?? 'none'}`,
  bad_pruning: ({ tenant, size, days, fault }) =>
    `it is said that ${range(0, size)}${tenant === null ? '' : ` of tenant ${tenant}`} are not kept any longer, ${PRUNING[fault](days)}`,
  unsigned: ({ size }) => `the head of ${size} records is not signed`,
  other_log: ({ log, expected }) => `this is the log ${log}, not ${expected}`,
  malformed: ({ line, what }) => `line ${line} is not of this format: ${what}`,
};

const PRUNING = {
  forged: () => 'but not by who may say so',
  'not signed': () => 'but that is not signed',
  'of another log': () => 'but of another log',
  early: (days: number) => `before their ${days} days were over`,
  short: (days: number) => `after ${days} days already`,
} as const;

const SIGNED = { export: 'that was signed', checkpoint: 'in the file of heads' } as const;

function range(from: number, to: number): string {
  return to - from === 1 ? `record ${from}` : `records ${from} to ${to - 1}`;
}

/** A record with what was sealed of it. */
export interface PlacedDigest {
  readonly leaf: number;
  readonly record: AuditRecord;
  readonly digest: Uint8Array;
}

/** In the order of the log, without those that follow from others. */
export function inOrder(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter((finding) => !isEcho(finding, findings)).sort((a, b) => placeOf(a) - placeOf(b));
}

function isEcho(finding: Finding, all: readonly Finding[]): boolean {
  return all.some((other) => {
    if (finding.kind === 'altered') return other.kind === 'inserted' && other.leaf === finding.leaf;
    if (finding.kind === 'missing') {
      return (
        other.kind === 'reordered' &&
        other.sealedAs !== null &&
        other.sealedAs >= finding.from &&
        other.sealedAs < finding.to
      );
    }
    if (finding.kind !== 'rewritten') return false;
    return ['missing', 'inserted', 'reordered'].includes(other.kind) && placeOf(other) < finding.to;
  });
}

/** Where in the log it is; what is of the whole log comes first. */
function placeOf(finding: Finding): number {
  if ('leaf' in finding) return finding.leaf ?? Number.MAX_SAFE_INTEGER;
  if (finding.kind === 'unsigned') return finding.size;
  return 'from' in finding ? finding.from : -1;
}
