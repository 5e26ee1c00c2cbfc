import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { TreeEntry } from '../../src/core/format/tree/tree.ts';
import { listFiles } from '../../src/verbs/ls/ls.ts';
import { createPrng } from '../support/prng.ts';
import { makeRandomTree } from '../support/random-tree.ts';
import { seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';
import { makeTestRepository, TINY_CHUNKS } from '../support/test-repository.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const FIXED_CHUNKS = { kind: 'fixed', sizeBytes: 64 * KIB } as const;

/** One below, at and one above each; 8 MiB is the buffer that files are read into. */
const DEFAULT_EDGES = inSoak([256 * KIB, MIB, 4 * MIB, 8 * MIB, 16 * MIB], [256 * KIB, 4 * MIB, 8 * MIB]);

describe('a tree comes back with everything', () => {
  it.each(seedsOf(inSoak(4, 2), 20))('that a home directory has (seed %i)', async (seed) => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS }, temporaryDirectory());
    makeRandomTree(repository.source, { seed, fileCount: 80, fileSizeBytesMax: inSoak(200_000, 80_000) });
    await repository.backup();
    await repository.expectRestored();
    await repository.expectClean();
  });

  it('in a repository with fixed chunks', async () => {
    const repository = await makeTestRepository({ chunker: FIXED_CHUNKS }, temporaryDirectory());
    makeRandomTree(repository.source, {
      seed: 5,
      fileCount: inSoak(80, 40),
      fileSizeBytesMax: inSoak(500_000, 300_000),
    });
    await repository.backup();
    await repository.expectRestored();
    await repository.expectClean();
  });

  it('when it comes from a backup that found nothing changed, and from one that read everything again', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS }, temporaryDirectory());
    makeRandomTree(repository.source, { seed: 6, fileCount: 60, fileSizeBytesMax: inSoak(100_000, 50_000) });
    await repository.backup();
    expect((await repository.backup()).summary).toMatchObject({ filesNew: 0, filesChanged: 0, dataBlobs: 0 });
    await repository.expectRestored();
    expect((await repository.backup({ force: true })).summary).toMatchObject({ dataBlobs: 0, treeBlobs: 0 });
    await repository.expectRestored();
  });
});

describe('file sizes', () => {
  const edges = (sizes: readonly number[]): number[] => [0, 1, ...sizes.flatMap((size) => [size - 1, size, size + 1])];

  it('around every size of the tiny chunker and of the block', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS }, temporaryDirectory());
    writeSizes(repository.source, edges([64, 512, 2048, 8192, 2 * 8192, MIB, ...inSoak([2 * MIB], [])]));
    await repository.backup();
    await repository.expectRestored();
  });

  it('around the fixed chunk and multiples of it', async () => {
    const repository = await makeTestRepository({ chunker: FIXED_CHUNKS }, temporaryDirectory());
    writeSizes(repository.source, edges([64 * KIB, 128 * KIB, ...inSoak([MIB], []), MIB + 64 * KIB]));
    await repository.backup();
    await repository.expectRestored();
  });

  it('around the default sizes and the buffer that files are read into', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    writeSizes(repository.source, edges(DEFAULT_EDGES));
    await repository.backup();
    await repository.expectRestored();
    await repository.expectClean();
  });
});

/** Bytes that nothing compresses or repeats, and for each size a file of zeros. */
function writeSizes(directory: string, sizes: readonly number[]): void {
  const noise = createPrng(11).bytes(Math.max(...sizes));
  for (const size of sizes) {
    // From the end, so that no two files begin alike.
    writeFileSync(join(directory, `noise-${size}`), noise.subarray(noise.length - size));
    writeFileSync(join(directory, `zeros-${size}`), Buffer.alloc(size));
  }
}

describe('large files', () => {
  it('with data far apart and holes between', async () => {
    const repository = await makeTestRepository({ compressionLevel: -5 });
    const lengthBytes = inSoak(96, 48) * MIB + 1;
    writeIslands(join(repository.source, 'sparse'), lengthBytes, [0, MIB - 1, 40 * MIB - 3, lengthBytes - 10]);
    const { summary } = await repository.backup();
    expect(summary.totalBytesProcessed).toBe(lengthBytes);
    expect(summary.dataAddedPacked).toBeLessThan(MIB);
    await repository.expectRestored();
  });

  it.each(inSoak([2 ** 32], []))('are read to their end past offset %i', async (offset) => {
    // Writing 4 GiB back takes longer than a test may; the ids of fixed chunks tell where the data is.
    const sizeBytes = 4 * MIB;
    const repository = await makeTestRepository({ chunker: { kind: 'fixed', sizeBytes }, compressionLevel: -5 });
    const lengthBytes = offset + 2 * sizeBytes + 5;
    writeIslands(join(repository.source, 'sparse'), lengthBytes, [offset / 2 - 5, offset + 12_345]);
    await repository.backup();
    const entries: TreeEntry[] = [];
    await listFiles(repository.context, { selector: 'latest:source', recursive: true }, ({ entry }) => {
      entries.push(entry);
    });
    expect(entries[0]).toMatchObject({ sizeBytes: lengthBytes });
    const ids = chunkIdsOf(entries[0]!);
    expect(ids).toHaveLength(1027);
    const different = [...ids.keys()].filter((index) => ids[index] !== ids[0]);
    // The first island lies across the end of a chunk, and the last chunk is shorter.
    expect(different).toEqual([511, 512, 1024, 1026]);
  });
});

function chunkIdsOf({ chunkIds }: TreeEntry): string[] {
  return Array.from({ length: chunkIds.length / 20 }, (_, index) =>
    Buffer.from(chunkIds.subarray(index * 20, index * 20 + 20)).toString('hex'),
  );
}

function writeIslands(path: string, lengthBytes: number, offsets: readonly number[]): void {
  const descriptor = openSync(path, 'w');
  for (const offset of offsets) writeSync(descriptor, Buffer.from('an island!'), 0, 10, offset);
  ftruncateSync(descriptor, lengthBytes);
  closeSync(descriptor);
}

describe('directories', () => {
  it('get their times and modes after what is in them', async () => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    const deep = join(repository.source, 'a', 'b', 'c');
    mkdirSync(deep, { recursive: true });
    writeFileSync(join(deep, 'file'), 'x');
    symlinkSync('nowhere', join(deep, 'link'));
    for (const mode of [0o500, 0o555, 0o1777, 0o2750]) mkdirSync(join(repository.source, `m${mode}`), { mode });
    for (const mode of [0o500, 0o555, 0o1777, 0o2750]) chmodSync(join(repository.source, `m${mode}`), mode);
    chmodSync(deep, 0o500);
    await repository.backup();
    await repository.expectRestored();
    chmodSync(deep, 0o700);
  });
});
