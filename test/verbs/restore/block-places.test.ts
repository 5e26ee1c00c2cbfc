import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { blockBytes } from '../../../src/core/format/block.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

const BLOCK_BYTES = 2 ** 20;
const CHUNK_BYTES: number = BLOCK_BYTES - blockBytes(1, 0);
const BLOCK_COUNT = 12;

it('blocks at offsets in several packs that differ by a power of two are different blocks', async () => {
  const repository = await makeTestRepository({ chunker: { kind: 'fixed', sizeBytes: CHUNK_BYTES } });
  const storeSizes = { blockRawBytes: 64 * 1024, packBytes: 4 * BLOCK_BYTES, segmentBytes: 64 * BLOCK_BYTES };
  Object.assign(repository.context, { storeSizes });
  // Each chunk is stored raw and alone in a block of exactly 1 MiB, four of them in a pack.
  writeFileSync(join(repository.source, 'file'), createPrng(20261127).bytes(BLOCK_COUNT * CHUNK_BYTES));
  await repository.backup();
  const { problems, blocksNeeded, blocksRead } = await repository.restore();
  expect(problems).toEqual([]);
  expect([blocksNeeded, blocksRead]).toEqual([BLOCK_COUNT, BLOCK_COUNT]);
  await repository.expectRestored();
});
