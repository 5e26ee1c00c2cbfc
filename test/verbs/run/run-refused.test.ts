import { expect, it } from 'vitest';

import { HOME, setRunStage } from '../../support/run-stage.ts';

const THREE = `${HOME}
[profiles.wrong]
inherit = "home"
lock-wait = "soon"
run.succeeded = [note(wrong)]
[profiles.last]
inherit = "home"
run.succeeded = [note(last)]
[profiles.empty]
[groups]
nightly = ["home", "wrong", "last", "gone", "empty"]
`;

it.each([[['--all']], [['home', 'wrong', 'last']]])(
  'a profile with a fault is refused, and the others of %j run',
  async (args) => {
    const { ldm, runs, log } = await setRunStage(THREE);
    const { code, stderr } = await ldm('-q', 'run', ...args);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^ldm: wrong: failed: \S+config\.toml:11: \[profiles\.wrong\] lock-wait /),
    ]);
    expect(['home', 'wrong', 'last'].map((name) => runs(name).map(({ result }) => result))).toEqual([
      ['success'],
      ['failed'],
      ['success'],
    ]);
    expect([runs('wrong')[0], log()]).toMatchObject([{ exitCode: 2, steps: [] }, ['last']]);
  },
);

it('a group may name profiles that do not exist or have nothing to run', async () => {
  const { ldm, runs } = await setRunStage(THREE);
  const { code, stderr } = await ldm('-q', 'run', 'nightly');
  expect(code).toBe(2);
  for (const problem of [
    'wrong: failed: ',
    'gone: failed: there is no',
    'empty: failed: the profile empty has nothing',
  ]) {
    expect(stderr).toContain(`ldm: ${problem}`);
  }
  expect([runs('home'), runs('last')]).toMatchObject([[{ result: 'success' }], [{ result: 'success' }]]);
});

it('the exit code is the worst one, and the plan names what is refused', async () => {
  const { ldm } = await setRunStage(`${THREE}[profiles.bad]\ninherit = "home"\nrun.before = [["false"]]\n`);
  expect((await ldm('-q', 'run', 'wrong', 'bad')).code).toBe(1);
  const { code, stdout, stderr } = await ldm('run', '-n', 'wrong', 'home');
  expect([code, stdout, stderr]).toEqual([
    2,
    expect.stringContaining('ldm -p home backup'),
    expect.stringContaining('wrong: '),
  ]);
});

it('if all are refused, nothing runs, and the first fault is the error', async () => {
  const { ldm, runs } = await setRunStage(THREE);
  const { code, stderr } = await ldm('run', 'wrong');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^ldm: \S+config\.toml:11: /)]);
  expect(runs('wrong')).toEqual([]);
});

it('overdue and schedule list go on after a profile with a fault', async () => {
  const { ldm } = await setRunStage(`${THREE}[profiles.home.run]\nschedule = "daily"\n`);
  await ldm('-q', 'run', 'home');
  const overdue = await ldm('overdue', '--all');
  expect(overdue).toMatchObject({ code: 2, stdout: expect.stringMatching(/^ok +home /m) });
  expect(overdue.stderr).toContain('wrong: ');
  const list = await ldm('schedule', 'list');
  expect(list).toMatchObject({ code: 0, stdout: expect.stringMatching(/^home +daily .*not scheduled/m) });
  expect(list.stderr).toContain('wrong: ');
});

it('with --json, the summary of each step names its profile and the step', async () => {
  const { ldm } = await setRunStage(
    `${HOME}[profiles.home.forget]\nkeep-last = 1\n[profiles.home.check]\nread-data = true\n`,
  );
  const { stdout } = await ldm('run', '--json', 'home');
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const summaries = lines.filter((line) => line['message_type'] === 'summary');
  expect(summaries.map(({ profile, step }) => [profile, step])).toEqual(
    ['backup', 'forget', 'check'].map((step) => ['home', step]),
  );
  expect(lines.at(-1)).toMatchObject({ message_type: 'run', profile: 'home' });
  const alone = await ldm('-p', 'home', '--json', 'backup');
  expect(alone.stdout).not.toContain('"step"');
});
