import { expect, test } from 'vitest';

import { ChunkCopier } from '../../../src/verbs/copy/chunk-copier.ts';
import type { CopierServices } from '../../../src/verbs/copy/content-copier.ts';

/** A filter in which the number of a chunk is the first byte of its id. */
function filterOf(lengths: readonly number[]): unknown {
  return {
    state: { filter: { find: (ids: Uint8Array, at: number) => ids[at], lengthOf: (entry: number) => lengths[entry] } },
  };
}

test('only chunks that are cut at the same places are learnt from an earlier copy', () => {
  const services = { source: filterOf([100, 300, 200]), destination: filterOf([100, 200, 300]) };
  const copier = new ChunkCopier(services as CopierServices, { hasSameIds: false });
  const copyIds = Buffer.concat([0, 1, 2].map((number) => Buffer.alloc(20, number)));
  copier.learn([0, 1, 2], copyIds);
  expect([0, 1, 2].map((entry) => copier.isNew(entry))).toEqual([false, true, true]);
  expect(copier.idsOf([0])).toEqual(copyIds.subarray(0, 20));
  // One more chunk than here.
  copier.learn([1, 2], copyIds);
  expect(copier.isNew(1)).toBe(true);
});
