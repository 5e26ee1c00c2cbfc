import { expect, it } from 'vitest';

import { encodeTree } from '../../../src/core/format/tree/tree.ts';
import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { bareDirectory } from '../../../src/core/format/tree/tree-entry.ts';
import type { StateReader } from '../../../src/core/repository/state-reader.ts';
import { TreeCache } from '../../../src/core/snapshots/tree-cache.ts';
import { bs } from '../../support/tar-archive.ts';

const MIB = 1024 * 1024;
const TARGET = bs('t'.repeat(4000));

/** A tree of at least so many bytes, with few entries. */
function treeOf(sizeBytes: number): Buffer {
  const entries = Array.from({ length: Math.ceil(sizeBytes / TARGET.length) }, (_, number): TreeEntry => {
    const name = bs(String(number).padStart(6, '0'));
    return { ...bareDirectory(name, new Uint8Array()), type: 'symlink', treeId: undefined, linkTarget: TARGET };
  });
  return encodeTree(entries);
}

it('trees that are used again are read once, also one that is larger than the others may be together', async () => {
  const trees = [treeOf(20 * MIB), treeOf(MIB), treeOf(6 * MIB), treeOf(6 * MIB), treeOf(6 * MIB), treeOf(18 * MIB)];
  const reads: number[] = [];
  const read = async ([number]: Uint8Array): Promise<Buffer> => {
    reads.push(number!);
    return trees[number!]!;
  };
  const cache = new TreeCache({ read } as unknown as StateReader);
  const open = async (...numbers: readonly number[]): Promise<number[]> => {
    reads.length = 0;
    for (const number of numbers) await cache.open(Uint8Array.of(number));
    return [...reads];
  };
  expect(await open(1, 0, 1, 0, 1, 0)).toEqual([1, 0]);
  expect(await open(2, 0, 3, 1, 0)).toEqual([2, 3]);
  // The small ones are kept while they fit, those that were used last.
  expect(await open(4, 1, 3, 0, 2)).toEqual([4, 2]);
  // Of the large ones, only the last.
  expect(await open(5, 5, 0, 5)).toEqual([5, 0, 5]);
});
