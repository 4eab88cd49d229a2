import type { TreeSource } from '#lib/domain';
import { leafHash, nodeHash } from './digest.js';
import { type HashOf, type Subtree, subtreesOf, TreeEdge } from './merkle.js';

/** Every so many levels the nodes are kept; what lies between is hashed anew from at most 256 of them. */
export const KEPT_LEVELS = 8;

/** Hashes of complete subtrees, from what is kept of the tree. */
export function hashesFrom(source: TreeSource): HashOf {
  return async ({ level, no }: Subtree) => {
    const above = level % KEPT_LEVELS;
    const base = level - above;
    const [from, to] = [no * 2 ** above, (no + 1) * 2 ** above];
    const hashes = base === 0 ? (await source.digests(from, to)).map(leafHash) : await source.nodes(base, from, to);
    if (hashes.length !== to - from) throw new TreeGapError(base, from, to);
    return fold(hashes);
  };
}

/** The edge of the tree of `size` leaves. */
export async function edgeAt(size: number, hashOf: HashOf): Promise<TreeEdge> {
  const edge = TreeEdge.empty();
  for (const subtree of subtreesOf(0, size)) edge.add(await hashOf(subtree), subtree.level);
  return edge;
}

/** Parts of the tree that were kept are not there any more. */
export class TreeGapError extends Error {
  override readonly name = 'TreeGapError';

  constructor(level: number, from: number, to: number) {
    super(`the audit tree lacks hashes of level ${level} from ${from} to ${to - 1}`);
  }
}

function fold(hashes: readonly Uint8Array[]): Uint8Array {
  let row = hashes;
  while (row.length > 1) {
    row = Array.from({ length: row.length / 2 }, (_, at) => nodeHash(row[2 * at]!, row[2 * at + 1]!));
  }
  return row[0]!;
}
