import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import type { RunRecord } from '../../../src/console/jobs/run-records.ts';
import { HOME, type RunStage, setRunStage } from '../../support/run-stage.ts';

const HOUR_MS = 3_600_000;
const ago = (hours: number): string => new Date(Date.now() - hours * HOUR_MS).toISOString();
const SCHEDULED = `${HOME}[profiles.home.run]\nschedule = "daily"\n`;

/** Records runs of a profile, the oldest first. */
function record(
  { records }: RunStage,
  profile: string,
  ...runs: readonly { readonly hours: number; readonly result: RunRecord['result']; readonly message?: string }[]
): void {
  for (const [index, { hours, ...run }] of runs.entries()) {
    const store = records(profile);
    store.begin(`${index}`, ago(hours));
    if (run.result !== 'running') store.end({ id: `${index}`, start: ago(hours), exitCode: 0, steps: [], ...run });
  }
}

describe('profiles', () => {
  it.each([
    ['that never ran', [], 1],
    ['with a success in time', [{ hours: 47, result: 'success' }], 0],
    ['with a success that is too old', [{ hours: 49, result: 'success' }], 1],
    ['that saved all but some files', [{ hours: 1, result: 'incomplete' }], 0],
    [
      'that only failed since',
      [
        { hours: 49, result: 'success' },
        { hours: 1, result: 'failed' },
      ],
      1,
    ],
    [
      'that failed once since',
      [
        { hours: 25, result: 'success' },
        { hours: 1, result: 'failed' },
      ],
      0,
    ],
    [
      'that were only skipped',
      [
        { hours: 49, result: 'success' },
        { hours: 1, result: 'skipped' },
      ],
      1,
    ],
    [
      'of which a run is under way',
      [
        { hours: 49, result: 'success' },
        { hours: 1, result: 'running' },
      ],
      1,
    ],
    ['with a success in the future', [{ hours: -48, result: 'success' }], 1],
  ] as const)('%s', async (_, runs, expected) => {
    const stage = await setRunStage(SCHEDULED);
    record(stage, 'home', ...runs);
    const { code, stdout, stderr } = await stage.ldm('overdue', 'home');
    expect([code, stderr, stdout]).toEqual([
      expected,
      '',
      expect.stringMatching(expected === 0 ? /\nok +home/ : /\nOVERDUE +home/),
    ]);
  });

  it('have a limit: of the command line, else of their own, else by their schedule', async () => {
    const stage = await setRunStage(`${SCHEDULED}max-age = "3d"\n[profiles.other]\nbackup.paths = ["@/source"]\n`);
    record(
      stage,
      'home',
      { hours: 60, result: 'success' },
      { hours: 2, result: 'failed', message: 'the disk is full' },
    );
    const fine = await stage.ldm('overdue', '--all');
    expect([fine.code, fine.stdout]).toEqual([
      0,
      expect.stringMatching(/ok +home .* 2d 12h +3d +failed: the disk is full\n$/),
    ]);
    expect(await stage.ldm('overdue', '--max-age', '10h', 'home')).toMatchObject({ code: 1 });
    expect(await stage.ldm('-q', 'overdue', '--all')).toMatchObject({ code: 0, stdout: '' });
    expect((await stage.ldm('-q', 'overdue', '--max-age', '10h', 'home')).stdout).toContain('OVERDUE');
    const json = await stage.ldm('--json', 'overdue', 'home');
    expect(JSON.parse(json.stdout)).toMatchObject({ profile: 'home', overdue: false, max_age: 259_200 });
    const other = await stage.ldm('overdue', 'other');
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringContaining('the profile other has neither a schedule nor'),
    ]);
  });

  it.each([
    ['Mon..Fri 12:00', 6],
    ['Mon,Thu 03:30', 8],
    ['Sat 03:30', 14],
    ['hourly', 2 / 24],
    ['monthly', 62],
  ])('with the schedule %s are overdue after twice its longest time, %d days', async (schedule, days) => {
    for (const [hours, expected] of [
      [days * 24 - 1, 0],
      [days * 24 + 1, 1],
    ] as const) {
      const stage = await setRunStage(SCHEDULED.replace('daily', schedule));
      record(stage, 'home', { hours, result: 'success' });
      expect(await stage.ldm('overdue', 'home')).toMatchObject({ code: expected });
    }
  });

  it('none of which has a schedule are no answer to --all', async () => {
    const { ldm } = await setRunStage(HOME);
    const { code, stderr } = await ldm('overdue', '--all');
    expect([code, stderr]).toEqual([2, expect.stringContaining('no profile has a schedule or a max-age')]);
  });

  it('whose records cannot be read are an error, which is no answer', async () => {
    const stage = await setRunStage(SCHEDULED);
    const { path } = stage.records();
    mkdirSync(path, { recursive: true });
    const { code, stderr } = await stage.ldm('overdue', 'home');
    expect([code, stderr]).toEqual([2, expect.stringContaining('home: the records of runs in ')]);
    rmSync(path, { recursive: true });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'damaged\n');
    const damaged = await stage.ldm('overdue', 'home');
    expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining(`${path}:1: this line is damaged`)]);
    expect((await stage.ldm('overdue', '--host', 'x', 'home')).code).toBe(2);
    expect((await stage.ldm('overdue', 'nothing')).code).toBe(2);
  });
});

describe('snapshots in a repository', () => {
  const setRepository = async (...backups: readonly (readonly [host: string, hours: number])[]): Promise<RunStage> => {
    const stage = await setRunStage(HOME);
    for (const [host, hours] of backups) {
      await stage.ldm('-p', 'home', 'backup', '--host', host, '--time', ago(hours), join(stage.place, 'source'));
    }
    return stage;
  };

  it('are overdue by group', async () => {
    const { ldm } = await setRepository(['a', 40], ['b', 30], ['a', 1]);
    const { code, stdout } = await ldm('-p', 'home', 'overdue');
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/\nok +\S+ \S+ +1h +a +\S+source\nOVERDUE +\S+ \S+ +30h +b /),
    ]);
    expect(await ldm('-p', 'home', 'overdue', '--max-age', '31h')).toMatchObject({ code: 0 });
    expect(await ldm('-p', 'home', 'overdue', '--by', 'path')).toMatchObject({ code: 0 });
    expect(await ldm('-p', 'home', 'overdue', '--host', 'b')).toMatchObject({ code: 1 });
    expect(await ldm('-p', 'home', 'overdue', '--host', 'a')).toMatchObject({ code: 0 });
    expect(await ldm('-q', '-p', 'home', 'overdue', '--by', 'path')).toMatchObject({ code: 0, stdout: '' });
    expect(await ldm('-q', '-p', 'home', 'overdue')).toMatchObject({ code: 1, stdout });
    const json = await ldm('-p', 'home', '--json', 'overdue', '--by', 'host');
    const rows = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { overdue: boolean });
    expect(rows.map(({ overdue }) => overdue)).toEqual([false, true]);
  });

  it('that are missing, damaged or dated in the future are not taken for recent ones', async () => {
    const { ldm, place } = await setRepository();
    const none = await ldm('-p', 'home', 'overdue');
    expect([none.code, none.stdout]).toEqual([1, 'there are no snapshots\n']);
    await ldm('-p', 'home', 'backup', '--time', ago(-48), join(place, 'source'));
    const future = await ldm('-p', 'home', 'overdue');
    expect([future.code, future.stdout]).toEqual([1, expect.stringContaining('in the future')]);
    await ldm('-p', 'home', 'backup', join(place, 'source'));
    expect((await ldm('-p', 'home', 'overdue')).code).toBe(0);
    for (const folder of ['snapshots', 'manifests.bak']) {
      const [name] = readdirSync(join(place, 'repository', folder)).sort();
      writeFileSync(join(place, 'repository', folder, name!), 'damaged');
    }
    expect((await ldm('-p', 'home', 'overdue')).code).toBe(4);
    expect((await ldm('-r', join(place, 'nowhere'), 'overdue')).code).toBe(10);
    expect(
      (await ldm('-r', join(place, 'repository'), '--password-file', join(place, 'none'), 'overdue')).code,
    ).toBeGreaterThan(1);
    // An error that has no code of its own elsewhere.
    for (const name of ['config', 'config.bak']) writeFileSync(join(place, 'repository', name), '{}');
    expect((await ldm('-p', 'home', 'overdue')).code).toBe(2);
  });
});
