import { describe, expect, test } from 'vitest';

import { CorruptDataError } from '../../src/errors.ts';
import { openPackagedZstd } from '../../src/workers/packaged-zstd.ts';
import { openSystemZstd } from '../../src/workers/system-zstd.ts';
import { perform } from '../../src/workers/tasks.ts';
import { frameOutputBytesMax } from '../../src/workers/zstd-frame.ts';
import { createPrng } from '../support/prng.ts';

const PIECE_BYTES = 4096;
const MIB = 1024 * 1024;

/** Pieces whose statistics differ: from level 16 on, zstd makes many small blocks of each 128 KiB of them. */
function makeUneven(sizeBytes: number): Buffer {
  const prng = createPrng(20261120);
  const bytes = prng.bytes(sizeBytes);
  for (let offset = 0; offset < sizeBytes; offset += PIECE_BYTES) {
    const [base, kind] = [prng.int(256), prng.int(3)];
    if (kind === 0) continue;
    for (let at = offset; at < offset + PIECE_BYTES; at += 1) {
      bytes[at] = kind === 1 ? (base + (bytes[at]! & 15)) & 255 : base ^ (bytes[at]! & 3);
    }
  }
  return bytes;
}

const uneven = makeUneven(MIB);

describe.each([
  ['system', openSystemZstd()],
  ['packaged', openPackagedZstd()],
] as const)('an honest frame of many small blocks, by the %s library', (_, zstd) => {
  test.skipIf(zstd === undefined).each([16, 19, 22])('is stored and comes back, level %i', (level) => {
    const frame = Buffer.from(zstd!.compress(uneven, level));
    // By its block headers it could unfold to many times what it does; otherwise this would test nothing.
    expect(frameOutputBytesMax(frame)).toBeGreaterThan(9 * uneven.length);
    for (const library of [openPackagedZstd(), openSystemZstd() ?? openPackagedZstd()]) {
      const target = Buffer.alloc(uneven.length);
      expect(library.decompressInto(target, frame)).toBe(uneven.length);
      expect(target.equals(uneven)).toBe(true);
    }
    const { raw } = perform({ name: 'unpack', codec: 'zstd', payload: frame, rawBytes: uneven.length });
    expect(uneven.equals(raw)).toBe(true);
  });
});

test.each([16, 19])('a block of them is compressed and verified at level %i', (level) => {
  const raw = Buffer.from(uneven);
  const bytes = perform({ name: 'compress', raw, level });
  expect(bytes).toBeDefined();
  const unpacked = perform({ name: 'unpack', codec: 'zstd', payload: Buffer.from(bytes!), rawBytes: uneven.length });
  expect(uneven.equals(unpacked.raw)).toBe(true);
});

test('the packaged decoder, which takes no limit, is still not given a bomb', () => {
  const bomb = Buffer.from(openPackagedZstd().compress(Buffer.alloc(64 * MIB), 19));
  expect(() => openPackagedZstd().decompressInto(Buffer.alloc(1000), bomb)).toThrow(CorruptDataError);
});
