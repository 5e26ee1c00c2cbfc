import { packName } from '../../../src/core/format/layout.ts';
import { beforeEach, describe, expect, test } from 'vitest';

import { BackendError, CorruptDataError } from '../../../src/core/errors.ts';
import { decodeBlockHeader } from '../../../src/core/format/block.ts';
import { BLOCK_HEADER_BYTES } from '../../../src/core/format/constants.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { BufferPool } from '../../../src/core/store/buffer-pool.ts';
import { readHashedBlock, readPackContents, readStoredBlock } from '../../../src/core/store/pack-reader.ts';
import { PackWriter } from '../../../src/core/store/pack-writer.ts';
import { unreadable } from '../../support/damage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import type { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { codec, emptyStorage, hasher, rawBlock, sinkOf, placeOf } from './store-support.ts';
import { plainPlace } from '../../support/plain-place.ts';
import { PLAIN } from '../../../src/core/crypto/seals.ts';

const payload = createPrng(20261120).bytes(300);
let backend: MemoryBackend;
let pack: PackContents;
let whole: Buffer;

async function writePack(blocks: readonly Uint8Array[]): Promise<void> {
  backend = emptyStorage();
  const onPack = (published: PackContents): void => {
    pack = published;
  };
  const writer = new PackWriter({
    sink: sinkOf(backend),
    kind: 'tree',
    seals: PLAIN,
    packHash: 'blake3',
    packBytes: 1e9,
    onPack,
  });
  for (const bytes of blocks) await writer.writeBlock(rawBlock('tree', bytes));
  await writer.finish();
  whole = backend.peek(packName(pack.id))!;
}

beforeEach(async () => {
  await writePack([payload.subarray(0, 100), payload]);
});

/** Puts the pack there with a change. */
function damage(change: (bytes: Buffer) => Buffer): void {
  backend.poke(packName(pack.id), change(Buffer.from(whole)));
}

test('a pack lies in the directory of its first two digits', () => {
  expect(packName('abcdef')).toBe('packs/ab/abcdef');
});

test('blocks and contents read back', async () => {
  const [first, second] = pack.blocks;
  const pool = new BufferPool({ sizeBytesMin: 64 });
  const read = await readHashedBlock(backend, placeOf(pack, first!), codec, pool);
  expect(read.raw.buffer).toBe(read.buffer.buffer);
  expect(Buffer.compare(read.raw, payload.subarray(0, 100))).toBe(0);
  expect([...read.chunkLengths]).toEqual([100]);
  // As the bytes give it: the pack's own list, a random id here, is not asked.
  expect(Buffer.compare(read.chunkIds, hasher.treeId(payload.subarray(0, 100)))).toBe(0);
  expect(decodeBlockHeader(await readStoredBlock(backend, placeOf(pack, second!)))).toMatchObject({
    kind: 'tree',
    rawBytes: 300,
  });
  expect(JSON.stringify(await readPackContents(plainPlace(backend), pack.id))).toBe(JSON.stringify(pack));
});

describe('damage', () => {
  test('names the pack and the offset, and says what to do', async () => {
    const { offset } = pack.blocks[1]!;
    damage((bytes) => bytes.fill(0, offset, offset + 4));
    const error = await readStoredBlock(backend, placeOf(pack, pack.blocks[1]!)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CorruptDataError);
    expect((error as CorruptDataError).message).toContain(`${packName(pack.id)} at offset ${offset}`);
    expect((error as CorruptDataError).advice).toEqual({ code: 'check-data-and-repair' });
  });

  test('of a length is noticed before so much is allocated or read', async () => {
    const { offset } = pack.blocks[1]!;
    // A stored length of 60 MiB: within the format's limits, and not within the pack.
    damage((bytes) => {
      for (const field of [12, 16]) bytes.writeUInt32LE(60 * 1024 * 1024, offset + field);
      return bytes;
    });
    const counting = new FaultyBackend(backend, { only: (operation) => operation === 'readRange' });
    const allocated: number[] = [];
    const allocate = (sizeBytes: number): Buffer => {
      allocated.push(sizeBytes);
      return Buffer.alloc(sizeBytes);
    };
    const place = placeOf(pack, pack.blocks[1]!);
    // Where nothing is expected, the header alone is read first.
    for (const expectedBytes of [0, place.expectedBytes, Infinity]) {
      const reading = readStoredBlock(counting, { ...place, expectedBytes }, allocate);
      await expect(reading).rejects.toThrow(/the block ends at/);
    }
    expect(counting.operations.length).toBe(3);
    expect(Math.max(...allocated)).toBeLessThanOrEqual(pack.sizeBytes);
  });

  test('by a cut is noticed wherever it is', async () => {
    for (let length = 0; length < whole.length; length += 1) {
      damage((bytes) => bytes.subarray(0, length));
      await expect(readPackContents(plainPlace(backend), pack.id), `${length}`).rejects.toBeInstanceOf(
        CorruptDataError,
      );
    }
  });

  test('of any byte of the footer is noticed', async () => {
    const { offset } = pack.blocks[1]!;
    const footer = offset + BLOCK_HEADER_BYTES + 4 + 300;
    for (let position = footer; position < whole.length; position += 1) {
      damage((bytes) => {
        bytes[position]! ^= 1;
        return bytes;
      });
      await expect(readPackContents(plainPlace(backend), pack.id), `${position}`).rejects.toBeInstanceOf(
        CorruptDataError,
      );
    }
  });

  test('a pack that is missing is damage to whoever asks what it holds', async () => {
    await backend.remove(packName(pack.id));
    await expect(readPackContents(plainPlace(backend), pack.id)).rejects.toBeInstanceOf(CorruptDataError);
    await expect(readStoredBlock(backend, placeOf(pack, pack.blocks[0]!))).rejects.toBeInstanceOf(CorruptDataError);
  });
});

describe('the contents of a pack', () => {
  async function callsFor(listedBytes?: number): Promise<string[]> {
    const counted = new FaultyBackend(backend);
    expect(JSON.stringify(await readPackContents(plainPlace(counted), pack.id, listedBytes))).toBe(
      JSON.stringify(pack),
    );
    return counted.operations.map(({ operation }) => operation);
  }

  test('take two calls if the size is known, and one more if the footer is long', async () => {
    expect(await callsFor(pack.sizeBytes)).toEqual(['readRange', 'readRange']);
    expect(await callsFor()).toEqual(['sizeOf', 'readRange', 'readRange']);
    await writePack(Array.from({ length: 2000 }, () => payload.subarray(0, 5)));
    expect(await callsFor(pack.sizeBytes)).toEqual(['readRange', 'readRange', 'readRange']);
  });

  test('are read although the bytes before the footer cannot be', async () => {
    const { offset } = pack.blocks[1]!;
    const name = packName(pack.id);
    await unreadable(name, offset + 50).apply(backend);
    expect(JSON.stringify(await readPackContents(plainPlace(backend), pack.id))).toBe(JSON.stringify(pack));
    await unreadable(name, pack.sizeBytes - 30).apply(backend);
    await expect(readPackContents(plainPlace(backend), pack.id)).rejects.toMatchObject({ kind: 'damaged' });
  });

  test('do not keep more memory than the footer', async () => {
    await writePack([payload, createPrng(1).bytes(30_000)]);
    const { blocks } = await readPackContents(plainPlace(backend), pack.id);
    expect(blocks[0]!.chunkIds.buffer.byteLength).toBeLessThan(pack.sizeBytes);
  });
});

describe('a block', () => {
  function counting(): FaultyBackend {
    return new FaultyBackend(backend, { only: (operation) => operation !== 'close' });
  }

  test('of the expected size takes one call', async () => {
    for (const block of pack.blocks) {
      const counted = counting();
      await readStoredBlock(counted, placeOf(pack, block));
      expect(counted.operations.map(({ operation }) => operation)).toEqual(['readRange']);
    }
  });

  test.each([0, 23, 24, 25, 100, 131, 1000, Infinity])(
    'is read as it is where %i bytes are expected',
    async (expectedBytes) => {
      for (const block of pack.blocks) {
        const counted = counting();
        const place = placeOf(pack, block);
        const end = block.offset + place.expectedBytes;
        const stored = await readStoredBlock(counted, { ...place, expectedBytes });
        expect(stored.equals(whole.subarray(block.offset, end))).toBe(true);
        expect(counted.operations.length).toBe(expectedBytes < place.expectedBytes ? 2 : 1);
      }
    },
  );

  test('is sound if only what lies behind it is lost or unreadable', async () => {
    const [first, second] = pack.blocks;
    const place = { ...placeOf(pack, first!), expectedBytes: Infinity };
    const expected = whole.subarray(first!.offset, second!.offset);
    const faulty = new FaultyBackend(backend, { failAt: 1, only: (operation) => operation === 'readRange' });
    expect((await readStoredBlock(faulty, place)).equals(expected)).toBe(true);
    faulty.assertFired();
    damage((bytes) => bytes.subarray(0, second!.offset));
    expect((await readStoredBlock(backend, place)).equals(expected)).toBe(true);
  });
});

test('a storage that fails is not damage', async () => {
  const isRead = (operation: string): boolean => operation === 'readRange';
  const place = placeOf(pack, pack.blocks[0]!);
  for (const [failAt, expectedBytes] of [
    [1, place.expectedBytes],
    [1, 0],
    [2, 0],
  ] as const) {
    const faulty = new FaultyBackend(backend, { failAt, repeat: true, only: isRead });
    await expect(readStoredBlock(faulty, { ...place, expectedBytes })).rejects.toBeInstanceOf(BackendError);
    faulty.assertFired();
  }
});
