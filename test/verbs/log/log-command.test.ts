import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import type { RunRecord } from '../../../src/console/jobs/run-records.ts';
import { HOME, setRunStage } from '../../support/run-stage.ts';

const TWO = `${HOME}[profiles.work]\ninherit = ["home"]\nrun.steps = ["check"]\nrun.schedule = "daily"\n`;

it('log lists the runs of all profiles or of some, and status what each has last done', async () => {
  const { place, ldm } = await setRunStage(TWO);
  for (const name of ['home', 'work', 'home']) await ldm('run', name);
  rmSync(join(place, 'source'), { recursive: true });
  await ldm('run', 'home');
  const { stdout } = await ldm('log');
  expect(stdout.match(/ (success|failed) /g)).toEqual([' success ', ' success ', ' success ', ' failed ']);
  expect(stdout).toContain('backup 1; nothing to back up');
  expect(stdout).toMatch(/^Time \(UTC\S*\) /);
  expect((await ldm('log', 'home', '-n', '1')).stdout).toMatch(/home +failed[^]*\n1 run\n$/);
  expect((await ldm('log', '--json', 'work')).stdout).toContain('"steps":[{"step":"check","exit_code":0');
  const status = await ldm('status');
  expect(status.stdout).toMatch(
    /^home\n +last run +\S+ \S+, failed: nothing to back up[^]*last snapshot +20[^]*\n\nwork\n/,
  );
  expect(status.stdout).toMatch(
    /work\n +last run +\S+ \S+, success\n +last snapshot +none\n +last check +20[^]*schedule +daily\n/,
  );
  expect(status.stdout).toMatch(/free space +\d/);
  expect(status.stdout).toMatch(/\ntimes are in UTC\S*\n$/);
  expect((await ldm('overdue', '--all')).stdout).toMatch(/^State +Profile +Last success \(UTC\S*\)/);
});

it('log --since lists all runs that began then or later, beyond the usual number', async () => {
  const { place, records, ldm } = await setRunStage(HOME);
  mkdirSync(join(place, 'state', 'ldm', 'runs'), { recursive: true });
  const now = Date.now();
  for (let daysAgo = 40; daysAgo > 0; daysAgo -= 1) {
    const start = new Date(now - daysAgo * 86_400_000 + 3_600_000).toISOString();
    records().end({ id: `${daysAgo}`, start, result: 'success', exitCode: 0, steps: [] });
  }
  const listed = async (...args: string[]): Promise<number> => {
    const { stdout } = await ldm('log', '--json', ...args);
    return stdout.split('\n').filter((line) => line !== '').length;
  };
  expect(await listed()).toBe(20);
  expect(await listed('--since', '30d')).toBe(30);
  expect(await listed('--since', '2w')).toBe(14);
  expect(await listed('--since', '30d', '-n', '5')).toBe(5);
  const first = new Date(now - 3 * 86_400_000 + 3_600_000).toISOString();
  expect(await listed('--since', first)).toBe(3);
  const yesterday = new Date(new Date(now).setHours(-24, 0, 0, 0)).getTime();
  const ages = Array.from({ length: 40 }, (_, index) => now - (index + 1) * 86_400_000 + 3_600_000);
  expect(await listed('--since', 'yesterday')).toBe(ages.filter((startMs) => startMs >= yesterday).length);
  const wrong = await ldm('log', '--since', 'noon');
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('a span before now such as 7d')]);
});

it('status names a fault of a profile and goes on with the others', async () => {
  const { ldm } = await setRunStage(`${HOME}[profiles.work]\nrepoo = 1\n`);
  const { code, stdout } = await ldm('status');
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/home\n +last run +never[^]*work\n +fault +.*repoo is neither/),
  ]);
});

it('records beyond about 1,000 are removed, but the last check that succeeded stays', async () => {
  const { place, records, runs, ldm } = await setRunStage(HOME);
  mkdirSync(join(place, 'state', 'ldm', 'runs'), { recursive: true });
  const step = { name: 'backup', start: '2026-01-01T00:00:00Z', exitCode: 0 };
  const run = (number: number): RunRecord => ({
    id: `${number}`,
    start: new Date(Date.UTC(2026, 0, 1) + number * 60_000).toISOString(),
    result: 'success',
    exitCode: 0,
    steps: number === 3 ? [step, { ...step, name: 'check' }] : [step],
  });
  for (let number = 0; number < 1101; number += 1) records().end(run(number));
  expect(runs().map(({ id }) => Number(id))).toEqual([3, ...Array.from({ length: 1000 }, (_, index) => 101 + index)]);
  expect(readFileSync(records().path, 'utf8').split('\n')).toHaveLength(1002);
  expect((await ldm('log', '-n', '2000')).stdout).toContain('1,001 runs');
});
