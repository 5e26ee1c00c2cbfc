import { describe, expect, it } from 'vitest';
import { PackTable, takesPrecedence } from '../../../src/core/ldm/pack-table.ts';
import { blockBytes } from '../../../src/core/format/block.ts';
import { fileId, leaf, pack } from './fold-support.ts';

describe('PackTable', () => {
  it('gives each id one index, however often it is added', () => {
    const table = new PackTable();
    const first = table.add(pack(fileId(5), [leaf(1)]));
    const second = table.add(pack(fileId(4), [leaf(2)]));
    expect([table.add(pack(fileId(5), [leaf(1)])), table.find(fileId(4)), table.count]).toEqual([first, second, 2]);
    expect(table.find(fileId(6))).toBeUndefined();
  });

  it('knows how many chunks a pack has and what its blocks occupy', () => {
    const contents = pack(fileId(5), [leaf(1), leaf(2), leaf(3)], 2);
    const table = new PackTable();
    const storedBytes = contents.blocks.reduce(
      (sum, block) => sum + blockBytes(block.chunkLengths.length, block.storedBytes),
      0,
    );
    expect(table.get(table.add(contents))).toEqual({
      id: fileId(5),
      kind: 'data',
      sizeBytes: contents.sizeBytes,
      chunkCount: 3,
      storedBytes,
      isBorrowed: false,
    });
  });

  it('prefers the pack that holds its bytes over one that borrows them, whatever their ids', () => {
    const contents = pack(fileId(4), [leaf(1)]);
    const borrowing = {
      ...contents,
      blocks: contents.blocks.map((block) => ({ ...block, codec: 'borrowed' as const })),
    };
    const table = new PackTable();
    const borrowed = table.get(table.add(borrowing));
    const stored = table.get(table.add(pack(fileId(5), [leaf(1)])));
    expect([borrowed.isBorrowed, stored.isBorrowed]).toEqual([true, false]);
    expect([takesPrecedence(stored, borrowed), takesPrecedence(borrowed, stored)]).toEqual([true, false]);
  });

  it('never uses the index of a removed pack again', () => {
    const table = new PackTable();
    const index = table.add(pack(fileId(5), [leaf(1)]));
    table.remove(index);
    expect([table.count, table.find(fileId(5))]).toEqual([0, undefined]);
    expect(() => table.get(index)).toThrow(/no pack/);
    expect(table.add(pack(fileId(5), [leaf(1)]))).not.toBe(index);
    const seen: string[] = [];
    table.forEach(({ id }) => seen.push(id));
    expect(seen).toEqual([fileId(5)]);
  });
});
