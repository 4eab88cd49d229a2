import { AUDIT_FIELDS, type AuditHead, type AuditPruning } from '#lib/domain';
import { leafHash } from './digest.js';
import { EXPORT_FORMAT, type ExportHeader, type ExportLine } from './export.lines.js';
import { type Finding, inOrder } from './findings.js';
import { type HeadKey, isSignedBy } from './head.js';
import { PruningChecks } from './pruning.checks.js';
import { RecordChecks } from './record.checks.js';
import { TreeChecks } from './tree.checks.js';

/** More findings say nothing new. */
const MAX_FINDINGS = 1_000;

export interface VerifyOptions {
  /** Who may have signed; undefined: signatures are not asked for. */
  readonly keys: readonly HeadKey[] | undefined;
  /** Heads that were kept elsewhere. */
  readonly checkpoints: readonly AuditHead[];
  /** Days after which a record may be gone; absent: as many as the signed statement says that it is. */
  readonly keepDays?: number | undefined;
}

/** What an export comes to. */
export interface Verdict {
  /** In the order of the log; empty: it is what was sealed and signed. */
  readonly findings: readonly Finding[];
  readonly header: ExportHeader | undefined;
  /** The newest head. */
  readonly head: AuditHead | undefined;
  readonly records: number;
  /** Records that were not sealed yet. */
  readonly unsealed: number;
  /** What was said, before it was done, of records that are not kept any longer. */
  readonly prunings: readonly AuditPruning[];
  /** Leaves in the export whose record is gone, and may be. */
  readonly pruned: number;
  /** Checkpoints that the tree was held against. */
  readonly checkpoints: number;
}

type LineOf<T extends ExportLine['type']> = Extract<ExportLine, { readonly type: T }>;
type Handlers = { readonly [T in ExportLine['type']]: (line: LineOf<T>, lineNo: number) => void };

/** Checks an export, a line at a time, in memory that does not grow with it. */
export class ExportVerifier {
  private readonly findings: Finding[] = [];
  private readonly report = (finding: Finding): void => {
    if (this.findings.length < MAX_FINDINGS) this.findings.push(finding);
  };
  private readonly tree = new TreeChecks(this.report);
  private readonly prunings: PruningChecks;
  private checks: RecordChecks | undefined;
  private header: ExportHeader | undefined;
  private head: AuditHead | undefined;
  private records = 0;
  private unsealed = 0;
  private compared = 0;
  private pruned = 0;
  private hasEnded = false;
  private readonly checkpoints: ReadonlyMap<number, readonly AuditHead[]>;

  constructor(private readonly options: VerifyOptions) {
    this.prunings = new PruningChecks(options, this.report);
    this.checkpoints = bySize(options.checkpoints);
  }

  /** A line of the file as parsed; `lineNo` counts from 1. */
  add(line: unknown, lineNo: number): void {
    const { type } = (line ?? {}) as { readonly type?: unknown };
    const handle = this.handlers[type as 'end'] as ((line: unknown, lineNo: number) => void) | undefined;
    try {
      if (handle === undefined || typeof type !== 'string') throw new Error('it is of no known type');
      if (this.header === undefined && type !== 'export') throw new Error(`it is no ${EXPORT_FORMAT}`);
      handle(line, lineNo);
    } catch (error) {
      this.report({ kind: 'malformed', line: lineNo, what: error instanceof Error ? error.message : 'it is broken' });
    }
  }

  end(): Verdict {
    this.checks?.end();
    if (this.header) this.endTree(this.header);
    else if (this.findings.length === 0) this.report({ kind: 'cut', from: 0, to: null });
    const { header, head, records, unsealed, pruned, compared: checkpoints } = this;
    const prunings = this.prunings.believed;
    return { findings: inOrder(this.findings), header, head, records, unsealed, prunings, pruned, checkpoints };
  }

  private readonly handlers: Handlers = {
    export: (line) => {
      if ((line.format as string) !== EXPORT_FORMAT) throw new Error(`it is no ${EXPORT_FORMAT}`);
      if (this.header) throw new Error('the file has begun already');
      if (!isHeader(line)) throw new Error('it does not say what it is an export of');
      this.header = line;
      this.checks = new RecordChecks(line.size, this.report);
      for (const head of this.options.checkpoints) this.checkHead(head, 'checkpoint');
    },
    record: ({ leaf, record, digest: text }) => {
      this.assertWithin(leaf, leaf + 1);
      if (Object.keys(record).length !== AUDIT_FIELDS.length) throw new Error('it has other columns than a record');
      const digest = Buffer.from(text, 'base64');
      this.tree.leaf(leaf, leafHash(digest), record.id);
      this.checks?.add({ leaf, record, digest });
      this.records += 1;
      this.compareCheckpoint();
    },
    missing: ({ leaf, id, digest: text }) => {
      this.assertWithin(leaf, leaf + 1);
      const digest = Buffer.from(text, 'base64');
      this.tree.leaf(leaf, leafHash(digest), id);
      if (this.prunings.covers(leaf, digest)) this.pruned += 1;
      else this.report({ kind: 'missing', from: leaf, to: leaf + 1, id });
      this.compareCheckpoint();
    },
    pruning: ({ type: _, ...pruning }) => this.prunings.add(pruning, this.header?.log),
    gap: ({ from, to }) => {
      this.assertWithin(from, to);
      this.tree.skip(to);
    },
    subtree: ({ level, no, hash }) => {
      const [from, to] = [no * 2 ** level, (no + 1) * 2 ** level];
      this.assertWithin(from, to);
      if (!this.tree.subtree(level, no, Buffer.from(hash, 'hex'))) throw new Error('no such subtree can stand here');
      this.addHidden(from, to);
      this.compareCheckpoint();
    },
    head: ({ type: _, ...head }) => {
      this.checkHead(head, 'export');
      // One that stands elsewhere than behind its last leaf was held against nothing.
      if (this.tree.compare(head, 'export') || this.tree.isBroken) this.head = head;
    },
    unsealed: ({ record }) => this.addUnsealed(record.id, record.xid),
    end: () => void (this.hasEnded = true),
  };

  private assertWithin(from: number, to: number): void {
    const isThere =
      Number.isSafeInteger(from) && Number.isSafeInteger(to) && from >= 0 && to <= (this.header?.size ?? 0);
    if (!isThere) throw new Error('there are no such leaves in what it is an export of');
  }

  private compareCheckpoint(): void {
    for (const checkpoint of this.checkpoints.get(this.tree.next) ?? []) {
      if (this.tree.compare(checkpoint, 'checkpoint')) this.compared += 1;
    }
    for (const tree of this.prunings.treesOf(this.tree.next)) this.tree.compare(tree, 'export');
  }

  /** Where everything was asked for only what is not kept any longer can be hidden in a hash. */
  private addHidden(from: number, to: number): void {
    if (!isEverything(this.header)) return;
    const kept = Math.max(from, Math.min(to, this.prunings.all));
    this.pruned += kept - from;
    if (kept < to) this.report({ kind: 'missing', from: kept, to });
  }

  /** What is not sealed although every transaction as old as its own is: somebody has put it there afterwards. */
  private addUnsealed(id: string, xid: string): void {
    const isBehind = this.head !== undefined && BigInt(xid) < BigInt(this.head.mark);
    if (isBehind) this.report({ kind: 'inserted', leaf: null, id });
    else this.unsealed += 1;
  }

  private checkHead(head: AuditHead, by: 'export' | 'checkpoint'): void {
    const { log: expected } = this.header ?? {};
    const { keys } = this.options;
    const { size, kid } = head;
    if (expected !== undefined && head.log !== expected) this.report({ kind: 'other_log', log: head.log, expected });
    if (keys === undefined || kid === null) return;
    const key = keys.find((candidate) => candidate.kid === kid);
    if (key === undefined) this.reportOnce({ kind: 'wrong_key', kid, given: keys.map((given) => given.kid) });
    else if (!isSignedBy(head, key)) this.report({ kind: 'forged_head', size, kid, by });
  }

  private reportOnce(finding: Extract<Finding, { readonly kind: 'wrong_key' }>): void {
    const isKnown = this.findings.some((found) => found.kind === 'wrong_key' && found.kid === finding.kid);
    if (!isKnown) this.report(finding);
  }

  private endTree({ size }: ExportHeader): void {
    const { next } = this.tree;
    if (!this.hasEnded) this.report({ kind: 'cut', from: next, to: null });
    else if (next < size) this.report({ kind: 'cut', from: next, to: size });
    else if (size > 0 && (this.head?.size !== size || (this.options.keys !== undefined && this.head.kid === null))) {
      this.report({ kind: 'unsigned', size });
    }
    const longest = this.options.checkpoints.reduce((most, head) => Math.max(most, head.size), 0);
    if (longest > size) this.report({ kind: 'cut', from: size, to: longest });
  }
}

function bySize(heads: readonly AuditHead[]): ReadonlyMap<number, readonly AuditHead[]> {
  const found = new Map<number, AuditHead[]>();
  for (const head of heads) {
    const others = found.get(head.size);
    if (others) others.push(head);
    else found.set(head.size, [head]);
  }
  return found;
}

function isHeader({ size, log, filter }: ExportHeader): boolean {
  const isOfALog = size === 0 || typeof log === 'string';
  return Number.isSafeInteger(size) && size >= 0 && isOfALog && typeof filter === 'object' && filter !== null;
}

/** True for an export that nothing was left out of. */
export function isEverything(header: ExportHeader | undefined): boolean {
  return Object.keys(header?.filter ?? {}).length === 0;
}
