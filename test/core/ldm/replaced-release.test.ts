import { expect, it } from 'vitest';

import { measureReplacedRelease } from '../../../src/core/ldm/replaced-release.ts';
import { emptyState, leaf, tree } from './fold-support.ts';
import type { Chunk } from './fold-support.ts';

it('new trees can be nested deeper than calls', async () => {
  const trees = new Map<string, Uint8Array>();
  let top: Chunk = tree(leaf(1));
  for (let depth = 0; depth < 20_000; depth += 1) {
    trees.set(top.hex, top.bytes);
    top = tree({ ...top, children: [] });
  }
  trees.set(top.hex, top.bytes);
  const read = (): never => expect.fail('a tree of the state was read');
  const measure = await measureReplacedRelease(emptyState(), [], { roots: [top.id], trees }, read);
  expect(measure).toEqual({ chunkCount: 0, treeCount: 0, rawBytes: 0, storedBytes: 0 });
});
