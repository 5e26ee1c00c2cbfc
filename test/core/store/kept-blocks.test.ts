import { beforeEach, expect, test } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import { packName } from '../../../src/core/format/layout.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import type { PackedBlock } from '../../../src/core/format/packed-block.ts';
import { ChunkReader } from '../../../src/core/store/chunk-reader.ts';
import { ChunkWriter } from '../../../src/core/store/chunk-writer.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { makeText } from '../../support/tree-paths.ts';
import { chunksOf, codec, emptyStorage, hasher, sinkOf } from './store-support.ts';

const contents = Array.from({ length: 12 }, (_, index) => makeText(createPrng(index + 1), 1500));
/** The smallest memory of a block. */
const BUFFER_BYTES = 64 * 1024;
let backend: MemoryBackend;
let pack: PackContents;
let reading: FaultyBackend;

beforeEach(async () => {
  backend = emptyStorage();
  reading = new FaultyBackend(backend, { only: (operation) => operation === 'readRange' });
  const sizes = { blockRawBytes: 4096, packBytes: 1e9, segmentBytes: 1e9 };
  const onPack = (written: PackContents): void => {
    pack = written;
  };
  const writer = new ChunkWriter({
    sink: sinkOf(backend),
    kind: 'tree',
    packHash: 'blake3',
    codec,
    sizes,
    blocksAtOnce: 2,
    onPack,
  });
  for (const bytes of contents) await writer.add(hasher.treeId(bytes), bytes);
  await writer.finish();
});

/** The pack from a block on, in shared memory. */
function storedFrom({ offset }: PackedBlock): Buffer {
  const bytes = backend.peek(packName(pack.id))!;
  const stored = Buffer.from(new SharedArrayBuffer(bytes.length - offset));
  bytes.copy(stored, 0, offset);
  return stored;
}

/** Reads the first chunk of a block, and returns whether that read the disk. */
async function readsDisk(reader: ChunkReader, block: PackedBlock): Promise<boolean> {
  const before = reading.operations.length;
  const index = chunksOf(pack).findIndex(({ blockOffset }) => blockOffset === block.offset);
  expect(Buffer.compare(await reader.read(chunksOf(pack)[index]!), contents[index]!)).toBe(0);
  return reading.operations.length > before;
}

test('kept blocks are not read again, up to the size of the cache', async () => {
  const reader = new ChunkReader(reading, codec, { cacheBytes: 2 * BUFFER_BYTES });
  const [first, second, third] = pack.blocks;
  const keep = async (block: PackedBlock): Promise<boolean> => {
    const keeping = reader.keep(pack.id, block, storedFrom(block));
    if (keeping !== undefined) expect((await keeping).chunkIds).toEqual(block.chunkIds);
    return keeping !== undefined;
  };
  expect(await Promise.all([keep(first!), keep(second!), keep(third!)])).toEqual([true, true, false]);
  expect(await keep(first!)).toBe(false);
  expect([await readsDisk(reader, first!), await readsDisk(reader, second!)]).toEqual([false, false]);
  expect(await readsDisk(reader, third!)).toBe(true);
});

test('blocks with other chunks than expected are not kept', async () => {
  const reader = new ChunkReader(reading, codec, { cacheBytes: 1e6 });
  const [first, second] = pack.blocks;
  await reader.keep(pack.id, { ...first!, chunkIds: second!.chunkIds }, storedFrom(first!));
  expect(await readsDisk(reader, first!)).toBe(true);
  const damaged = storedFrom(second!);
  damaged[0]! ^= 1;
  await expect(reader.keep(pack.id, second!, damaged)).rejects.toBeInstanceOf(CorruptDataError);
  expect(await readsDisk(reader, second!)).toBe(true);
});
