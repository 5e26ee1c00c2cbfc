import { describe, expect, test } from 'vitest';

import { openNativeBlake3, openPortableBlake3 } from '../../../src/core/crypto/blake3.ts';
import type { Blake3 } from '../../../src/core/crypto/blake3.ts';
import type { RunningDigest } from '../../../src/core/crypto/blake3.ts';
import { createPrng } from '../../support/prng.ts';
import { shared } from '../../support/shared-memory.ts';

const prng = createPrng(20261122);
const native = openNativeBlake3();
const portable = openPortableBlake3();

/** By `b3sum` 1.2.0, the authors' own program, of bytes that count from 0 to 250 again and again. */
const GOLDEN: readonly (readonly [number, string])[] = [
  [0, 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'],
  [1, '2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213'],
  [63, 'e9bc37a594daad83be9470df7f7b3798297c3d834ce80ba85d6e207627b7db7b'],
  [64, '4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98'],
  [65, 'de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee'],
  [1023, '10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11'],
  [1024, '42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7'],
  [1025, 'd00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444'],
  [2048, 'e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a'],
  [31_744, '62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47'],
  [102_400, 'bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085'],
];

function countingBytes(sizeBytes: number): Buffer {
  return Buffer.from(Array.from({ length: sizeBytes }, (_, index) => index % 251));
}

function hashed(blake3: Blake3, ...parts: readonly Uint8Array[]): string {
  const digest = blake3();
  for (const part of parts) digest.update(part);
  return digest.end();
}

// The platforms that CI runs on have it; without it half of these tests would pass by not running.
test.runIf(process.platform === 'linux' && process.arch === 'x64')('the native code is found', () => {
  expect(native).toBeDefined();
});

describe.each([
  ['native', native],
  ['portable', portable],
] as const)('BLAKE3, %s', (_, blake3) => {
  const run = test.skipIf(blake3 === undefined);

  run.each(GOLDEN)('of %i bytes is what its authors say', (sizeBytes, digest) => {
    expect(hashed(blake3!, countingBytes(sizeBytes))).toBe(digest);
  });

  run('does not depend on how the bytes come, in what memory, or beside what else', () => {
    const streams: { readonly digest: RunningDigest; readonly parts: Uint8Array[] }[] = [];
    for (let count = 0; count < 5; count += 1) streams.push({ digest: blake3!(), parts: [] });
    for (let count = 0; count < 200; count += 1) {
      const { digest, parts } = prng.pick(streams);
      const memory = prng.bytes(8 + prng.int(prng.int(4) === 0 ? 200_000 : 3000));
      const whole = prng.int(2) === 0 ? shared(memory) : memory;
      const offset = prng.int(8);
      // Of any kind but a Buffer, and not aligned.
      const part = new Uint8Array(whole.buffer, whole.byteOffset + offset, whole.length - offset);
      parts.push(Uint8Array.from(part));
      digest.update(part);
      // What was shown may be overwritten at once.
      part.fill(0);
    }
    for (const { digest, parts } of streams) expect(digest.end()).toBe(hashed(portable, Buffer.concat(parts)));
  });

  run('takes a whole pack in one piece', () => {
    const bytes = prng.bytes(20 * 1024 * 1024 + 77);
    expect(hashed(blake3!, bytes)).toBe(hashed(portable, bytes.subarray(0, 9_000_001), bytes.subarray(9_000_001)));
  });
});
