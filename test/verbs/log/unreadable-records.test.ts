import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

import { HOME, type RunStage, setRunStage } from '../../support/run-stage.ts';

const LONG = 'x'.repeat(300);
const TWO = `${HOME}[profiles.home.run]\nmax-age = "1h"\n[profiles.${LONG}]\ninherit = "home"\n`;

/** Lets the name of one profile be too long for a file. */
async function withLongName(): Promise<RunStage> {
  const stage = await setRunStage(TWO);
  await stage.ldm('-q', 'run', 'home');
  return stage;
}

it('status says of which profile the records cannot be read, and shows the others', async () => {
  const { ldm } = await withLongName();
  const { code, stdout, stderr } = await ldm('status');
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(/^home\n +last run +20/);
  expect(stdout).toMatch(/\nx+\n +records +the records of runs in \S+ cannot be read: .*ENAMETOOLONG/);
  expect(stdout).toMatch(/last run +unknown\n +last snapshot +unknown\n +last check +unknown\n/);
  expect((await ldm('status', '--json')).stdout).toContain('"records_fault":"the records of runs in ');
});

it('log and overdue do so, too', async () => {
  const { ldm } = await withLongName();
  const log = await ldm('log', 'home', LONG);
  expect([log.code, log.stdout]).toEqual([1, expect.stringMatching(/ home +success[^]*\n1 run\n$/)]);
  expect(log.stderr).toMatch(/^ldm: warning: the records of runs in \S+ cannot be read: .*\n$/);
  const overdue = await ldm('overdue', '--all');
  expect([overdue.code, overdue.stdout]).toEqual([2, expect.stringMatching(/^ok +home /m)]);
  expect(overdue.stderr).toMatch(/^ldm: warning: x+: the records of runs in \S+ cannot be read: .*\n$/);
});

it.each([
  ['a file', (path: string) => writeFileSync(path, ''), 'ENOTDIR'],
  ['a link to itself', (path: string) => symlinkSync(path, path), 'ELOOP'],
])('where %s is in place of the directory of the records, the message says why', async (_, make, reason) => {
  const { records, ldm } = await setRunStage(`${HOME}[profiles.home.run]\nschedule = "daily"\n`);
  const directory = dirname(records().path);
  mkdirSync(dirname(directory), { recursive: true });
  rmSync(directory, { recursive: true, force: true });
  make(directory);
  for (const [args, code] of [
    [['log'], 1],
    [['log', 'home'], 1],
    [['status'], 1],
    [['overdue', 'home'], 2],
    [['run', '-n', 'home'], 1],
    [['schedule', 'list'], 0],
    [['run', 'home'], 0],
  ] as const) {
    const { code: actual, stdout, stderr } = await ldm(...args);
    expect([args, actual, stdout + stderr]).toEqual([args, code, expect.stringContaining(reason)]);
    expect(stdout + stderr).not.toMatch(/internal error|\n +at /);
  }
});

it('log of a name that is no profile is wrong usage, and names those that exist', async () => {
  const { place, ldm } = await setRunStage(`${HOME}[profiles.new]\ninherit = "home"\n`);
  const none = await ldm('log', 'hoem');
  expect([none.code, none.stderr]).toEqual([2, 'ldm: there is no profile hoem\nThe profiles are home, new.\n']);
  await ldm('-q', 'run', 'home');
  expect((await ldm('log', 'new')).stdout).toBe('0 runs\n');
  // Its runs remain when a profile is gone.
  const config = join(place, 'config', 'ldm', 'config.toml');
  writeFileSync(config, '[profiles.other]\n');
  expect((await ldm('log', 'home')).stdout).toMatch(/\n1 run\n$/);
  expect((await ldm('log', 'new')).stderr).toContain('The profiles are home, other.\n');
  rmSync(config);
  expect(await ldm('log', 'home')).toMatchObject({ code: 0 });
  expect(await ldm('log', 'new')).toMatchObject({ code: 2 });
});
