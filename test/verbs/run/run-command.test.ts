import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { HOME, setRunStage } from '../../support/run-stage.ts';

const HOOKS = `
[profiles.home.run]
before = [note(before)]
after = [note(after {result} {exit_code})]
failed = [note(failed {step}: {message})]
succeeded = [note(succeeded)]
`;

describe('the steps of a run', () => {
  it('are those for which the profile has a table, and do what their commands do', async () => {
    const { ldm, runs, log } = await setRunStage(
      `${HOME}${HOOKS}[profiles.home.forget]\nkeep-last = 1\n[profiles.home.check]\nread-data = true\n`,
    );
    expect(await ldm('run', 'home')).toMatchObject({ code: 0, stderr: '' });
    const { code, stdout } = await ldm('run', 'home');
    expect(code).toBe(0);
    expect(stdout).toMatch(/home: backup\n[^]*saved[^]*home: forget\n[^]*deleted 1 snapshot[^]*home: check\n/);
    expect(stdout).toContain('home: success (exit codes: backup 0, forget 0, check 0) in');
    expect(log()).toEqual(['before', 'after success 0', 'succeeded', 'before', 'after success 0', 'succeeded']);
    expect(runs()).toMatchObject([{ result: 'success', snapshotId: expect.any(String) }, { addedBytes: 0 }]);
  });

  it('say only once what is wrong elsewhere in the configuration file', async () => {
    const { ldm } = await setRunStage(`${HOME}[profiles.home.forget]\nkeep-last = 1\n[groups]\nwrong = ["nosuch"]\n`);
    const { code, stderr } = await ldm('run', 'home');
    expect(code).toBe(0);
    expect(stderr.match(/not used here, but wrong: /g)).toHaveLength(1);
  });

  it('are those of the list, in its order', async () => {
    const { ldm, runs } = await setRunStage(`${HOME}[profiles.home.run]\nsteps = ["check", "backup"]\n`);
    expect(await ldm('run', 'home')).toMatchObject({ code: 0 });
    expect(runs()[0]!.steps.map(({ name }) => name)).toEqual(['check', 'backup']);
  });

  it('leave out a check that was done less than check-every ago, and not one that has found damage', async () => {
    const { place, ldm, runs } = await setRunStage(
      `${HOME}[profiles.home.run]\nsteps = ["backup", "check"]\ncheck-every = "1w"\n`,
    );
    await ldm('run', 'home');
    await ldm('run', 'home');
    expect(runs().map(({ steps }) => steps.length)).toEqual([2, 1]);
    expect((await ldm('run', '-n', 'home')).stdout).toContain('check  (not this time: last checked on ');
    rmSync(join(place, 'state'), { recursive: true });
    rmSync(join(place, 'repository', 'packs'), { recursive: true });
    const config = join(place, 'config', 'ldm', 'config.toml');
    writeFileSync(config, readFileSync(config, 'utf8').replace('"backup", ', ''));
    for (const count of [1, 2]) expect((await ldm('run', 'home')).code, `run ${count}`).not.toBe(0);
    expect(runs().at(-1)!.steps.at(-1)).toMatchObject({ name: 'check', exitCode: 4 });
  });

  it('stop after an error, and tell of it', async () => {
    const { place, ldm, runs, log } = await setRunStage(
      `${HOME}${HOOKS}[profiles.home.forget]\nkeep-last = 1\n[profiles.home.check]\n`,
    );
    rmSync(join(place, 'source'), { recursive: true });
    const { code, stderr } = await ldm('-q', 'run', 'home');
    expect(code).toBe(1);
    expect(stderr).toContain('ldm: home: failed: nothing to back up');
    expect(log()).toEqual([
      'before',
      'after failed 1',
      expect.stringMatching(/^failed backup: nothing to back up: .*source does not exist$/),
    ]);
    expect(runs()).toMatchObject([{ result: 'failed', exitCode: 1, steps: [{ name: 'backup', exitCode: 1 }] }]);
  });

  it('go on after files that could not be read, which is the exit code of the run', async () => {
    const { place, ldm, runs } = await setRunStage(`${HOME}[profiles.home.check]\n`);
    const config = join(place, 'config', 'ldm', 'config.toml');
    writeFileSync(
      config,
      HOME.replace('"@/source"', '"@/source", "@/missing"').replaceAll('@', place) + '[profiles.home.check]\n',
    );
    expect(await ldm('run', 'home')).toMatchObject({ code: 3 });
    expect(runs()).toMatchObject([{ result: 'incomplete', steps: [{ exitCode: 3 }, { name: 'check', exitCode: 0 }] }]);
  });
});

describe('programs of a profile', () => {
  it('that fail before the steps stop the run', async () => {
    const { ldm, runs, log } = await setRunStage(
      `${HOME}${HOOKS.replace('note(before)', 'note(before), ["false"], note(never)')}`,
    );
    const { code, stderr } = await ldm('run', 'home');
    expect(code).toBe(1);
    expect(stderr).toContain('ldm: warning: home: false: exit code 1');
    expect(log()).toEqual(['before', 'after failed 1', 'failed : false: exit code 1']);
    expect(runs()).toMatchObject([{ result: 'failed', steps: [], message: 'false: exit code 1' }]);
  });

  it('that fail after the steps are reported, and do not hide the exit code of the steps', async () => {
    const { ldm, log } = await setRunStage(
      `${HOME}[profiles.home.run]\nafter = [["nosuchprogram"], ["sh", "-c", "kill -9 $$"], note(after)]\n`,
    );
    const { code, stderr } = await ldm('run', 'home');
    expect(code).toBe(0);
    expect(stderr).toContain('home: nosuchprogram: there is no such program');
    expect(stderr).toContain('it was ended by SIGKILL');
    expect(log()).toEqual(['after']);
  });

  it('that hang are ended, with what they have started', async () => {
    const { ldm } = await setRunStage(
      `${HOME}[profiles.home.run]\nhook-timeout = "300ms"\nafter = [["sh", "-c", "sleep 1000 & sleep 1000"]]\n`,
    );
    const { code, stderr } = await ldm('run', 'home');
    expect(code).toBe(0);
    expect(stderr).toContain('it still ran after 0.3 s');
  });

  it('get no password, and are not given to a shell', async () => {
    const { place, env, ldm, log } = await setRunStage(
      `${HOME}[profiles.home.run]\nafter = [["sh", "-c", 'echo "$LDM_PASSWORD$LDM_MARK $0" >> @/log', "{profile} $(false) {nosuch}"]]\n`,
    );
    Object.assign(env, { LDM_PASSWORD: 'secret', LDM_MARK: 'mark', LDM_NO_ENCRYPTION: '1' });
    await ldm('run', 'home');
    expect([place, ...log()]).toEqual([place, 'mark home $(false) {nosuch}']);
  });
});

describe('several profiles', () => {
  const TWO = `${HOME}[profiles.work]\nrepo = "@/nosuch"\nbackup.paths = ["@/source"]\n[groups]\nnightly = ["work", "home"]\n`;

  it('run one after the other, also after an error, with the worst exit code', async () => {
    const { ldm, runs } = await setRunStage(TWO);
    expect(await ldm('run', 'nightly')).toMatchObject({ code: 10 });
    expect([runs('work'), runs('home')]).toMatchObject([[{ result: 'failed', exitCode: 10 }], [{ result: 'success' }]]);
    expect((await ldm('run', '--all')).code).toBe(10);
    expect((await ldm('run', 'home', 'home')).stdout.match(/home: backup/g)).toHaveLength(1);
  });

  it('may be none that exists', async () => {
    const { ldm } = await setRunStage(`${TWO}[profiles.empty]\n`);
    for (const [args, problem] of [
      [['nosuch'], 'there is no profile nosuch in'],
      [[], 'there is no profile default in'],
      [['empty'], 'the profile empty has nothing to run'],
      [['home', '--all'], 'give either names of profiles or --all'],
      [['-r', '/x', 'home'], '--repo cannot be used with run'],
    ] as const) {
      const { code, stderr } = await ldm('run', ...args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
    }
  });
});

it('a plan is printed, and nothing runs', async () => {
  const { ldm, runs, log } = await setRunStage(`${HOME}${HOOKS}only-if = ["mounted:/", "command:true"]\n`);
  const { stdout } = await ldm('-v', 'run', '-n', 'home');
  expect(stdout).toContain('step     ldm -p home -v backup\n');
  expect(stdout).toContain('only if  mounted:/\n');
  expect(JSON.parse((await ldm('run', '-n', '--json', 'home')).stdout)).toMatchObject({
    only_if: ['mounted:/', 'command:true'],
    steps: [{ command: ['ldm', '-p', 'home', '--json', 'backup'] }],
  });
  expect([runs(), log()]).toEqual([[], []]);
});

it('a run whose condition is not met is skipped, and recorded', async () => {
  const { ldm, runs, log } = await setRunStage(`${HOME}${HOOKS}only-if = ["command:true", "mounted:@/source"]\n`);
  const { code, stdout } = await ldm('run', 'home');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/home: skipped: nothing is mounted at .*source \(/)]);
  expect(runs()).toMatchObject([{ result: 'skipped', steps: [] }]);
  expect(log()).toEqual([]);
});

it('metrics are in the file, for every reader', async () => {
  const { place, ldm } = await setRunStage(
    `${HOME}[profiles.home.check]\n[profiles.home.run]\nmetrics-file = "@/m.prom"\n`,
  );
  await ldm('run', 'home');
  const text = readFileSync(join(place, 'm.prom'), 'utf8');
  expect(statSync(join(place, 'm.prom')).mode & 0o777).toBe(0o644);
  const samples = new Map(
    [...text.matchAll(/^(\w+\{[^}]*\}) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)] as const),
  );
  expect(samples.get('ldm_run_last_exit_code{profile="home"}')).toBe(0);
  expect(samples.get('ldm_backup_files{profile="home",state="new"}')).toBe(1);
  expect(samples.get('ldm_repository_snapshots{profile="home"}')).toBe(1);
  expect(samples.get('ldm_check_last_success_timestamp_seconds{profile="home"}')).toBeCloseTo(Date.now() / 1000, -3);
  for (const name of samples.keys()) expect(text).toContain(`# TYPE ${name.split('{')[0]} gauge\n`);
});

it.each([
  ['cannot be started', '["/etc/passwd/x"]', 'it cannot be started: ENOTDIR'],
  ['does not exist', '["nosuchprogram", "--token=secret"]', 'there is no such program'],
])('a program that %s is reported without its arguments, and the others run', async (_, words, reason) => {
  const { ldm, runs, log } = await setRunStage(
    `${HOME}[profiles.home.run]\nafter = [${words}, note(after)]\nsucceeded = [note(succeeded)]\nhook-timeout = "100w"\n`,
  );
  const { code, stderr } = await ldm('run', 'home');
  expect([code, stderr]).toEqual([0, expect.stringContaining(reason)]);
  expect(stderr).not.toContain('secret');
  expect([runs()[0]!.result, log()]).toEqual(['success', ['after', 'succeeded']]);
});

it('a condition that cannot be judged is a failure, not a reason to skip the run', async () => {
  const { ldm, runs, log } = await setRunStage(`${HOME}${HOOKS}only-if = ["command:nosuchprogram"]\n`);
  expect(await ldm('-q', 'run', 'home')).toMatchObject({ code: 1 });
  expect(runs()).toMatchObject([{ result: 'failed', steps: [], message: 'nosuchprogram: there is no such program' }]);
  expect(log()).toEqual(['after failed 1', expect.stringMatching(/^failed : nosuchprogram/)]);
  const answered = await setRunStage(`${HOME}[profiles.home.run]\nonly-if = ["command:sh -c 'exit 7'"]\n`);
  expect(await answered.ldm('run', 'home')).toMatchObject({ code: 0 });
  expect(answered.runs()).toMatchObject([{ result: 'skipped', message: 'sh: exit code 7' }]);
});

it('a profile that only inherits rules of retention deletes nothing', async () => {
  const { ldm } = await setRunStage(
    `${HOME}[defaults.forget]\nkeep-last = 1\n[profiles.look]\nrepo = "@/repository"\n`,
  );
  for (let count = 0; count < 2; count += 1) await ldm('-p', 'home', 'backup');
  expect((await ldm('run', 'look')).stderr).toContain('the profile look has nothing to run');
  expect((await ldm('run', '--all', '-n')).stdout).not.toContain('look');
  expect((await ldm('-p', 'look', 'snapshots')).stdout).toContain('2 snapshots');
});

it('a path on the command line is saved, and not started as the program of the profile', async () => {
  const { place, ldm, log } = await setRunStage(
    `${HOME.replace('paths = ["@/source"]\n', '')}stdin-name = "db.sql"\nstdin-from-command = ["echo", "dump"]\n`,
  );
  const script = join(place, 'source', 'script');
  writeFileSync(script, `#!/bin/sh\necho started >> ${place}/log\n`, { mode: 0o755 });
  expect(await ldm('-p', 'home', 'backup', script)).toMatchObject({ code: 0 });
  expect(log()).toEqual([]);
  expect((await ldm('-p', 'home', 'cat', `latest:${script}`)).stdout).toContain('#!/bin/sh');
  await ldm('-p', 'home', 'backup');
  expect((await ldm('-p', 'home', 'cat', 'latest:/db.sql')).stdout).toBe('dump\n');
});
