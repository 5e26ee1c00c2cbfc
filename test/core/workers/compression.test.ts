import { describe, expect, test, vi } from 'vitest';

import type { Codec } from '../../../src/core/format/block.ts';
import { CorruptDataError, LdmError } from '../../../src/core/errors.ts';
import { Compressor } from '../../../src/core/workers/compression.ts';
import type { CompressedBlock } from '../../../src/core/workers/compression.ts';
import type { Task } from '../../../src/core/workers/task-messages.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { perform } from '../../../src/core/workers/tasks.ts';
import { openZstd } from '../../../src/core/workers/zstd.ts';
import { createPrng } from '../../support/prng.ts';
import { makeText } from '../../support/tree-paths.ts';
import { packagedZstd } from '../../support/zstd-implementations.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const prng = createPrng(20261120);
const threads = new TaskPool();
const text = makeText(prng, 700 * KIB);
const noise = prng.bytes(700 * KIB);

/** A zstd frame by another implementation than the one in use. */
function frameOf(raw: Buffer, level = 3): Buffer {
  return Buffer.from(packagedZstd.compress(raw, level));
}

async function decompress({ codec, bytes }: CompressedBlock, rawBytes: number): Promise<Uint8Array> {
  // A copy, since a payload is given away.
  return (await threads.run({ name: 'decompress', codec, payload: new Uint8Array(bytes), rawBytes })).raw;
}

async function roundTrip(
  original: Buffer,
  { level = 3, isDense = false }: { readonly level?: number; readonly isDense?: boolean } = {},
): Promise<Codec> {
  const raw = Buffer.from(original);
  const block = await new Compressor(threads, level).compress(Buffer.from(raw), { isDense });
  expect(block.bytes.length).toBeLessThanOrEqual(raw.length);
  expect(Buffer.compare(await decompress(block, raw.length), raw)).toBe(0);
  return block.codec;
}

describe('a block', () => {
  test.each([1, 100, 4096, 200 * KIB, 256 * KIB, 700 * KIB])('of %i bytes of text comes back', async (sizeBytes) => {
    const codec = await roundTrip(text.subarray(0, sizeBytes));
    if (sizeBytes >= 4096) expect(codec).toBe('zstd');
  });

  test.each([-7, -1, 1, 3, 9, 19, 22])('comes back from level %i', async (level) => {
    expect(await roundTrip(text.subarray(0, 20 * KIB), { level })).toBe('zstd');
  });

  test.each([1, 4096, 200 * KIB, 256 * KIB, 700 * KIB])('of %i bytes of noise is stored raw', async (sizeBytes) => {
    expect(await roundTrip(noise.subarray(0, sizeBytes))).toBe('raw');
  });

  test('that shrinks by less than a part in 32 is stored raw', async () => {
    expect(await roundTrip(Buffer.concat([noise.subarray(0, 100 * KIB), Buffer.alloc(2 * KIB)]))).toBe('raw');
    expect(await roundTrip(Buffer.concat([noise.subarray(0, 100 * KIB), Buffer.alloc(10 * KIB)]))).toBe('zstd');
  });

  test('called dense is not tried where it looks so at three places, and is where it shrinks at any of them', async () => {
    class NoThreads extends TaskPool {
      override async run(): Promise<never> {
        expect.fail('it is tried');
      }
    }
    const { codec } = await new Compressor(new NoThreads(), 3).compress(Buffer.from(noise), { isDense: true });
    expect(codec).toBe('raw');
    for (const position of [0, 0.5, 1]) {
      const mixed = Buffer.from(noise);
      mixed.fill('text ', position * (mixed.length - 64 * KIB), position * (mixed.length - 64 * KIB) + 64 * KIB);
      expect(await roundTrip(mixed, { isDense: true }), `compressible at ${position}`).toBe('zstd');
    }
  });

  test('is not copied where it is stored raw', async () => {
    expect((await new Compressor(threads, 3).compress(noise)).bytes).toBe(noise);
  });

  test('may be a view of a larger buffer', async () => {
    const larger = Buffer.from(text.subarray(0, 10_000));
    const view = Buffer.from(larger.subarray(1000, 9000));
    const { codec, bytes } = await new Compressor(threads, 3).compress(larger.subarray(1000, 9000));
    expect(larger.subarray(0, 1000).equals(text.subarray(0, 1000))).toBe(true);
    expect(larger.subarray(9000).equals(text.subarray(9000, 10_000))).toBe(true);
    const shifted = Buffer.concat([Buffer.alloc(13), bytes]).subarray(13);
    expect(Buffer.compare(await decompress({ codec, bytes: new Uint8Array(shifted) }, 8000), view)).toBe(0);
    expect(Buffer.compare(await decompress({ codec, bytes: shifted }, 8000), view)).toBe(0);
  });
});

describe('a compressor that does not work is noticed before anything is stored', () => {
  const flipped = Buffer.from(text);
  flipped[300_000]! ^= 1;

  test.each([
    ['other bytes of the same length', frameOf(Buffer.from(text).reverse())],
    ['too few bytes', frameOf(text.subarray(0, -1))],
    ['too many bytes', frameOf(Buffer.concat([text, text]))],
    ['one flipped bit', frameOf(flipped)],
    ['no frame at all', Buffer.from('not a frame')],
    ['nothing', Buffer.alloc(0)],
  ])('that gives %s', (_, output) => {
    const raw = Buffer.from(text);
    vi.spyOn(openZstd(), 'compress').mockReturnValueOnce(output);
    const work = (): unknown => perform({ name: 'compress', raw, level: 3 } satisfies Task);
    expect(work).toThrow(LdmError);
    // The raw bytes are as they were: nothing took their place.
    expect(raw.equals(text)).toBe(true);
    vi.spyOn(openZstd(), 'compress').mockReturnValueOnce(output);
    expect(work).toThrow(/does not decompress to its input/);
  });
});

describe('a damaged payload', () => {
  const frame = frameOf(text);

  test('cut short is refused, at whatever length', async () => {
    for (let length = 0; length < frame.length; length += length < 40 ? 1 : 4999) {
      const bytes = frame.subarray(0, length);
      await expect(decompress({ codec: 'zstd', bytes }, text.length), `${length}`).rejects.toThrow(CorruptDataError);
    }
  });

  test('with a flipped bit is refused or unfolds to something of the right length, never to a crash', async () => {
    for (let count = 0; count < 300; count += 1) {
      const bytes = Buffer.from(frame);
      bytes[count < 50 ? count : prng.int(bytes.length)]! ^= 1 << prng.int(8);
      const outcome = await decompress({ codec: 'zstd', bytes }, text.length).catch((error: unknown) => error);
      if (outcome instanceof Uint8Array) expect(outcome.length).toBe(text.length);
      else expect(outcome).toBeInstanceOf(CorruptDataError);
    }
  });

  test.each([text.length - 1, text.length + 1, 0])('is one whose header says %i bytes', async (rawBytes) => {
    await expect(decompress({ codec: 'zstd', bytes: frame }, rawBytes)).rejects.toThrow(CorruptDataError);
    await expect(decompress({ codec: 'raw', bytes: text }, rawBytes)).rejects.toThrow(CorruptDataError);
  });

  test.each([
    ['a second frame', frameOf(Buffer.alloc(MIB))],
    ['a byte', Buffer.from([0])],
  ])('with %s behind it is refused', async (_, more) => {
    const bytes = Buffer.concat([frame, more]);
    await expect(decompress({ codec: 'zstd', bytes }, text.length)).rejects.toThrow(CorruptDataError);
  });
});

describe('a decompression bomb', () => {
  const bomb = frameOf(Buffer.alloc(64 * MIB), 19);

  test('is refused, with room for what the header says and no more', async () => {
    expect(bomb.length).toBeLessThan(16 * KIB);
    await expect(decompress({ codec: 'zstd', bytes: bomb }, 1000)).rejects.toThrow(CorruptDataError);
  });

  test('is refused too when its frame header lies about the size', async () => {
    // The size of a 64 MiB frame stands in the 4 bytes behind the descriptor (and the window, where there is one).
    const lying = Buffer.from(bomb);
    const isSingleSegment = (lying[4]! & 0x20) !== 0;
    lying.writeUInt32LE(1000, isSingleSegment ? 5 : 6);
    await expect(decompress({ codec: 'zstd', bytes: lying }, 1000)).rejects.toThrow(CorruptDataError);
  });

  test('that is honest comes back', async () => {
    expect((await decompress({ codec: 'zstd', bytes: bomb }, 64 * MIB)).length).toBe(64 * MIB);
  });
});
