import { expect, it } from 'vitest';

import { RefusedError, UsageError } from '../../../src/core/errors.ts';
import { MEMORY_BYTES_MIN, WorkSizes } from '../../../src/core/util/work-limits.ts';

const MIB = 2 ** 20;

it('refuses limits that make no sense', () => {
  for (const threads of [0, -1, 1.5, NaN, Infinity, '2' as never, null as never])
    expect(() => new WorkSizes({ threads }), String(threads)).toThrow(UsageError);
  for (const memoryBytes of [0, -1, NaN, MEMORY_BYTES_MIN - 1, '1e9' as never, null as never])
    expect(() => new WorkSizes({ memoryBytes }), String(memoryBytes)).toThrow(UsageError);
});

it('uses no more threads and no larger caches with a lower limit', () => {
  const usual = new WorkSizes();
  expect(usual.threadCount).toBeUndefined();
  expect(usual.cacheBytes(64 * MIB)).toBe(64 * MIB);
  let less = new WorkSizes({ memoryBytes: MEMORY_BYTES_MIN });
  expect([less.atOnce, less.threadCount]).toEqual([1, 0]);
  for (let memoryBytes = MEMORY_BYTES_MIN; memoryBytes < 1024 * MIB; memoryBytes += 16 * MIB) {
    const more = new WorkSizes({ memoryBytes });
    expect(more.threadCount).toBeGreaterThanOrEqual(less.threadCount!);
    expect(more.atOnce).toBeGreaterThanOrEqual(less.atOnce);
    expect(more.atOnce).toBeLessThanOrEqual(usual.atOnce);
    expect(more.cacheBytes(64 * MIB)).toBeGreaterThanOrEqual(less.cacheBytes(64 * MIB));
    less = more;
  }
  expect(less.cacheBytes(64 * MIB)).toBe(64 * MIB);
  expect(new WorkSizes({ threads: 3, memoryBytes: 1024 * MIB }).threadCount).toBe(2);
});

it('says how much memory an index needs that does not fit', () => {
  const indexBytes = 100 * MIB;
  expect(() => new WorkSizes().assertIndexFits(indexBytes)).not.toThrow();
  const sizes = new WorkSizes({ memoryBytes: MEMORY_BYTES_MIN });
  let error: unknown;
  try {
    sizes.assertIndexFits(indexBytes);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(RefusedError);
  const needed = Number(/Allow (\d+) MiB/.exec((error as RefusedError).hint!)![1]);
  const enough = new WorkSizes({ memoryBytes: needed * MIB });
  expect(() => enough.assertIndexFits(indexBytes)).not.toThrow();
});
