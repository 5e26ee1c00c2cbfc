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
