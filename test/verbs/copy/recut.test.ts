import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { makeCopyPair } from '../../support/copy-pair.ts';
import { CountingBackend } from '../../support/counting-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { inSoak } from '../../support/soak.ts';

const MIB = 1024 * 1024;

test.each(['in one copy', 'by a later copy'])('a file that begins like another one is cut anew %s', async (when) => {
  const own = { chunker: { kind: 'fixed', sizeBytes: 1000 } } as const;
  const { source, destination, copy } = await makeCopyPair({ chunker: { kind: 'fixed', sizeBytes: 3000 } }, own);
  const bytes = createPrng(1).bytes(2000);
  writeFileSync(join(source.source, 'a'), bytes.subarray(0, 1000));
  await source.backup();
  if (when === 'by a later copy') await copy();
  writeFileSync(join(source.source, 'b'), bytes);
  await source.backup();
  await copy();
  const { summary } = await destination.backup({ sources: [source.source], force: true });
  expect(summary).toMatchObject({ dataAdded: 0, filesUnmodified: 2 });
});

test('chunks that are larger than the buffer of the other chunker and than the cache are read once', async () => {
  const own = { chunker: { kind: 'fixed', sizeBytes: 35 * MIB } } as const;
  const other = { chunker: { kind: 'fixed', sizeBytes: 300_000 } } as const;
  const { source, destination, copy, expectCopied } = await makeCopyPair(other, own);
  writeFileSync(join(source.source, 'large'), createPrng(2).bytes(37 * MIB));
  await source.backup();
  const counting = new CountingBackend(new LocalBackend(join(source.directory, 'repository')));
  const context = { ...source.context, backend: counting };
  await copySnapshots(context, { destination: { backend: destination.context.backend } });
  expect(counting.bytesReadIn('packs')).toBeLessThan(80 * MIB);
  await copy();
  await expectCopied();
  const { summary } = await destination.backup({ sources: [source.source], force: true });
  expect(summary.dataAdded).toBe(0);
});

test('of many versions of a large file, only what is new is read', async () => {
  const { source, destination, expectCopied } = await makeCopyPair(
    { chunker: { kind: 'fastcdc', minSizeBytes: 2048, averageSizeBytes: 8192, maxSizeBytes: 32_768 } },
    {},
  );
  Object.assign(source.context, { storeSizes: { blockRawBytes: 16_384, packBytes: 65_536, segmentBytes: 1e9 } });
  const bytes = createPrng(3).bytes(inSoak(2, 1) * MIB);
  for (let version = 0; version < inSoak(10, 6); version += 1) {
    bytes.fill(`version ${version}`, version * 100_000, version * 100_000 + 50);
    writeFileSync(join(source.source, 'large'), bytes);
    await source.backup();
  }
  const counting = new CountingBackend(new LocalBackend(join(source.directory, 'repository')));
  const context = { ...source.context, backend: counting };
  const { snapshots } = await copySnapshots(context, { destination: { backend: destination.context.backend } });
  const blocks = counting.operations.filter(({ operation }) => operation === 'readRange');
  // About 65 for the first MiB.
  expect(blocks.length).toBeLessThan(inSoak(400, 200));
  expect(snapshots.slice(1).every(({ added }) => added!.bytes < 200_000)).toBe(true);
  await expectCopied();
});
