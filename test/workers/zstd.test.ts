import { describe, expect, test } from 'vitest';

import { openPackagedZstd } from '../../src/workers/packaged-zstd.ts';
import { openSystemZstd } from '../../src/workers/system-zstd.ts';
import { createPrng } from '../support/prng.ts';
import { makeText } from '../support/tree-paths.ts';

const KIB = 1024;
const prng = createPrng(20261120);
const contents: readonly (readonly [string, Buffer])[] = [
  ['one byte', Buffer.from('x')],
  ['text', makeText(prng, 300 * KIB)],
  ['noise', prng.bytes(300 * KIB)],
  ['zeros', Buffer.alloc(5000 * KIB)],
  ['shared memory', Buffer.from(new SharedArrayBuffer(100 * KIB)).fill('abcdefg')],
];

const packaged = openPackagedZstd();
const system = openSystemZstd();

// Every Linux distribution that this is tested on has it; without it half of these tests would pass by not running.
test.runIf(process.platform === 'linux')('the library of the system is found', () => {
  expect(system).toBeDefined();
});

describe.each([
  ['system', system],
  ['packaged', packaged],
] as const)('zstd, %s', (_, zstd) => {
  const run = test.skipIf(zstd === undefined);

  run.each([-7, 1, 3, 19])('comes back by either library from level %i', (level) => {
    for (const [what, raw] of contents) {
      const frame = Buffer.from(zstd!.compress(raw, level));
      for (const reader of [packaged, system ?? packaged]) {
        const target = Buffer.alloc(raw.length);
        expect(reader.decompressInto(target, frame), what).toBe(raw.length);
        expect(target.equals(raw), what).toBe(true);
      }
    }
  });

  run('a level holds for one call only', () => {
    const raw = contents[1]![1];
    const sizes = [1, 19, 1, 3, 3].map((level) => zstd!.compress(raw, level).length);
    expect(sizes[0]).toBe(sizes[2]);
    expect(sizes[3]).toBe(sizes[4]);
    expect(sizes[1]).toBeLessThan(sizes[0]!);
  });

  run('a frame that does not fit writes nothing behind its target', () => {
    const raw = contents[1]![1];
    const frame = Buffer.from(zstd!.compress(raw, 3));
    for (const missing of [1, 1000, raw.length - 1, raw.length]) {
      const memory = Buffer.alloc(raw.length + 1000, 7);
      const target = memory.subarray(0, raw.length - missing);
      expect(() => zstd!.decompressInto(target, frame), `${missing} too few`).toThrow();
      expect(memory.subarray(target.length).every((byte) => byte === 7)).toBe(true);
    }
  });

  run('what is no frame is an error, and the next call works', () => {
    const raw = contents[1]![1];
    const frame = Buffer.from(zstd!.compress(raw, 3));
    for (const broken of [Buffer.from('not a frame'), frame.subarray(0, -1), frame.subarray(0, 10)]) {
      expect(() => zstd!.decompressInto(Buffer.alloc(raw.length), broken)).toThrow();
      expect(zstd!.decompressInto(Buffer.alloc(raw.length), frame)).toBe(raw.length);
    }
  });
});
