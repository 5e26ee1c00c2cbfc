import { Decoder, Encoder } from '@toondepauw/node-zstd';
import { describe, expect, test, vi } from 'vitest';

import { CorruptDataError, LdmError } from '../../src/errors.ts';
import { Compressor, decompress } from '../../src/workers/compression.ts';
import { createPrng } from '../support/prng.ts';
import { makeText } from '../support/tree-paths.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const prng = createPrng(20261120);
const text = makeText(prng, 700 * KIB);
const noise = prng.bytes(700 * KIB);

async function roundTrip(
  raw: Buffer,
  { level = 3, isDense = false }: { readonly level?: number; readonly isDense?: boolean } = {},
): Promise<'raw' | 'zstd'> {
  const block = await new Compressor(level).compress(raw, { isDense });
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
    const encode = vi.spyOn(Encoder.prototype, 'encode');
    expect(await roundTrip(noise, { isDense: true })).toBe('raw');
    expect(encode.mock.calls.length).toBe(0);
    for (const position of [0, 0.5, 1]) {
      const mixed = Buffer.from(noise);
      mixed.fill('text ', position * (mixed.length - 64 * KIB), position * (mixed.length - 64 * KIB) + 64 * KIB);
      expect(await roundTrip(mixed, { isDense: true }), `compressible at ${position}`).toBe('zstd');
    }
  });

  test('is not copied where it is stored raw', async () => {
    expect((await new Compressor(3).compress(noise)).bytes).toBe(noise);
  });

  test('may be a view of a larger buffer', async () => {
    const view = text.subarray(1000, 9000);
    const { codec, bytes } = await new Compressor(3).compress(view);
    const shifted = Buffer.concat([Buffer.alloc(13), bytes]).subarray(13);
    expect(Buffer.compare(await decompress({ codec, bytes: new Uint8Array(shifted) }, 8000), view)).toBe(0);
    expect(Buffer.compare(await decompress({ codec, bytes: shifted }, 8000), view)).toBe(0);
  });
});

describe('a compressor that does not work is noticed before anything is stored', () => {
  const other = new Encoder(3).encodeSync(Buffer.from(text).reverse());
  const shorter = new Encoder(3).encodeSync(text.subarray(0, -1));

  test.each([
    ['other bytes of the same length', other],
    ['too few bytes', shorter],
  ])('that gives %s', async (_, output) => {
    vi.spyOn(Encoder.prototype, 'encode').mockResolvedValueOnce(output);
    const failure = new Compressor(3).compress(text);
    await expect(failure).rejects.toThrow(/do not decompress to what was compressed/);
    await expect(failure).rejects.toBeInstanceOf(LdmError);
  });

  test('that gives no frame at all', async () => {
    vi.spyOn(Encoder.prototype, 'encode').mockResolvedValueOnce(Buffer.from('not a frame'));
    await expect(new Compressor(3).compress(text)).rejects.toThrow();
  });

  test('that flips one bit of its input', async () => {
    const flipped = Buffer.from(text);
    flipped[300_000]! ^= 1;
    vi.spyOn(Encoder.prototype, 'encode').mockResolvedValueOnce(new Encoder(3).encodeSync(flipped));
    await expect(new Compressor(3).compress(text)).rejects.toThrow(LdmError);
  });
});

describe('a damaged payload', () => {
  const frame = new Encoder(3).encodeSync(text);

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
    ['a second frame', new Encoder(3).encodeSync(Buffer.alloc(MIB))],
    ['a byte', Buffer.from([0])],
  ])('with %s behind it is refused', async (_, more) => {
    const bytes = Buffer.concat([frame, more]);
    await expect(decompress({ codec: 'zstd', bytes }, text.length)).rejects.toThrow(CorruptDataError);
  });
});

describe('a decompression bomb', () => {
  const bomb = new Encoder(19).encodeSync(Buffer.alloc(64 * MIB));

  test('is refused by its block headers, without being decompressed', async () => {
    const decode = vi.spyOn(Decoder.prototype, 'decode');
    expect(bomb.length).toBeLessThan(16 * KIB);
    await expect(decompress({ codec: 'zstd', bytes: bomb }, 1000)).rejects.toThrow(/unfold to far more/);
    expect(decode.mock.calls.length).toBe(0);
  });

  test('is refused too when its frame header lies about the size', async () => {
    const decode = vi.spyOn(Decoder.prototype, 'decode');
    // The size of a 64 MiB frame stands in the 4 bytes behind the descriptor (and the window, where there is one).
    const lying = Buffer.from(bomb);
    const isSingleSegment = (lying[4]! & 0x20) !== 0;
    lying.writeUInt32LE(1000, isSingleSegment ? 5 : 6);
    await expect(decompress({ codec: 'zstd', bytes: lying }, 1000)).rejects.toThrow(CorruptDataError);
    expect(decode.mock.calls.length).toBe(0);
  });

  test('that is honest comes back', async () => {
    expect((await decompress({ codec: 'zstd', bytes: bomb }, 64 * MIB)).length).toBe(64 * MIB);
  });
});
