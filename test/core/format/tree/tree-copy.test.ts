import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHUNK_ID_BYTES } from '../../../../src/core/format/constants.ts';
import { decodeTree, encodeTree } from '../../../../src/core/format/tree/tree.ts';
import type { TreeEntry } from '../../../../src/core/format/tree/tree.ts';
import { forEachCounterpart, rewriteTree } from '../../../../src/core/format/tree/tree-copy.ts';
import { arbTree, entryOf } from '../arbitraries.ts';
import { testProperty } from '../../../support/property.ts';

/** The ids of a copy whose chunks are other ones: `factor` chunks for each, or half as many. */
function idsOfCopy(factor: number): { treeId: (id: Uint8Array) => Buffer; chunkIds: (ids: Uint8Array) => Buffer } {
  const invert = (ids: Uint8Array): Buffer => Buffer.from(ids.map((byte) => byte ^ 0xff));
  return {
    treeId: invert,
    chunkIds: (ids) => {
      const count = Math.ceil((ids.length / CHUNK_ID_BYTES) * factor);
      return Buffer.concat(Array.from({ length: count }, () => invert(ids.subarray(0, CHUNK_ID_BYTES))));
    },
  };
}

/** The same entries with the ids of a copy, made from objects. */
function entriesOfCopy(entries: readonly TreeEntry[], factor: number): TreeEntry[] {
  const { treeId, chunkIds } = idsOfCopy(factor);
  return entries.map((entry) => ({
    ...entry,
    treeId: entry.treeId === undefined ? undefined : treeId(entry.treeId),
    chunkIds: entry.chunkIds.length === 0 ? entry.chunkIds : chunkIds(entry.chunkIds),
  }));
}

const arbFactor = fc.constantFrom(0.5, 1, 3, 200);
const allocate = (sizeBytes: number): Buffer => Buffer.alloc(sizeBytes, 0xee);

describe('a tree with the ids of a copy', () => {
  testProperty('is the one that its entries give', (check) => {
    check(
      fc.property(arbTree, arbFactor, (entries, factor) => {
        const { bytes, memory } = rewriteTree(encodeTree(entries), idsOfCopy(factor), allocate);
        expect(bytes).toEqual(encodeTree(entriesOfCopy(entries, factor)));
        expect(bytes.buffer).toBe(memory.buffer);
        expect(bytes.byteOffset).toBe(memory.byteOffset);
      }),
    );
  });

  test('keeps memory that is larger than needed', () => {
    const tree = encodeTree([entryOf({ chunkIds: new Uint8Array(20), sizeBytes: 1 })]);
    const memory = Buffer.alloc(1000);
    expect(rewriteTree(tree, idsOfCopy(3), () => memory).memory).toBe(memory);
  });
});

describe('a tree and its copy', () => {
  testProperty('are visited side by side', (check) => {
    check(
      fc.property(arbTree, arbFactor, (entries, factor) => {
        const tree = encodeTree(entries);
        const copy = encodeTree(entriesOfCopy(entries, factor));
        const visited: unknown[] = [];
        const isCopy = forEachCounterpart(tree, copy, {
          tree: (id, copyId) => void visited.push([Buffer.from(id), Buffer.from(copyId)]),
          file: (ids, copyIds, sizeBytes) => void visited.push([Buffer.from(ids), Buffer.from(copyIds), sizeBytes]),
        });
        expect(isCopy).toBe(true);
        const copied = decodeTree(copy);
        const expected = entries.flatMap((entry, index) => {
          const { chunkIds, treeId } = copied[index]!;
          if (entry.type === 'directory') return [[Buffer.from(entry.treeId!), Buffer.from(treeId!)]];
          if (entry.type !== 'file') return [];
          return [[Buffer.from(entry.chunkIds), Buffer.from(chunkIds), entry.sizeBytes]];
        });
        expect(visited).toEqual(expected);
      }),
    );
  });

  testProperty('are told from trees of other entries, whatever byte differs', (check) => {
    const nothing = { tree: () => undefined, file: () => undefined };
    check(
      fc.property(arbTree, arbTree, (entries, others) => {
        fc.pre(entries.length > 0);
        const tree = encodeTree(entries);
        const isEqual = tree.equals(encodeTree(others));
        if (!isEqual) expect(forEachCounterpart(tree, encodeTree(entriesOfCopy(others, 2)), nothing)).toBe(false);
        for (const [name, value] of Object.entries({ inode: 12n, mode: 1, mtimeNanoseconds: 999_999_998 })) {
          const last = { ...entries.at(-1)!, [name]: value };
          const changed = encodeTree([...entries.slice(0, -1), last]);
          if (!changed.equals(tree)) expect(forEachCounterpart(tree, changed, nothing), name).toBe(false);
        }
        expect(forEachCounterpart(tree, encodeTree(entries.slice(0, -1)), nothing)).toBe(false);
      }),
    );
  });
});
