import { readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { makeFilterDesk, type FilterDesk } from '../../support/filter-desk.ts';
import { runLdm } from '../../support/run-ldm.ts';

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

describe('filter make', () => {
  it('counts the keys of files and of a pipe alike, and writes the same file', async () => {
    await desk.makeFruit();
    desk.write('more', 'plum');
    desk.write('less', 'apple\npear\n');
    const { stdout } = await filter(['make', 'less', 'more', '--fpr', '1e-9', '-o', 'both.ldm']);
    expect(stdout).toMatch(/^made a filter of 3 keys: both\.ldm \(bloom, .*\)\n$/);
    const piped = desk.filterBytes(['make', '-', '--fpr', '1e-9'], 'apple\npear\nplum');
    expect([piped.status, piped.stderr.toString()]).toEqual([
      0,
      expect.stringMatching(/^made a filter of 3 keys to stdout/),
    ]);
    for (const bytes of [piped.stdout, readFileSync(join(directory, 'both.ldm'))]) {
      expect(bytes).toEqual(readFileSync(join(directory, 'fruit.ldm')));
    }
  });

  it('reads keys of any bytes that NUL ends, and lines with what else they have', async () => {
    const keys = [Buffer.from('two\nlines'), Buffer.from([0xff, 0xfe, 10]), Buffer.alloc(0)];
    desk.write('zero', Buffer.concat(keys.flatMap((key) => [key, Buffer.alloc(1)])));
    expect((await filter(['make', '-0', 'zero', '-o', 'zero.ldm', '--kind', 'hash-set'])).code).toBe(0);
    const asked = Buffer.concat(
      [...keys, Buffer.from('two'), Buffer.from('lines')].flatMap((key) => [key, Buffer.alloc(1)]),
    );
    const { status, stdout } = desk.filterBytes(['test', 'zero.ldm', '-0'], asked);
    expect([status, stdout]).toEqual([0, readFileSync(join(directory, 'zero'))]);
    desk.write('lines', 'with a carriage return\r\n\nlast');
    expect((await filter(['make', 'lines', '-o', 'lines.ldm', '--kind', 'hash-set'])).code).toBe(0);
    const { stdout: found } = desk.filterBytes(
      ['test', 'lines.ldm'],
      'with a carriage return\r\nwith a carriage return\nlast\n\n',
    );
    expect(found.toString()).toBe('with a carriage return\r\nlast\n\n');
  });

  it('replaces no file without --force, and leaves what is there if it fails', async () => {
    await desk.makeFruit();
    const before = readFileSync(join(directory, 'fruit.ldm'));
    const refused = await filter(['make', 'fruit', '-o', 'fruit.ldm']);
    expect(refused).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/exists already\n.*--force/) as string,
    });
    const failed = await filter(['make', 'fruit', 'absent', '-o', 'fruit.ldm', '--force']);
    expect(failed).toMatchObject({ code: 1, stderr: 'ldm: cannot read absent: no such file or directory (ENOENT)\n' });
    expect(readFileSync(join(directory, 'fruit.ldm'))).toEqual(before);
    expect((await filter(['make', 'fruit', '-o', 'fruit.ldm', '--force'])).code).toBe(0);
    expect(readFileSync(join(directory, 'fruit.ldm'))).not.toEqual(before);
    expect(readdirSync(directory).filter((name) => name.includes('tmp'))).toEqual([]);
    symlinkSync('fruit.ldm', join(directory, 'link'));
    expect((await filter(['make', 'fruit', '-o', 'link'])).code).toBe(2);
  });

  it.each([
    [2, [], '<file> is missing'],
    [2, ['fruit', '--kind', 'sieve', '-o', 'x'], 'Give bloom, split-block-bloom, counting-bloom'],
    [2, ['fruit', '--expected', '0', '-o', 'x'], 'Give a whole number from 1'],
    [2, ['fruit', '--fpr', '1', '-o', 'x'], 'Give a rate between 0 and 1'],
    [2, ['fruit', '--expected', '1e15', '-o', 'x'], 'out of range'],
    [2, ['fruit', '--json'], 'with --json, the result cannot go to standard output'],
    [2, ['-', '-', '-o', 'x'], 'standard input can be read only once'],
    [2, ['fruit', '-o', '.'], 'is a directory'],
    [1, ['fruit', '-o', 'absent/x'], 'cannot write absent/x'],
    [1, ['.', '-o', 'x'], 'cannot read .: it is a directory'],
    [2, ['fruit', '--kind', 'binary-fuse-8', '--fpr', '0.003', '-o', 'x'], 'Give a rate of 0.0040 or more'],
    [1, ['fruit', '--kind', 'cuckoo', '--expected', '1', '-o', 'x'], 'the cuckoo filter is full'],
  ])('ends with %i for %j', async (expected, words, message) => {
    desk.write('fruit', Array.from({ length: 100 }, (_, index) => `fruit ${index}\n`).join(''));
    const { code, stdout, stderr } = await filter(['make', ...words]);
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).toContain(message);
    expect(exists('x')).toBe(false);
  });

  it.each([
    ['split-block-bloom', /keys in it, estimated +\d+\n {2}blocks of 256 bits +\d+\n/],
    ['dynamic-count', /made for +200 keys and a rate of 0\.4 %\n[^]*keys in it +200\n {2}Bloom filters +8\n/],
    ['bloom-array', /keys in it +200\n {2}groups of Bloom filters +1\n/],
    ['expandable', /keys in it +\d+\n {2}doublings +0\n/],
    ['binary-fuse-8', /made for +a rate of 0\.4 %\n[^]*keys in it +200\n {2}bits of a fingerprint +8\n/],
    ['binary-fuse-16', /keys in it +200\n {2}bits of a fingerprint +16\n/],
  ])('makes one of the kind %s, which says what it is and has the keys', async (kind, description) => {
    const keys = Array.from({ length: 200 }, (_, index) => `line ${index}`);
    const lines = keys.map((key) => `${key}\n`).join('');
    desk.write('lines', lines);
    const made = await filter(['make', 'lines', '--kind', kind, '--fpr', '0.004', '-o', 'lines.ldm']);
    expect(made).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`(${kind}, `) as string });
    expect(await filter(['test', 'lines.ldm', ...keys])).toMatchObject({ code: 0, stdout: lines });
    const others = keys.map((key) => key.replace('line', 'other'));
    expect(Number((await filter(['test', 'lines.ldm', '-c', ...others])).stdout)).toBeLessThan(10);
    expect((await filter(['inspect', 'lines.ldm'])).stdout).toMatch(description);
  });

  it('says that more keys came than were expected, and what that means', async () => {
    desk.write('many', Array.from({ length: 1000 }, (_, index) => `${index}\n`).join(''));
    const { code, stderr } = await filter(['make', 'many', '--expected', '500', '-o', 'many.ldm']);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^ldm: warning: the filter was made for 500 keys and has read 1,000 keys: its rate is 1\d\.\d %, not 1 %\n$/,
    );
  });

  it('does not keep a pipe of any length to count it', async () => {
    const input = Buffer.alloc(65 * 2 ** 20, 'a line of text\n');
    const { code, stderr } = await runLdm(['filter', 'make', '-', '-o', join(directory, 'x')], { input });
    expect(code).toBe(2);
    expect(stderr).toMatch(/more than 64 MiB\n.*--expected/);
  });
});
