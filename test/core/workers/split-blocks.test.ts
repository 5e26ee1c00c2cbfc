import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import { perform } from '../../../src/core/workers/tasks.ts';
import { frameOutputBytesMax } from '../../../src/core/workers/zstd-frame.ts';
import { createPrng } from '../../support/prng.ts';
import { packagedZstd, zstdImplementations } from '../../support/zstd-implementations.ts';
import { inSoak } from '../../support/soak.ts';

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

const uneven = makeUneven(inSoak(MIB, MIB / 4));

describe.each(zstdImplementations)('a valid frame of many small blocks, by %s', (_, zstd) => {
  test.each([16, 19, 22])('is stored and comes back, level %i', (level) => {
    const frame = Buffer.from(zstd.compress(uneven, level));
    // By its block headers it could unfold to many times what it does; otherwise this would test nothing.
    expect(frameOutputBytesMax(frame)).toBeGreaterThan(9 * uneven.length);
    for (const [reader, library] of zstdImplementations) {
      const target = Buffer.alloc(uneven.length);
      expect(library.decompressInto(target, frame), reader).toBe(uneven.length);
      expect(target.equals(uneven), reader).toBe(true);
    }
    const { raw } = perform({ name: 'decompress', codec: 'zstd', payload: frame, rawBytes: uneven.length });
    expect(uneven.equals(raw)).toBe(true);
  });
});

test.each([16, 19])('a block of them is compressed and verified at level %i', (level) => {
  const raw = Buffer.from(uneven);
  const bytes = perform({ name: 'compress', raw, level });
  expect(bytes).toBeDefined();
  const unpacked = perform({
    name: 'decompress',
    codec: 'zstd',
    payload: Buffer.from(bytes!),
    rawBytes: uneven.length,
  });
  expect(uneven.equals(unpacked.raw)).toBe(true);
});

/** By hand (RFC 8878, 3.1.1): blocks that each repeat one byte 128 KiB times; 4 bytes of the frame make 128 KiB. */
function makeBomb(blockCount: number): Buffer {
  const blockBytes = 128 * 1024;
  const head = Buffer.from('28b52ffd0078', 'hex');
  const block = Buffer.from([0, 0, 0, 120]);
  block.writeUIntLE((blockBytes << 3) | 2, 0, 3);
  const last = Buffer.from(block);
  last.writeUIntLE((blockBytes << 3) | 3, 0, 3);
  return Buffer.concat([head, ...Array.from({ length: blockCount - 1 }, () => block), last]);
}

/** By how much the memory of this process is larger while `action` runs. See proc(5): 5 forgets the peak until now. */
function peakGrowthOf(action: () => void): number {
  writeFileSync('/proc/self/clear_refs', '5');
  const peakBytes = (): number =>
    1024 * Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]);
  const before = peakBytes();
  action();
  return peakBytes() - before;
}

describe.each(zstdImplementations)('frames made by hand, decompressed by %s', (_, zstd) => {
  test('are valid', () => {
    const target = Buffer.alloc(MIB);
    expect(zstd.decompressInto(target, makeBomb(8))).toBe(MIB);
    expect(target.every((byte) => byte === 120)).toBe(true);
  });

  test('do not fill the memory where they are far too long', () => {
    const bomb = makeBomb(8 * 1024);
    const grownBytes = peakGrowthOf(() => expect(() => zstd.decompressInto(Buffer.alloc(MIB), bomb)).toThrow());
    expect(grownBytes).toBeLessThan(256 * MIB);
  });
});

test('the packaged decoder, which has no limit of its own, is not given a frame that is far too long', () => {
  const bomb = Buffer.from(packagedZstd.compress(Buffer.alloc(64 * MIB), inSoak(19, 3)));
  expect(() => packagedZstd.decompressInto(Buffer.alloc(1000), bomb)).toThrow(CorruptDataError);
});
