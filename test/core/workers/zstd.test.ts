import { describe, expect, test } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { makeText } from '../../support/tree-paths.ts';
import { zstdImplementations } from '../../support/zstd-implementations.ts';
import { inSoak } from '../../support/soak.ts';

const KIB = 1024;
const prng = createPrng(20261120);
const contents: readonly (readonly [string, Buffer])[] = [
  ['one byte', Buffer.from('x')],
  ['text', makeText(prng, inSoak(300, 150) * KIB)],
  ['noise', prng.bytes(inSoak(300, 150) * KIB)],
  ['zeros', Buffer.alloc(inSoak(5000, 700) * KIB)],
  ['shared memory', Buffer.from(new SharedArrayBuffer(100 * KIB)).fill('abcdefg')],
];

// Otherwise the tests below could pass because they do not run. Every tested Linux distribution has the library.
test('every implementation that should be on this machine is', () => {
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
  const isInNode = major > 23 || (major === 23 && minor >= 8) || (major === 22 && minor >= 15);
  const expected = [isInNode ? 'node' : '', process.platform === 'linux' ? 'system' : '', 'packaged'];
  expect(zstdImplementations.map(([name]) => name)).toEqual(expected.filter((name) => name !== ''));
});

describe.each(zstdImplementations)('zstd, %s', (_, zstd) => {
  test.each([-7, 1, 2, 3, 9, 19, 22])('every implementation reads its frames of level %i', (level) => {
    // At level 22 each takes up to a second.
    const slow = level === 22 ? inSoak([], ['one byte', 'noise', 'zeros', 'shared memory']) : [];
    for (const [what, raw] of contents.filter(([name]) => !slow.includes(name))) {
      const frame = Buffer.from(zstd.compress(raw, level));
      for (const [name, reader] of zstdImplementations) {
        const target = Buffer.alloc(raw.length);
        expect(reader.decompressInto(target, frame), `${what} by ${name}`).toBe(raw.length);
        expect(target.equals(raw), `${what} by ${name}`).toBe(true);
      }
    }
  });

  test('a level holds for one call only', () => {
    const raw = contents[1]![1];
    const sizes = [1, 19, 1, 3, 3].map((level) => zstd.compress(raw, level).length);
    expect(sizes[0]).toBe(sizes[2]);
    expect(sizes[3]).toBe(sizes[4]);
    expect(sizes[1]).toBeLessThan(sizes[0]!);
  });

  test('a frame that does not fit writes nothing behind its target', () => {
    const raw = contents[1]![1];
    const frame = Buffer.from(zstd.compress(raw, 3));
    for (const missing of [1, 1000, raw.length - 1, raw.length]) {
      const memory = Buffer.alloc(raw.length + 1000, 7);
      const target = memory.subarray(0, raw.length - missing);
      expect(() => zstd.decompressInto(target, frame), `${missing} too few`).toThrow();
      expect(memory.subarray(target.length).every((byte) => byte === 7)).toBe(true);
    }
  });

  test('what is no frame is an error, and the next call works', () => {
    const raw = contents[1]![1];
    const frame = Buffer.from(zstd.compress(raw, 3));
    for (const broken of [Buffer.from('not a frame'), frame.subarray(0, -1), frame.subarray(0, 10)]) {
      expect(() => zstd.decompressInto(Buffer.alloc(raw.length), broken)).toThrow();
      expect(zstd.decompressInto(Buffer.alloc(raw.length), frame)).toBe(raw.length);
    }
  });
});
