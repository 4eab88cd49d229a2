import { EMPTY_ROOT, nodeHash } from './digest.js';

/** A complete subtree: the leaves `no × 2^level` up to `(no + 1) × 2^level`. */
export interface Subtree {
  readonly level: number;
  readonly no: number;
}

/** Gives the hash of a complete subtree. */
export type HashOf = (subtree: Subtree) => Promise<Uint8Array>;

/** The largest complete subtrees that make up the leaves from `from` up to `to`, in order. */
export function subtreesOf(from: number, to: number): readonly Subtree[] {
  const parts: Subtree[] = [];
  for (let at = from; at < to;) {
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= to) level += 1;
    parts.push({ level, no: at / 2 ** level });
    at += 2 ** level;
  }
  return parts;
}

/**
 * The right edge of a growing tree: the hashes of its largest complete subtrees, from which its root follows. Hashing n leaves
 * takes about 2n hashes and log n places.
 */
export class TreeEdge {
  private constructor(
    private count: number,
    private readonly edge: { readonly level: number; readonly hash: Uint8Array }[],
    private readonly onNode: (subtree: Subtree, hash: Uint8Array) => void,
  ) {}

  /** `onNode` gets every inner node that is completed from now on. */
  static empty(onNode: (subtree: Subtree, hash: Uint8Array) => void = () => undefined): TreeEdge {
    return new TreeEdge(0, [], onNode);
  }

  get size(): number {
    return this.count;
  }

  /** The same edge, to be grown without this one. */
  fork(onNode: (subtree: Subtree, hash: Uint8Array) => void = () => undefined): TreeEdge {
    return new TreeEdge(this.count, [...this.edge], onNode);
  }

  /** Adds a complete subtree that begins where the tree ends. @throws Error when it does not. */
  add(hash: Uint8Array, level = 0): void {
    if (this.count % 2 ** level !== 0) throw new Error(`no subtree of level ${level} begins at leaf ${this.count}`);
    this.count += 2 ** level;
    let top = { level, hash };
    for (let left = this.edge.at(-1); left?.level === top.level; left = this.edge.at(-1)) {
      this.edge.pop();
      top = { level: top.level + 1, hash: nodeHash(left.hash, top.hash) };
      this.onNode({ level: top.level, no: this.count / 2 ** top.level - 1 }, top.hash);
    }
    this.edge.push(top);
  }

  /** Root of RFC 9162 section 2.1.1. */
  root(): Uint8Array {
    const [last, ...others] = this.edge.map(({ hash }) => hash).reverse();
    return last === undefined ? EMPTY_ROOT : others.reduce((right, left) => nodeHash(left, right), last);
  }
}

/** Root of the leaves `from` up to `to`, which need not be a complete subtree. */
async function rangeHash(from: number, to: number, hashOf: HashOf): Promise<Uint8Array> {
  const hashes = await Promise.all(subtreesOf(from, to).map(hashOf));
  const [last, ...others] = hashes.reverse();
  if (last === undefined) return EMPTY_ROOT;
  return others.reduce((right, left) => nodeHash(left, right), last);
}

/** The largest power of two below `size`. */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** Inclusion proof of RFC 9162 section 2.1.3.1, from the leaf upwards. */
export async function inclusionProof(leafNo: number, size: number, hashOf: HashOf): Promise<readonly Uint8Array[]> {
  const path: Promise<Uint8Array>[] = [];
  let from = 0;
  let to = size;
  while (to - from > 1) {
    const split = from + splitOf(to - from);
    if (leafNo < split) {
      path.push(rangeHash(split, to, hashOf));
      to = split;
    } else {
      path.push(rangeHash(from, split, hashOf));
      from = split;
    }
  }
  return (await Promise.all(path)).reverse();
}

/**
 * Climbs from leaf `fn` of a tree whose last leaf is `sn` along a proof: RFC 9162 sections 2.1.3.2 and 2.1.4.2. `join` gets
 * each hash and whether it stands to the left. True when the proof ends at the root.
 */
function climb(
  [fn, sn]: readonly [number, number],
  proof: readonly Uint8Array[],
  join: (hash: Uint8Array, isLeft: boolean) => void,
): boolean {
  for (const hash of proof) {
    if (sn === 0) return false;
    const isLeft = fn % 2 === 1 || fn === sn;
    join(hash, isLeft);
    while (isLeft && fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0;
}

/** True when the proof leads from the leaf hash to the root: RFC 9162 section 2.1.3.2. */
export function isIncluded(
  leaf: { readonly no: number; readonly hash: Uint8Array },
  tree: Tree,
  proof: readonly Uint8Array[],
): boolean {
  if (leaf.no >= tree.size || leaf.no < 0) return false;
  let { hash } = leaf;
  const isAtRoot = climb([leaf.no, tree.size - 1], proof, (sibling, isLeft) => {
    hash = isLeft ? nodeHash(sibling, hash) : nodeHash(hash, sibling);
  });
  return isAtRoot && Buffer.from(hash).equals(tree.root);
}

/** Consistency proof of RFC 9162 section 2.1.4.1 between the trees of `first` and `second` leaves, `0 < first <= second`. */
export async function consistencyProof(first: number, second: number, hashOf: HashOf): Promise<readonly Uint8Array[]> {
  const proof: Promise<Uint8Array>[] = [];
  let from = 0;
  let to = second;
  let isWhole = true;
  while (first < to) {
    const split = from + splitOf(to - from);
    if (first <= split) {
      proof.push(rangeHash(split, to, hashOf));
      to = split;
    } else {
      proof.push(rangeHash(from, split, hashOf));
      from = split;
      isWhole = false;
    }
  }
  if (!isWhole) proof.push(rangeHash(from, to, hashOf));
  return (await Promise.all(proof)).reverse();
}

/** A tree by its size and root. */
export interface Tree {
  readonly size: number;
  readonly root: Uint8Array;
}

/** True when the second tree begins with all leaves of the first: RFC 9162 section 2.1.4.2. */
export function isConsistent(first: Tree, second: Tree, proof: readonly Uint8Array[]): boolean {
  if (first.size === second.size) return proof.length === 0 && Buffer.from(first.root).equals(second.root);
  if (first.size <= 0 || first.size > second.size) return false;
  const [start, ...path] = isPowerOfTwo(first.size) ? [first.root, ...proof] : proof;
  if (start === undefined) return false;
  let [fn, sn] = [first.size - 1, second.size - 1];
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)];
  let [fr, sr] = [start, start];
  const isAtRoot = climb([fn, sn], path, (hash, isLeft) => {
    [fr, sr] = isLeft ? [nodeHash(hash, fr), nodeHash(hash, sr)] : [fr, nodeHash(sr, hash)];
  });
  return isAtRoot && Buffer.from(fr).equals(first.root) && Buffer.from(sr).equals(second.root);
}

function half(n: number): number {
  return Math.floor(n / 2);
}

function isPowerOfTwo(n: number): boolean {
  return 2 ** Math.round(Math.log2(n)) === n;
}
