import { freemem } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { inSoak } from '../support/soak.ts';
import { parseBenchOptions } from './bench-options.ts';
import type { ScenarioResult, Tool } from './bench-types.ts';
import { selectFiles } from './data/select-files.ts';
import { describeMachine } from './machine.ts';
import { medianOf, runCommand } from './measure.ts';
import { formatJsonLines, formatReport } from './report.ts';
import { measureRounds, orderOfRound } from './rounds.ts';
import { runBench } from './run-bench.ts';
import { scenarios } from './scenarios/scenarios.ts';
import { findTools } from './tools/find-tools.ts';
import { boundTouched, touchedSizeBytes, touchMemory } from './touch-memory.ts';
import { createWorkspace } from './workspace.ts';

const ldm = findTools(['ldm']).slice(0, 1);
/** By the first letters of their names; to install: restic, borgbackup, tar and zstd. */
const PEERS = ['restic', 'borg zstd', 'tar + zstd -1', 'cp -a'];
const peers = findTools(PEERS);
const small = { size: 'small', runCount: 1, workDirectory: undefined, keepsWork: false } as const;

async function runSmall(slugs: readonly string[], tools: readonly Tool[]): Promise<ScenarioResult[]> {
  return runBench({ ...small, slugs }, tools, () => undefined);
}

/** Every tool ran, and whatever was looked at was right. How long it took says nothing here. */
function expectRight(result: ScenarioResult | undefined, tools: readonly Tool[]): void {
  const measurements = (result?.measurements ?? []).filter(({ tool }) => tools.some(({ name }) => name === tool));
  expect(measurements.map(({ tool }) => tool)).toEqual(tools.map(({ name }) => name));
  for (const { seconds, problems } of measurements) {
    expect(seconds.every((value) => value > 0)).toBe(true);
    expect(problems ?? []).toEqual([]);
  }
}

describe('the benchmark in its small size', () => {
  /** In the suite without those that do the same with other data. */
  const left = inSoak(
    ['restore'],
    ['restore', 'first-backup', 'restore-releases', 'restore-big', 'big-archive', 'big-files'],
  );
  const slugs = scenarios.map(({ slug }) => slug).filter((slug) => !left.includes(slug));
  /** Of one run: scenarios share their data, which takes longer to make than to use. */
  let results: readonly ScenarioResult[];
  beforeAll(async () => {
    results = await runSmall(slugs, ldm);
  }, 300_000);

  it.each(slugs)('runs %s with ldm', (slug) => {
    const result = results.find((each) => each.slug === slug);
    if (slug === 'filter') expect(result).toBeDefined();
    else expectRight(result, ldm);
  });

  it.for(PEERS)('has %s to compare with', (name, { skip }) => {
    skip(!peers.some((tool) => tool.name.startsWith(name)), `${name} is not installed`);
  });

  it('restores with every installed tool what it backed up', async () => {
    const tools = [...ldm, ...peers];
    const restored = await runSmall(['restore'], tools);
    expectRight(restored[0], tools);
    const report = formatReport(restored, describeMachine(tools));
    expect(report).not.toContain('wrong result');
    for (const { name } of tools) expect(report).toContain(name);
  });
});

describe('runCommand', () => {
  it('fails with what the command printed', () => {
    expect(() => runCommand({ file: 'sh', args: ['-c', 'echo broken >&2; exit 3'] })).toThrow(/exit code 3\nbroken/);
  });
});

describe('medianOf', () => {
  it('takes the middle, or the mean of the two in the middle', () => {
    expect(medianOf([3, 1, 2])).toBe(2);
    expect(medianOf([10, 1, 2, 4])).toBe(3);
  });
});

describe('orderOfRound', () => {
  it('turns every other round around', () => {
    const orders = [0, 1, 2, 3].map((round) => orderOfRound(['A', 'B', 'C'], round).join(' '));
    expect(orders).toEqual(['A B C', 'C B A', 'A B C', 'C B A']);
  });

  it('is the order in which the tools run, each after memory was touched', () => {
    const tools = ['A', 'B', 'C'].map((name): Tool => ({ ...ldm[0]!, name }));
    const workspace = createWorkspace({ size: 'small', log: () => undefined });
    const events: string[] = [];
    const bench = { size: 'small', runCount: 2, verifiesBackups: false, tools, workspace } as const;
    try {
      measureRounds(
        {
          ...bench,
          touchMemory: () => events.push('touch'),
          log: (line) => events.push(line.trim().split(':')[0]!),
        },
        { tools, commands: () => [] },
      );
    } finally {
      workspace.remove();
    }
    expect(events.join(' ')).toBe('touch A touch B touch C touch C touch B touch A');
  });
});

describe('touchMemory', () => {
  it('writes to as much memory as it says', ({ skip }) => {
    const sizeBytes = 200e6;
    const lines: string[] = [];
    skip(boundTouched(sizeBytes, freemem()) < sizeBytes, 'too little memory is available');
    const usage = touchMemory(sizeBytes, (line) => lines.push(line));
    expect(lines.join('\n')).toMatch(/^ {2}touched 0\.20 GB of memory in \d+\.\d\d s$/);
    // Only GNU time tells the peak.
    expect(usage?.memoryBytesMax ?? sizeBytes).toBeGreaterThanOrEqual(sizeBytes);
  });

  it('leaves memory to others, and does nothing at the small size', () => {
    expect(boundTouched(3e9, 20e9)).toBe(3e9);
    expect(boundTouched(3e9, 4e9)).toBe(2e9);
    expect(boundTouched(3e9, 1e9)).toBe(0);
    expect(touchMemory(touchedSizeBytes.small, (line) => expect.fail(line))).toBeUndefined();
  });
});

describe('selectFiles', () => {
  it('selects the same again, and no more than was asked for', () => {
    const options = { roots: ['/usr/bin', '/usr/share/doc'], fileCount: 100, sizeBytes: 1e6 };
    const selected = selectFiles(options);
    expect(selected.flatMap(({ files }) => files).length).toBeLessThanOrEqual(100);
    expect(selected.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)).toBeLessThanOrEqual(1.05e6);
    expect(selectFiles(options)).toEqual(selected);
  });
});

describe('parseBenchOptions', () => {
  it('knows its defaults and refuses what it does not know', () => {
    expect(parseBenchOptions([])).toMatchObject({
      size: 'full',
      runCount: 3,
      slugs: scenarios.map(({ slug }) => slug),
    });
    expect(() => parseBenchOptions(['--scenario', 'nonsense'])).toThrow('unknown scenario');
    expect(() => parseBenchOptions(['--runs', '0'])).toThrow('--runs');
    expect(() => parseBenchOptions(['--size', 'huge'])).toThrow('--size');
    expect(() => parseBenchOptions(['--faster'])).toThrow('--faster');
  });
});

describe('the report', () => {
  const result: ScenarioResult = {
    slug: 'first-backup',
    title: 'first backup',
    targets: [
      { measure: 'seconds', must: { value: 0.5, peer: 'restic' }, aim: { value: 1.25, peer: 'tar | zstd -3' } },
      { measure: 'seconds', must: { value: 0.4, peer: 'restic' }, aim: { value: 1.3, peer: 'cp' } },
      { measure: 'memoryBytesMax', must: { value: 200e6 }, aim: { value: 199e6 } },
      { measure: 'repositorySizeBytes', must: { value: 0.85, peer: 'restic' } },
      { measure: { figure: 'bytes.each' }, must: { value: 56 }, aim: { value: 48 } },
    ],
    figures: { 'bytes.each': 50 },
    measurements: [
      {
        tool: 'ldm',
        version: '1',
        seconds: [4, 3, 5],
        repositorySizeBytes: 85e6,
        memoryBytesMax: 200e6,
        problems: ['lost'],
      },
      { tool: 'restic', version: '2', seconds: [10, 8, 9], repositorySizeBytes: 100e6 },
      { tool: 'tar + zstd -3', version: '3', seconds: [2, 2, 3] },
    ],
  };

  it('compares medians with restic, and hides no wrong result', () => {
    const report = formatReport([result], describeMachine([]));
    expect(report).toContain('| first backup | 4.00 | 9.00 | 2.00 | 0.44 |');
    expect(report).toContain('| first backup | 85 MB | 100 MB |  | 0.85 |');
    expect(report).toContain('**first-backup, ldm**: wrong result: lost');
  });

  it('says which targets are reached, each against its own peer', () => {
    const report = formatReport([result], describeMachine([]));
    for (const row of [
      String.raw`| first backup: time | 0.5 x restic | 0.44, reached | 1.25 x tar \| zstd -3 | 2.00, missed |`,
      '| first backup: time | 0.4 x restic | 0.44, missed | 1.3 x cp | not measured |',
      '| first backup: peak memory | 200 MB | 200 MB, reached | 199 MB | 200 MB, missed |',
      '| first backup: repository size | 0.85 x restic | 0.85, reached |  |  |',
      '| first backup: bytes.each | 56 | 50, reached | 48 | 50, missed |',
    ]) {
      expect(report).toContain(row);
    }
  });

  it('is also one JSON object per line', () => {
    const lines = formatJsonLines([result], describeMachine([])).trim().split('\n');
    const rows = lines.map((line) => JSON.parse(line) as { kind: string });
    expect(rows.map(({ kind }) => kind)).toEqual([
      'machine',
      ...result.measurements.map(() => 'measurement'),
      'figures',
      ...result.targets!.map(() => 'target'),
    ]);
    expect(rows.find(({ kind }) => kind === 'target')).toMatchObject({
      scenario: 'first-backup',
      measure: 'seconds',
      must: { value: 0.5, peer: 'restic', measured: 4 / 9, isReached: true },
      aim: { value: 1.25, peer: 'tar | zstd -3', measured: 2, isReached: false },
    });
  });
});
