import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { leafHash } from './digest.js';
import {
  consistencyProof,
  type HashOf,
  inclusionProof,
  isConsistent,
  isIncluded,
  subtreesOf,
  TreeEdge,
} from './merkle.js';

const leaf = (n: number): Uint8Array => leafHash(Buffer.from(`leaf ${n}`));
const grow = (size: number): TreeEdge => {
  const edge = TreeEdge.empty();
  for (let n = 0; n < size; n += 1) edge.add(leaf(n));
  return edge;
};
const hashOf: HashOf = async ({ level, no }) => {
  const edge = TreeEdge.empty();
  for (let n = no * 2 ** level; n < (no + 1) * 2 ** level; n += 1) edge.add(leaf(n));
  return edge.root();
};
const flip = (hash: Uint8Array): Uint8Array => hash.map((byte, at) => (at === 0 ? byte ^ 1 : byte));

/** The leaves and roots of the test vectors of RFC 6962 implementations. */
const VECTORS = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

describe('the tree', () => {
  it('has the roots of the published vectors', () => {
    const edge = TreeEdge.empty();
    const roots = VECTORS.map((bytes) => {
      edge.add(leafHash(Buffer.from(bytes, 'hex')));
      return Buffer.from(edge.root()).toString('hex');
    });
    expect(roots).toEqual(ROOTS);
    expect(Buffer.from(TreeEdge.empty().root()).toString('hex')).toBe(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    );
  });

  it('proves every leaf at its place, and nowhere else', async () => {
    for (let size = 1; size <= 20; size += 1) {
      const tree = { size, root: grow(size).root() };
      for (let no = 0; no < size; no += 1) {
        const proof = await inclusionProof(no, size, hashOf);
        const answers = Array.from({ length: size }, (_, at) => isIncluded({ no: at, hash: leaf(no) }, tree, proof));
        expect(answers).toEqual(Array.from({ length: size }, (_, at) => at === no));
        for (const [at, hash] of proof.entries()) {
          expect(isIncluded({ no, hash: leaf(no) }, tree, proof.with(at, flip(hash)))).toBe(false);
        }
        expect(isIncluded({ no, hash: leaf(no) }, tree, [...proof, leaf(0)])).toBe(false);
      }
    }
  });

  it('proves that it has only grown, and of no other tree', async () => {
    for (let second = 1; second <= 20; second += 1) {
      for (let first = 1; first <= second; first += 1) {
        const proof = await consistencyProof(first, second, hashOf);
        const [a, b] = [first, second].map((size) => ({ size, root: grow(size).root() })) as [never, never];
        expect(isConsistent(a, b, proof)).toBe(true);
        expect(isConsistent({ size: first, root: leaf(99) }, b, proof)).toBe(false);
        expect(isConsistent(a, { size: second, root: leaf(99) }, proof)).toBe(false);
        for (const [at, hash] of proof.entries()) expect(isConsistent(a, b, proof.with(at, flip(hash)))).toBe(false);
      }
    }
  });

  it('is the same whether it grows by leaves or by the largest subtrees', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(300), fc.nat(300), async (a, b) => {
        const [from, size] = [Math.min(a, b), Math.max(a, b)];
        const edge = grow(from);
        for (const part of subtreesOf(from, size)) edge.add(await hashOf(part), part.level);
        expect(edge.root()).toEqual(grow(size).root());
      }),
      { numRuns: 30 },
    );
  });
});
