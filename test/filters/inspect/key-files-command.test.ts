import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { BloomFilter } from '../../../src/filters/family/bloom-filter.ts';
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

  it.each([
    [['fruit.ldm', '--format', 'guava', '--fpr', '0.1'], 'keeps the rate'],
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
