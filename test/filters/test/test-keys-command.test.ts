import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { GUAVA_FILE, makeFilterDesk, type FilterDesk } from '../../support/filter-desk.ts';

let directory: string;
let desk: FilterDesk;
let filter: FilterDesk['filter'];
beforeEach(() => {
  desk = makeFilterDesk();
  ({ directory, filter } = desk);
});

describe('filter test of keys', () => {
  it.each([
    [0, ['pear', 'fig', 'apple'], 'pear\napple\n'],
    [1, ['fig'], ''],
    [0, ['--invert-match', 'pear', 'fig'], 'fig\n'],
    [1, ['--invert-match', 'pear'], ''],
    [0, ['--count', 'pear', 'fig', 'plum'], '2\n'],
    [1, ['-c', 'fig'], '0\n'],
    [0, ['-q', 'fig', 'plum'], ''],
    [1, ['--quiet', 'fig'], ''],
    [1, ['--', '-q'], ''],
  ])('has the exit code %i of grep for %j', async (expected, words, output) => {
    await desk.makeFruit();
    const { code, stdout, stderr } = await filter(['test', 'fruit.ldm', ...words]);
    expect([code, stdout, stderr]).toEqual([expected, output, '']);
  });

  it('answers what grep answers for the lines of standard input', async () => {
    desk.write('fruit', 'apple\npear\nplum\n');
    await filter(['make', 'fruit', '-o', 'fruit.ldm', '--kind', 'hash-set']);
    const input = 'plum\nfig\n\napple\napple\ngrape';
    for (const [ours, greps] of [
      [[], []],
      [['--invert-match'], ['-v']],
      [['-c'], ['-c']],
      [['-q'], ['-q']],
    ] as const) {
      const grep = spawnSync('grep', ['-xFf', 'fruit', ...greps], { cwd: directory, input, encoding: 'utf8' });
      const { code, stdout } = await filter(['test', 'fruit.ldm', ...ours], { input });
      expect([code, stdout], ours.join(' ')).toEqual([grep.status, grep.stdout]);
    }
  });

  it('with --quiet ends at the first key, although more could come', () => {
    desk.write('yes', 'y\n');
    expect(desk.filterBytes(['make', 'yes', '-o', 'yes.ldm']).status).toBe(0);
    expect(desk.shell('yes | ldm-filter test yes.ldm -q')).toMatchObject({ status: 0, signal: null, stdout: '' });
    expect(desk.shell('yes | ldm-filter test yes.ldm | head -n 2').stdout).toBe('y\ny\n');
  });

  it.each([
    ['absent.ldm', ['key'], 'cannot read absent.ldm: no such file'],
    ['.', ['key'], 'cannot read .: it is not a file'],
    ['damaged.ldm', ['key'], 'damaged.ldm: saved key filter: the checksum does not match the bytes'],
    ['short.ldm', ['key'], 'short.ldm: '],
    ['text', ['key'], 'text: Guava Bloom filter: '],
    ['text', ['--keys', 'key'], 'text: Guava Bloom filter: '],
    ['fruit.ldm', ['--file', 'text'], '--file is about the chunks'],
    ['-', [], 'standard input cannot be the filter and the keys'],
    ['fruit.ldm', ['--frobnicate'], "unknown option '--frobnicate'"],
  ])('ends with 2 for %s %j', async (name, words, message) => {
    await desk.makeFruit();
    const bytes = readFileSync(join(directory, 'fruit.ldm'));
    desk.write('short.ldm', bytes.subarray(0, -5));
    bytes[40]! ^= 1;
    desk.write('damaged.ldm', bytes);
    desk.write('text', 'some text that is no filter\n');
    const input = name === '-' ? { input: bytes } : {};
    const { code, stdout, stderr } = await filter(['test', name, ...words], input);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  it('ends with 2 if the keys cannot be read or the answers cannot be written', () => {
    desk.write('yes', 'y\n');
    expect(desk.filterBytes(['make', 'yes', '-o', 'yes.ldm']).status).toBe(0);
    for (const command of ['test yes.ldm < .', 'test yes.ldm y > /dev/full', 'test yes.ldm -c n > /dev/full']) {
      expect(desk.shell(`ldm-filter ${command}`).status, command).toBe(2);
    }
  });

  it('has each key and a summary with --json', async () => {
    await desk.makeFruit();
    const { code, stdout } = await filter(['test', 'fruit.ldm', '--json', 'pear', 'fig']);
    expect(code).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { message_type: 'key', key: 'pear', answer: 'maybe' },
      { message_type: 'summary', kind: 'bloom', false_positive_rate: expect.any(Number), asked: 2, selected: 1 },
    ]);
  });

  it('takes the filter from a pipe', async () => {
    await desk.makeFruit();
    const input = readFileSync(join(directory, 'fruit.ldm'));
    expect(await filter(['test', '-', 'plum', 'fig'], { input })).toMatchObject({ code: 0, stdout: 'plum\n' });
    expect((await filter(['inspect', '-'], { input })).stdout).toMatch(/^ {2}keys read +3$/m);
  });

  it('asks a filter of Guava for keys if it is told so', async () => {
    const ours = await filter([
      'test',
      GUAVA_FILE,
      '--keys',
      'chunk-0',
      'chunk-999',
      'absent-chunk-0',
      'absent-chunk-348',
    ]);
    // The last one is a false positive of Guava too.
    expect(ours).toMatchObject({ code: 0, stdout: 'chunk-0\nchunk-999\nabsent-chunk-348\n' });
    const { code, stderr } = await filter(['test', GUAVA_FILE, '-c', 'chunk-0']);
    expect(code).toBe(2);
    expect(stderr).toContain('--keys');
  });
});

describe('filter test --explain', () => {
  it('has what it shows with --json, and the exit codes of the keys', async () => {
    desk.write('fruit', 'apple\npear\nplum\n');
    await filter(['make', 'fruit', '--kind', 'ldm', '-o', 'fruit.ldm', '--fpr', '0.3']);
    const { code, stdout } = await filter(['test', 'fruit.ldm', '--json', '--explain', 'pear', '--explain', 'fig']);
    expect(code).toBe(0);
    const [pear, fig] = stdout.split('\n', 2).map((line) => JSON.parse(line) as Record<string, unknown>);
    const { start, stride } = pear!['hashes'] as Record<string, string>;
    const positions = [Number(start), (Number(start) + Number(stride)) % 11];
    expect(pear).toMatchObject({ message_type: 'explanation', key: 'pear', answer: 'yes', positions });
    expect(pear).toMatchObject({ link_position: (positions[0]! + positions[1]!) % 11, values: [expect.any(Array)] });
    expect(fig).toMatchObject({ key: 'fig', answer: 'no' });
    expect((await filter(['test', 'fruit.ldm', '--explain', 'fig'])).code).toBe(1);
  });

  it.each([
    ['bloom', ['pear', '--explain', 'fig'], '--explain cannot be combined'],
    ['bloom', ['-c', '--explain', 'fig'], '--explain cannot be combined'],
    ['hash-set', ['--explain', 'fig'], 'a filter of the kind hash-set has no picture: it compares whole keys'],
  ])('of a filter of the kind %s refuses %j', async (kind, words, message) => {
    desk.write('fruit', 'apple\npear\nplum\n');
    await filter(['make', 'fruit', '--kind', kind, '-o', 'fruit.ldm']);
    const { code, stdout, stderr } = await filter(['test', 'fruit.ldm', ...words]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  it('draws with ASCII where the locale has nothing else', async () => {
    await desk.makeFruit();
    const { stdout } = await filter(['test', 'fruit.ldm', '--explain', 'pear'], { env: { LC_ALL: 'C' } });
    expect(stdout).toMatch(/^[ -~\n]+$/);
    expect(stdout).not.toContain('?');
  });
});
