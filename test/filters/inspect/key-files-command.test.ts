import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { BinaryFuseFilter } from '../../../src/filters/family/binary-fuse.ts';
import { BloomFilter } from '../../../src/filters/family/bloom-filter.ts';
import { SplitBlockBloomFilter } from '../../../src/filters/family/split-block-bloom.ts';
import { GUAVA_FILE, makeFilterDesk, type FilterDesk } from '../../support/filter-desk.ts';

let directory: string;
let desk: FilterDesk;
let filter: FilterDesk['filter'];
beforeEach(() => {
  desk = makeFilterDesk();
  ({ directory, filter } = desk);
});

function exists(name: string): boolean {
  return readdirSync(directory).includes(name);
}

describe('filter inspect and export of a file', () => {
  it('say what a filter is', async () => {
    await desk.makeFruit();
    const { code, stdout } = await filter(['inspect', 'fruit.ldm']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Filter of keys\n {2}kind +bloom\n {2}made for +3 keys and a rate of 1e-7 %\n {2}keys read +3\n/,
    );
    const { stdout: json } = await filter(['inspect', 'fruit.ldm', '--json']);
    const figures = { positions: 192, hashes: 30, fill_ratio: expect.any(Number) };
    expect(JSON.parse(json)).toMatchObject({
      message_type: 'key_filter',
      kind: 'bloom',
      expected: 3,
      keys_read: 3,
      figures,
    });
    expect((await filter(['inspect', GUAVA_FILE])).stdout).not.toContain('keys read');
    expect((await filter(['inspect', 'absent'])).code).toBe(1);
  });

  it('make a filter for Guava of a Bloom filter, bit by bit, and of keys', async () => {
    await desk.makeFruit();
    const { code, stdout } = await filter(['export', 'fruit.ldm', '--format', 'guava', '-o', 'fruit.bloom']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^exported a filter of the kind bloom to fruit\.bloom \(guava,/),
    ]);
    const made = BloomFilter.forCapacity({ capacity: 3, falsePositiveRate: 1e-9 });
    for (const key of ['apple', 'pear', 'plum']) made.add(Buffer.from(key));
    expect(readFileSync(join(directory, 'fruit.bloom'))).toEqual(made.save());
    expect((await filter(['make', 'fruit', '--kind', 'hash-set', '-o', 'set.ldm'])).code).toBe(0);
    const { stdout: bytes } = desk.filterBytes(['export', 'set.ldm', '--format', 'guava', '--fpr', '1e-9']);
    expect(bytes).toEqual(made.save());
    expect(await filter(['test', 'fruit.bloom', '--keys', 'plum', 'fig'])).toMatchObject({ code: 0, stdout: 'plum\n' });
  });

  it('make a filter for a Parquet file of a split-block filter, bit by bit, and of keys', async () => {
    await desk.makeFruit();
    const made = SplitBlockBloomFilter.forCapacity({ capacity: 3, falsePositiveRate: 1e-6 });
    for (const key of ['apple', 'pear', 'plum']) made.add(Buffer.from(key));
    for (const [kind, options, rate] of [
      ['split-block-bloom', ['--fpr', '1e-6'], []],
      ['hash-set', [], ['--fpr', '1e-6']],
    ] as const) {
      await filter(['make', 'fruit', '--kind', kind, ...options, '-o', `${kind}.ldm`]);
      const words = ['export', `${kind}.ldm`, '--format', 'parquet', ...rate, '-o', `${kind}.bin`];
      const { code, stdout } = await filter(words);
      expect([code, stdout]).toEqual([0, expect.stringContaining(`${kind}.bin (parquet, `)]);
      expect(Buffer.compare(readFileSync(join(directory, `${kind}.bin`)), made.toParquet()), kind).toBe(0);
    }
    const { code, stderr } = await filter(['export', '--format', 'parquet', '-o', 'x', '-r', 'absent']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--format parquet is for a filter of keys')]);
  });

  it('take an exported binary fuse filter for one of chunks, unless --keys is given', async () => {
    const made = BinaryFuseFilter.withRate({ falsePositiveRate: 0.01 });
    for (const key of ['apple', 'pear', 'plum']) made.add(Buffer.from(key));
    desk.write('fruit.fuse', made.save());
    expect(await filter(['test', 'fruit.fuse', '--keys', 'plum'])).toMatchObject({ code: 0, stdout: 'plum\n' });
    const { code, stderr } = await filter(['test', 'fruit.fuse', 'plum']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('plum is not a chunk id')]);
    expect((await filter(['inspect', 'fruit.fuse'])).stdout).toMatch(/kind +binary-fuse-8\n {2}keys in it +3\n/);
  });

  it.each([
    [['fruit.ldm', '--format', 'guava', '--fpr', '0.1'], 'keeps the rate'],
    [['fruit.ldm', '--format', 'parquet'], 'a filter of the kind bloom cannot be converted to the form of Parquet'],
    [['fruit.ldm', '--format', 'binary-fuse'], '--format binary-fuse is for the chunks of a repository'],
    [['fruit.ldm', '--format', 'raw'], '--format raw is for the chunks of a repository'],
    [['cuckoo.ldm', '--format', 'guava'], 'a filter of the kind cuckoo cannot be converted'],
  ])('refuse to export %j', async (words, message) => {
    await desk.makeFruit();
    await filter(['make', 'fruit', '--kind', 'cuckoo', '-o', 'cuckoo.ldm']);
    const { code, stderr } = await filter(['export', ...words, '-o', 'x']);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(exists('x')).toBe(false);
  });
});
