import { describe, expect, test } from 'vitest';
import { cutBeforeEnd } from '../../src/core/chunking/chunker.ts';
import type { Chunker, ChunkerParameters } from '../../src/core/chunking/chunker.ts';
import { createPrng } from '../support/prng.ts';
import { streamCuts } from '../support/stream-cuts.ts';

const SEED = 20_160_622;

/** What must hold for every chunker, whatever it cuts by. `parameters` should be small: about 300 x the maximum is cut. */
export function runChunkerContract<P extends ChunkerParameters>(
  name: string,
  create: (parameters: P) => Chunker,
  parameters: P,
): void {
  const chunker = create(parameters);
  const { minSizeBytes, maxSizeBytes } = chunker;
  const random = createPrng(SEED).bytes(40 * maxSizeBytes + 1);
  const zeros = Buffer.alloc(5 * maxSizeBytes + 1);

  describe(`${name} keeps the contract of a chunker`, () => {
    test('its buffer holds at least two of the longest chunks', () => {
      expect(chunker.buffer.length).toBeGreaterThanOrEqual(2 * maxSizeBytes);
      expect(chunker.buffer).toBe(chunker.buffer);
    });

    test.each([
      ['random bytes', random],
      ['zeros', zeros],
      ['random bytes, then zeros', Buffer.concat([random, zeros])],
    ])('the chunks of %s cover them and keep the size limits', (_, data) => {
      const lengths = lengthsOf(streamCuts(chunker, data));
      const last = lengths.pop()!;
      expect(lengths.reduce((sum, length) => sum + length, last)).toBe(data.length);
      expect(Math.min(...lengths)).toBeGreaterThanOrEqual(minSizeBytes);
      expect(Math.max(...lengths, last)).toBeLessThanOrEqual(maxSizeBytes);
      expect(last).toBeGreaterThan(0);
    });

    test.each([1, minSizeBytes - 1, minSizeBytes, minSizeBytes + 1, maxSizeBytes - 1, maxSizeBytes, maxSizeBytes + 1])(
      'a stream of %i bytes',
      (sizeBytes) => {
        for (const data of [random.subarray(0, sizeBytes), zeros.subarray(0, sizeBytes)]) {
          const cuts = streamCuts(chunker, data);
          expect(cuts.at(-1)).toBe(sizeBytes);
          if (sizeBytes <= minSizeBytes) expect(cuts).toEqual([sizeBytes]);
        }
      },
    );

    test('zeros are cut at the maximum, so that all their chunks but the last are equal', () => {
      expect(streamCuts(chunker, zeros)).toEqual([1, 2, 3, 4, 5, 5 + 1 / maxSizeBytes].map((n) => n * maxSizeBytes));
    });

    test('the same bytes are cut the same way twice, and by another instance', () => {
      const cuts = streamCuts(chunker, random);
      expect(streamCuts(chunker, random)).toEqual(cuts);
      expect(streamCuts(create(parameters), random)).toEqual(cuts);
    });

    test('the size of the reads does not matter', () => {
      const cuts = streamCuts(chunker, random);
      const prng = createPrng(SEED);
      expect(streamCuts(chunker, random, { readSizeBytes: () => 1 })).toEqual(cuts);
      expect(streamCuts(chunker, random, { readSizeBytes: () => 1 + prng.int(3 * maxSizeBytes) })).toEqual(cuts);
    });

    test('the place in the buffer does not matter, up to its last byte', () => {
      const data = random.subarray(0, maxSizeBytes);
      const [cut] = streamCuts(chunker, data);
      for (const startOffset of [1, 7, 63, 4096, chunker.buffer.length - maxSizeBytes]) {
        chunker.buffer.fill(startOffset);
        expect(streamCuts(chunker, data, { startOffset })[0]).toBe(cut);
      }
    });

    test.each([
      ['random bytes', random],
      ['zeros', zeros],
    ])('what is cut from %s before their end is known stands whatever follows', (_, data) => {
      const prng = createPrng(SEED);
      const counts = { certain: 0, open: 0 };
      for (let offset = 0; offset < data.length - 2 * maxSizeBytes; offset += maxSizeBytes) {
        chunker.buffer.set(data.subarray(offset, offset + 2 * maxSizeBytes));
        const whole = chunker.cut(0, 2 * maxSizeBytes);
        const ends = [1, minSizeBytes, whole - 1, whole, whole + 1, maxSizeBytes - 1, maxSizeBytes, 2 * maxSizeBytes];
        for (const end of [...ends, ...Array.from({ length: 20 }, () => 1 + prng.int(maxSizeBytes))]) {
          const cut = cutBeforeEnd(chunker, 0, end);
          const isCertain = end > whole || (end === whole && whole === maxSizeBytes);
          expect(cut).toBe(isCertain ? whole : undefined);
          counts[cut === undefined ? 'open' : 'certain'] += 1;
        }
      }
      expect(Math.min(counts.certain, counts.open)).toBeGreaterThan(10);
    });

    test('a cut outside the buffer is refused', () => {
      const { length } = chunker.buffer;
      expect(() => chunker.cut(0, length + 1)).toThrow();
      expect(() => chunker.cut(-1, maxSizeBytes)).toThrow();
      expect(() => chunker.cut(5, 5)).toThrow();
    });

    if (parameters.kind !== 'fastcdc') return;

    test('a byte inserted at the front changes the first few chunks only', () => {
      const before = streamCuts(chunker, random);
      const after = streamCuts(chunker, Buffer.concat([Buffer.from('x'), random])).map((cut) => cut - 1);
      const known = new Set(before);
      const changed = after.filter((cut) => !known.has(cut));
      expect(changed.length).toBeLessThan(before.length / 5);
      expect(Math.max(0, ...changed)).toBeLessThan(random.length / 4);
    });

    test('bytes more than 64 before the minimum size decide nothing', () => {
      const { buffer } = chunker;
      buffer.set(random.subarray(0, maxSizeBytes));
      const cut = chunker.cut(0, maxSizeBytes);
      expect(cut).toBeLessThan(maxSizeBytes);
      buffer.fill(0, 0, minSizeBytes - 64);
      expect(chunker.cut(0, maxSizeBytes)).toBe(cut);
    });
  });
}

function lengthsOf(cuts: readonly number[]): number[] {
  return cuts.map((cut, index) => cut - (cuts[index - 1] ?? 0));
}
