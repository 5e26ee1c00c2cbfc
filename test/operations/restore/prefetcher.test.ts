import type * as Os from 'node:os';

import { expect, it, vi } from 'vitest';

import type { FilterState } from '../../../src/filter/filter-state.ts';
import { blockBytes } from '../../../src/format/block.ts';
import { PREFETCH_CACHE_BYTES, Prefetcher } from '../../../src/operations/restore/prefetcher.ts';
import type { StateReader } from '../../../src/repository/state-reader.ts';
import { BufferPool } from '../../../src/store/buffer-pool.ts';
import { DEFAULT_STORE_SIZES } from '../../../src/store/store-sizes.ts';

vi.mock('node:os', async (importOriginal) => ({
  ...(await importOriginal<typeof Os>()),
  availableParallelism: () => 64,
}));

interface Blocks {
  readonly chunks: Prefetcher;
  /** By block, how often it was requested and not used up. */
  readonly requested: Map<number, number>;
  readonly used: number[];
}

/** Chunks of which `perBlock` that follow each other are in one block. */
function makeChunks(perBlock: number): Blocks {
  const blockOf = (entry: number): number => Math.floor(entry / perBlock);
  const requested = new Map<number, number>();
  const used: number[] = [];
  const reader: Pick<StateReader, 'prefetch' | 'useEntry'> = {
    prefetch: (entry) => void requested.set(blockOf(entry), (requested.get(blockOf(entry)) ?? 0) + 1),
    useEntry: (entry) => {
      if (!requested.has(blockOf(entry))) expect.fail(`the block of entry ${entry} was not requested before its use`);
      used.push(entry);
      return undefined;
    },
  };
  const location = (entry: number): object => ({ packIndex: 1, blockOffset: blockOf(entry), lengthBytes: 1 });
  const filter = { location } as unknown as FilterState['filter'];
  return { chunks: new Prefetcher(reader as StateReader, { filter } as FilterState), requested, used };
}

it('with many cores no block that was read ahead is gone before its use', () => {
  const prefetch = vi.fn<StateReader['prefetch']>();
  const reader: Pick<StateReader, 'prefetch' | 'useEntry'> = { prefetch, useEntry: () => undefined };
  const location = (entry: number): object => ({ packIndex: 0, blockOffset: entry, lengthBytes: 1 });
  const chunks = new Prefetcher(reader as StateReader, { filter: { location } } as unknown as FilterState);
  for (let entry = 0; entry < 1000; entry += 1) chunks.append(entry);
  void chunks.next(() => undefined);
  expect(prefetch.mock.calls.length).toBeGreaterThan(8);
  // As it lies in memory where compression did not help.
  const incompressible = blockBytes(1, DEFAULT_STORE_SIZES.blockRawBytes);
  const { length } = new BufferPool({ sizeBytesMin: 1 }).take(incompressible);
  expect(prefetch.mock.calls.length * length).toBeLessThan(PREFETCH_CACHE_BYTES);
});

it('a sequence far longer than what is kept of it is read in order, each block once and before its use', () => {
  const perBlock = 7;
  const { chunks, requested, used } = makeChunks(perBlock);
  const [count, ahead] = [200_000, 3000];
  let appended = 0;
  for (let entry = 0; entry < count; entry += 1) {
    while (appended < Math.min(count, entry + ahead)) chunks.append(appended++);
    if (chunks.waitingCount !== appended - entry) expect.fail(`wrong count at ${entry}`);
    if (entry % 11 === 0) chunks.skip(1);
    else void chunks.next(() => undefined);
  }
  expect(chunks.waitingCount).toBe(0);
  // Far enough beyond the 65,536 chunks after which the beginning is forgotten, and twice.
  expect(used).toEqual(Array.from({ length: count }, (_, entry) => entry).filter((entry) => entry % 11 !== 0));
  expect([...requested.values()].filter((times) => times !== 1)).toEqual([]);
  expect(requested.size).toBe(Math.ceil(count / perBlock));
});
