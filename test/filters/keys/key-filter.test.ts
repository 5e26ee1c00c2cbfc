import { describe, expect, it } from 'vitest';

import { CorruptDataError, LdmError } from '../../../src/core/errors.ts';
import type { Trace } from '../../../src/filters/family/trace.ts';
import { BinaryFuseFilter } from '../../../src/filters/family/binary-fuse.ts';
import { encodeSaved } from '../../../src/filters/family/saved-filter.ts';
import { decodeKeyFilter } from '../../../src/filters/keys/key-filter.ts';
import { KINDS } from '../../../src/filters/keys/kinds.ts';
import { openKeyFilter } from '../../../src/filters/keys/open-filter.ts';
import { makeKeyFilter, type KeyBatches, type MakeResult } from '../../../src/filters/make/make.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';

const KEYS = inSoak(20_000, 1500);
const ABSENT = inSoak(200_000, 20_000);
const RATE = 0.01;

async function* inBatches(keys: readonly Uint8Array[]): KeyBatches {
  for (let at = 0; at < keys.length; at += 100) yield keys.slice(at, at + 100);
}

/** Of every length up to 40, with copies, and with text of 20 bytes, which looks like the id of a chunk. */
function makeKeys(seed: number): Uint8Array[] {
  const random = createPrng(seed);
  const texts = Array.from({ length: 200 }, (_, index) => Buffer.from(`key number ${index}`.padEnd(20, '.')));
  const others = Array.from({ length: KEYS }, () => random.bytes(random.int(41)));
  return [...texts, ...others, ...texts.slice(0, 50), ...Array.from({ length: 20 }, () => texts[0]!)];
}

async function make(kind: string, keys: readonly Uint8Array[]): Promise<MakeResult> {
  const expected = keys.length;
  return await makeKeyFilter({}, { kind, expected, falsePositiveRate: RATE, keys: inBatches(keys) });
}

describe.each(KINDS.map(({ name }) => name))('a filter of the kind %s', (kind) => {
  it.each(seedsOf(1, 3))('has all keys, and few others, when it is read again (seed %i)', async (seed) => {
    const keys = makeKeys(seed);
    const { bytes } = await make(kind, keys);
    const read = decodeKeyFilter(bytes);
    expect(keys.filter((key) => !read.has(key))).toEqual([]);
    expect(read).toMatchObject({ kind, made: { falsePositiveRate: RATE, keysRead: keys.length } });
    const rate = read.filter.falsePositiveRate();
    expect(rate).toBeLessThanOrEqual(RATE * 1.3);
    const random = createPrng(seed + 1000);
    const absent = Array.from({ length: ABSENT }, () => Buffer.concat([Buffer.from('absent'), random.bytes(40)]));
    const positives = absent.filter((key) => read.has(key)).length;
    expect(Math.abs(positives - ABSENT * rate)).toBeLessThanOrEqual(5 * Math.sqrt(ABSENT * rate) + (rate && 1));
  });

  it('is the same file for the same keys, and refuses to be damaged or cut short', async () => {
    const keys = makeKeys(1).slice(0, 60);
    const { bytes } = await make(kind, keys);
    expect((await make(kind, keys)).bytes).toEqual(bytes);
    const random = createPrng(5);
    for (let round = 0; round < 300; round++) {
      const damaged = Uint8Array.from(bytes);
      damaged[random.int(bytes.length)]! ^= 1 << random.int(8);
      expect(() => openKeyFilter(damaged, 'words.ldm')).toThrow(LdmError);
      expect(() => openKeyFilter(bytes.subarray(0, random.int(bytes.length)), 'words.ldm')).toThrow(LdmError);
    }
    expect(() => openKeyFilter(Buffer.concat([bytes, Buffer.alloc(1)]), 'words.ldm')).toThrow(/^words\.ldm: /);
  });

  it('of no keys has none', async () => {
    const read = decodeKeyFilter(
      (await makeKeyFilter({}, { kind, expected: 1, falsePositiveRate: RATE, keys: inBatches([]) })).bytes,
    );
    expect([read.filter.elements, read.has(Buffer.from('a')), read.has(Buffer.alloc(0))]).toEqual([0, false, false]);
  });

  it('that a class of the library saved is opened too', async () => {
    const { filter } = await make(kind, [Buffer.from('one')]);
    const opened = openKeyFilter(filter.save(), 'saved');
    expect(opened).toMatchObject({ kind, made: undefined });
    expect(opened.filter.elements).toBe(1);
  });
});

it('a binary fuse filter under the name of the other kind is refused', () => {
  const filter = BinaryFuseFilter.withRate({ falsePositiveRate: RATE, fingerprintBits: 16 });
  const bytes = encodeSaved('key', [0, RATE, 0], [Buffer.from('binary-fuse-8'), filter.save()]);
  expect(() => decodeKeyFilter(bytes)).toThrow(CorruptDataError);
});

const sized = KINDS.filter(({ isSized }) => isSized).map(({ name }) => name);
it.each(sized)('a filter of the kind %s that would not fit in memory is refused', async (kind) => {
  const options = { kind, expected: 2 ** 38, falsePositiveRate: RATE, keys: inBatches([]) };
  await expect(makeKeyFilter({}, options)).rejects.toThrow(LdmError);
});

const growing = ['dynamic-bloom', 'dynamic-count', 'bloom-array', 'expandable', 'dibf', 'ldm'];
it.each(growing)(
  'a filter of the kind %s that grows too large is refused, before it has read all keys',
  async (kind) => {
    let batchCount = 0;
    const keys = async function* (): KeyBatches {
      for (; batchCount < 200; batchCount += 1)
        yield Array.from({ length: 100 }, (_, index) => Buffer.from(`${batchCount} ${index}`));
    };
    const options = { kind, expected: 100, falsePositiveRate: RATE };
    const { filter } = await makeKeyFilter({}, { ...options, keys: inBatches([]) });
    const bytesMax = filter.memoryBytes + 1000;
    const making = makeKeyFilter({}, { ...options, keys: keys(), bytesMax });
    await expect(making).rejects.toThrow(new RegExp(`^a filter of the kind ${kind} for \\d+ keys is too large$`));
    expect(batchCount).toBeLessThan(200);
  },
);

it.each(KINDS.map(({ name }) => name))('copies of a key do not fill a filter of the kind %s', async (kind) => {
  const key = Buffer.from('key');
  const keys = inBatches(Array.from({ length: 3000 }, () => key));
  const made = await makeKeyFilter({}, { kind, expected: 10, falsePositiveRate: RATE, keys });
  expect(made.has(key)).toBe(true);
  // It counts copies, and predicts its rate as if they were other keys.
  if (kind !== 'counting-bloom') expect(made.filter.falsePositiveRate()).toBeLessThanOrEqual(RATE);
  expect(made.bytes.length).toBeLessThan(3000);
});

it.each(['hash-set', 'binary-fuse-8', 'indexed-filter'])(
  'a filter of the kind %s that is too large when it is complete is refused',
  async (kind) => {
    const keys = Array.from({ length: 2000 }, (_, index) => Buffer.from(`${index}`));
    const options = { kind, falsePositiveRate: RATE, bytesMax: 1000 };
    await expect(makeKeyFilter({}, { ...options, keys: inBatches(keys) })).rejects.toThrow('2000 keys is too large');
  },
);

it.each(['ldm', 'bloom', 'counting-bloom'])(
  'a filter of the kind %s spreads keys of 20 bytes that look alike',
  async (kind) => {
    const keys = Array.from({ length: 200 }, (_, index) => Buffer.from(`key number ${index}`.padEnd(20, '.')));
    const made = await make(kind, keys);
    const first = new Set(keys.map((key) => (made.trace(key) as Trace).positions[0]));
    // An LDM filter takes the first bytes of an id of a chunk for its position.
    expect(first.size).toBeGreaterThan(100);
  },
);
