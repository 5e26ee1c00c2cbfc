import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { createCommandRunner } from '../../src/console/command-runner.ts';
import { createProgram } from '../../src/cli/program.ts';
import { makeScenario } from '../cli/scenario.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { runLdm } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const group = createProgram(createCommandRunner()).commands.find((command) => command.name() === 'filter')!;
const names = group.commands.map((command) => command.name());
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

describe('help', () => {
  it.each(names)('of filter %s has an example, the exit codes and the global options', async (name) => {
    const { code, stdout, stderr } = await runLdmHere(['filter', name, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: ldm filter ${name}`);
    expect(stdout).toMatch(new RegExp(`Examples:\n  ldm filter ${name}`));
    expect(stdout).toMatch(/Exit codes:\n {2}0 +success/);
    expect(stdout).toContain('--quiet');
  });

  it('goes to stderr with exit 2 when filter is given nothing to do', async () => {
    const { code, stdout, stderr } = await runLdmHere(['filter']);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('Usage: ldm filter [options] [command]');
  });
});

describe('wrong usage of filter', () => {
  it.each([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['plan'], '--capacity <n> is required'],
    [['plan', '--table', '--hashes', '7'], '--table cannot be combined with --hashes'],
    [['plan', '--capacity', 'much'], 'Give a number of chunks such as 100000'],
    [['plan', '--capacity', '40GB', '--chunk-size', '0'], 'Give a size such as 64MiB'],
    [['plan', '--capacity', '1MB', '--chunk-size', '1GB'], 'the chunk size is larger than the capacity'],
    [['plan', '--capacity', '200000000'], 'a capacity of 200000000 is out of range'],
    [['simulate', '--runs', '0'], 'Give a whole number from 1 to 100000'],
    [['simulate', '--seed', '-1'], 'Give a whole number from 0 to 4294967295'],
    [['inspect', 'one.ldm', 'extra'], 'too many arguments'],
  ])('%j ends with exit 2, and any hint on its own line', async (args, expected) => {
    // One as a program, which ends by itself.
    const run = args[0] === 'frobnicate' ? runLdm : runLdmHere;
    const { code, stdout, stderr } = await run(['filter', ...args]);
    expect(stderr).toContain(expected);
    expect(stderr).toMatch(/^ldm: [^\n]+\n(?:[A-Z][^\n]+[.?]\n)?$/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});

describe('filter plan', () => {
  it('marks the published example', async () => {
    const { code, stdout } = await runLdmHere([
      'filter',
      'plan',
      '--capacity',
      '40GB',
      '--chunk-size',
      '64MB',
      '--hashes',
      '7',
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ *7 +6463 +0\.0078 +6469 +0\.0079 .* <- accepted$/m);
    expect(stdout.match(/<- accepted/g)).toHaveLength(1);
    expect(stdout).toContain('k = 7, n_max = 640, m = 6463, FPR 0.0078');
  });

  it('shows the walk to a rate, and reads binary units alike', async () => {
    const run = (capacity: string, chunkSize: string): ReturnType<typeof runLdmHere> =>
      runLdmHere(['filter', 'plan', '--capacity', capacity, '--chunk-size', chunkSize, '--fpr', '1%']);
    const { stdout } = await run('100GB', '64MB');
    expect(stdout.match(/rate too high/g)).toHaveLength(6);
    expect(stdout).toContain('k = 7, n_max = 1600, m = 16158, FPR 0.0078');
    expect((await run('100GiB', '64MiB')).stdout).toBe(stdout);
  });

  it('is one object with --json', async () => {
    const { stdout } = await runLdmHere(['filter', 'plan', '--capacity', '1600', '--json', '--no-progress']);
    const plan = JSON.parse(stdout) as Record<string, unknown>;
    expect(plan).toMatchObject({ message_type: 'plan', capacity: 1600, fpr_target: 0.01 });
    expect(plan).not.toHaveProperty('chunk_size');
    expect(plan['accepted']).toMatchObject({
      hashes: 7,
      positions: 16_158,
      ldm_positions: 16_183,
      verdict: 'accepted',
    });
  });

  it('prints the published table of rates', async () => {
    const { code, stdout } = await runLdmHere(['filter', 'plan', '--table']);
    expect(code).toBe(0);
    const rows = stdout.split('\n').map((line) => line.trim().split(/ +/));
    // Cao, "Bloom Filters - the math", table 3.
    const published = [
      ['2', '1.39', '0.393*', '0.4'],
      ['8', '5.55', '0.118', '0.0489', '0.0306', '0.024', '0.0217', '0.0216*', '0.0229'],
      ['10', '6.93', '0.0952', '0.0329', '0.0174', '0.0118', '0.00943', '0.00844', '0.00819*', '0.00846'],
    ];
    for (const row of published) {
      const found = rows.find(([bits]) => bits === row[0])!;
      expect(found.slice(0, row.length)).toEqual(row);
    }
    const { stdout: json } = await runLdmHere(['filter', 'plan', '--table', '--json']);
    const table = JSON.parse(json) as { rows: { fpr: number[] }[] };
    expect(table.rows).toHaveLength(31);
    for (const [index, { fpr }] of table.rows.entries()) {
      for (const [at, rate] of fpr.entries()) {
        expect(rate).toBeCloseTo((1 - Math.exp(-(at + 1) / (index + 2))) ** (at + 1), 12);
      }
    }
  });
});

describe('filter simulate', () => {
  it('prints only ASCII where the locale has nothing else', async () => {
    const args = ['filter', 'simulate', '--runs', '1', '--samples', '2', '--seed', '1'];
    const { stdout } = await runLdmHere(args, { env: { LC_ALL: 'C' } });
    expect(stdout).toMatch(/^[ -~\n]+$/);
    expect(stdout).not.toContain('?');
    expect((await runLdmHere(args, { env: { LC_ALL: 'C.UTF-8' } })).stdout).toContain('±');
  });

  it('writes tables, charts and files, the same for the same seed', async () => {
    const directory = memoryDirectory();
    const simulate = ['filter', 'simulate', '--runs', '3', '--samples', '4', '--seed'];
    const run = async (name: string): Promise<{ stdout: string; files: Buffer[] }> => {
      const files = ['svg', 'png', 'csv'].map((kind) => `${name}.${kind}`);
      const options = files.flatMap((file) => [`--${file.split('.')[1]!}`, file]);
      const { code, stdout, stderr } = await runLdmHere([...simulate, '5', ...options], { cwd: directory });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      for (const file of files) expect(stdout).toContain(`wrote ${file}\n`);
      const contents = files.map((file) => readFileSync(join(directory, file)));
      return { stdout: stdout.replace(/^wrote .*\n/gm, ''), files: contents };
    };
    const first = await run('first');
    expect(await run('second')).toEqual(first);
    expect((await runLdmHere([...simulate, '6'])).stdout).not.toBe(first.stdout);

    expect(first.stdout).toContain('mean of 3 runs (k = 7, seed 5)');
    expect(first.stdout).toMatch(/^ +640 +100\.0 % +\d\.\d\d ± \d\.\d\d +2\.65 +\d\.\d\d ± \d\.\d\d +5\.17$/m);
    expect(first.stdout).toContain('D DIBF   L LDM');
    const [svg, png, csv] = first.files as [Buffer, Buffer, Buffer];
    expect(svg.toString()).toMatch(/^<svg [^]*n = 1,600, m = 16,158[^]*<\/svg>\n$/);
    expect(png.subarray(0, 8)).toEqual(PNG_SIGNATURE);
    // 2 groups, 4 samples, 5 kinds of chains, and the head.
    expect(csv.toString().trimEnd().split('\n')).toHaveLength(41);
    expect(csv.toString()).toMatch(/^5,3,7,640,676,640,dibf,\d/m);
    expect(csv.toString()).toMatch(/^5,3,7,640,6469,640,ldm_filter,\d/m);
  });

  it('draws a PNG with words on a machine without fonts', async () => {
    const { renderPng } = await import('../../src/filters/charts/png-chart.ts');
    const draw = (text: string): Uint8Array =>
      renderPng(
        `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><text y="15" font-family="DejaVu Sans, sans-serif">${text}</text></svg>`,
      );
    expect(draw('words')).not.toEqual(draw(''));
  });

  it('has every figure with --json', async () => {
    const { stdout } = await runLdmHere([
      'filter',
      'simulate',
      '--runs',
      '2',
      '--samples',
      '2',
      '--json',
      '--no-progress',
    ]);
    const message = JSON.parse(stdout) as { groups: { samples: unknown[] }[] };
    expect(message).toMatchObject({ message_type: 'simulation', seed: 1, runs: 2, hashes: 7, files: [] });
    expect(message.groups.map(({ samples }) => samples.length)).toEqual([2, 2]);
    expect(message.groups[1]!.samples[1]).toMatchObject({
      elements: 1600,
      ldm: { expected: expect.closeTo(2.97, 2), min: expect.any(Number) },
      dibf: { expected: expect.closeTo(5.75, 2), max: expect.any(Number) },
      ldm_filter: { expected: expect.closeTo(2.97, 2) },
      ldm_filter_saved: { expected: expect.closeTo(5.75, 2) },
      dibf_filter: { expected: expect.closeTo(5.75, 2) },
    });
    expect(stdout).not.toContain('published');
  });

  it('says which file it cannot write', async () => {
    const file = join(memoryDirectory(), 'absent', 'chains.csv');
    const { code, stdout, stderr } = await runLdmHere(['filter', 'simulate', '--runs', '1', '--csv', file]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(`ldm: cannot write ${file}: no such file or directory (ENOENT)\n`);
    expect(existsSync(file)).toBe(false);
  });
});

describe('filter inspect', () => {
  it('draws the filter of the repository', async () => {
    const { run, runJson } = await makeScenario();
    await run(['backup', 'source']);
    const { code, stdout, stderr } = await run(['filter', 'inspect']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^ {2}live chunks \(n\) +\d+ of 4,096/m);
    expect(stdout).toMatch(/^ {2}now, measured +none of 262,144 absent ids \(below 0\.0012 %\), seed 20$/m);
    expect(stdout).toMatch(/^ {2}next +after 4,0\d\d more chunks$/m);
    expect(stdout).toMatch(/^Counters\n.*\n +0 +41,\d{3} +41,\d{3} {2}█{40}$/m);
    expect(stdout).toMatch(/^Chains by link position.*\n +length +positions.*\n +1 +\d+ +\d+ {2}█{40}$/m);
    expect(stdout).toMatch(/^Chains as saved.*\n +length +heads.*\n +1 +\d+ +\d+ {2}█{40}$/m);
    const { messages } = await runJson(['filter', 'inspect']);
    expect(messages).toEqual([
      expect.objectContaining({
        message_type: 'inspection',
        capacity: 4096,
        next_capacity: 6144,
        fpr_probes: { count: 2 ** 18, seed: 20 },
        counters: { histogram: expect.any(Array), expected: expect.any(Array) },
        chains: expect.objectContaining({ mean_visited: expect.any(Number), expected: expect.any(Array) }),
        saved_chains: expect.objectContaining({ mean_visited: expect.any(Number), expected: expect.any(Array) }),
      }),
    ]);
  });

  it('ends with exit 10 where there is no repository', async () => {
    const { code, stdout } = await runLdmHere(['-r', join(memoryDirectory(), 'none'), 'filter', 'inspect']);
    expect({ code, stdout }).toEqual({ code: 10, stdout: '' });
  });
});
