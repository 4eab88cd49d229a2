import type { AuditFilter, AuditReader, SealedLeaf, StoredHead } from '#lib/domain';
import { EXPORT_FORMAT, type ExportLine } from './export.lines.js';
import { type HashOf, subtreesOf } from './merkle.js';
import { hashesFrom, TreeGapError } from './tree.reader.js';

/** Leaves looked at in one step; so many records are in memory at once. */
const WINDOW = 500;

/** The lines of an export, some at a time. Reads no further than its reader takes them. */
export async function* exportLines(reader: AuditReader, filter: AuditFilter): AsyncIterable<readonly ExportLine[]> {
  const head = await reader.head();
  const size = head?.size ?? 0;
  const first = Math.min(await reader.firstLeaf(), size);
  yield [{ type: 'export', format: EXPORT_FORMAT, ...(head && { log: head.log }), filter, first, size }];
  const prunings = await reader.prunings(filter.tenant);
  yield prunings.map((pruning): ExportLine => ({ type: 'pruning', ...pruning }));
  const isWhole = Object.values(filter).every((value) => value === undefined);
  const gone = prunings.find(({ tenant }) => tenant === null)?.size ?? 0;
  const gaps = new Gaps(hashesFrom(reader.tree), isWhole ? Math.max(first, Math.min(gone, size)) : size);
  const ask = { filter, first, size };
  const records = yield* isWhole ? everyLeaf(reader, gaps, ask) : someLeaves(reader, gaps, ask);
  if (!isWhole && head) yield headsOf([head], 0, size);
  yield* unsealedLines(reader, filter);
  yield [{ type: 'end', records }];
}

interface Ask {
  readonly filter: AuditFilter;
  readonly first: number;
  readonly size: number;
}

type Lines = AsyncGenerator<readonly ExportLine[], number>;

/** @returns how many leaves there were. */
async function* everyLeaf(reader: AuditReader, gaps: Gaps, { first, size }: Ask): Lines {
  let at = 0;
  let found = 0;
  for (let from = first; from < size; from += WINDOW) {
    const to = Math.min(from + WINDOW, size);
    const leaves = await reader.leaves({}, from, to);
    const heads = await reader.headsBetween(from, to);
    const page: ExportLine[] = [];
    for (const leaf of leaves) {
      page.push(...(await gaps.between(at, leaf.leaf)), ...headsOf(heads, at, leaf.leaf));
      page.push(lineOf(leaf), ...headsOf(heads, leaf.leaf, leaf.leaf + 1));
      at = leaf.leaf + 1;
    }
    page.push(...(await gaps.between(at, to)), ...headsOf(heads, at, to));
    at = to;
    found += leaves.length;
    yield page;
  }
  yield await gaps.between(at, size);
  return found;
}

/** Those the filter means; of the others the largest subtrees. */
async function* someLeaves(reader: AuditReader, gaps: Gaps, { filter, first, size }: Ask): Lines {
  let at = 0;
  let found = 0;
  for (let from = first; from < size; from += WINDOW) {
    const leaves = await reader.leaves(filter, from, Math.min(from + WINDOW, size));
    const page: ExportLine[] = [];
    for (const leaf of leaves) {
      page.push(...(await gaps.between(at, leaf.leaf)), lineOf(leaf));
      at = leaf.leaf + 1;
    }
    found += leaves.length;
    if (page.length > 0) yield page;
  }
  yield await gaps.between(at, size);
  return found;
}

async function* unsealedLines(reader: AuditReader, filter: AuditFilter): AsyncIterable<readonly ExportLine[]> {
  for (let after: string | undefined = NIL; after !== undefined;) {
    const page = await reader.unsealed(filter, after, WINDOW);
    yield page.records.map((record): ExportLine => ({ type: 'unsealed', record }));
    after = page.lastId;
  }
}

const NIL = '00000000-0000-0000-0000-000000000000';

function lineOf({ leaf, recordId, digest, record }: SealedLeaf): ExportLine {
  const text = Buffer.from(digest).toString('base64');
  if (record === null) return { type: 'missing', leaf, id: recordId, digest: text };
  return { type: 'record', leaf, record, digest: text };
}

/** Heads of trees of more than `from` and at most `to` leaves. */
function headsOf(heads: readonly StoredHead[], from: number, to: number): readonly ExportLine[] {
  return heads.filter(({ size }) => size > from && size <= to).map((head) => ({ type: 'head', ...head }));
}

/** What stands for leaves that are not shown. */
class Gaps {
  constructor(
    private readonly hashOf: HashOf,
    /** From this leaf on every leaf is asked for: one that is not there is gone. */
    private readonly wholeFrom: number,
  ) {}

  async between(from: number, to: number): Promise<readonly ExportLine[]> {
    const hidden = Math.max(from, Math.min(to, this.wholeFrom));
    const lines: ExportLine[] = [];
    for (const { level, no } of subtreesOf(from, hidden)) lines.push(await this.subtree(level, no));
    return to > hidden ? [...lines, { type: 'gap', from: hidden, to }] : lines;
  }

  private async subtree(level: number, no: number): Promise<ExportLine> {
    try {
      return { type: 'subtree', level, no, hash: Buffer.from(await this.hashOf({ level, no })).toString('hex') };
    } catch (error) {
      if (!(error instanceof TreeGapError)) throw error;
      return { type: 'gap', from: no * 2 ** level, to: (no + 1) * 2 ** level };
    }
  }
}
