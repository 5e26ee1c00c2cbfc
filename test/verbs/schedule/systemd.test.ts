import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

import { HOME } from '../../support/run-stage.ts';
import { SCHEDULED, setScheduleStage } from '../../support/schedule-stage.ts';

it('a profile gets a service and a timer of the user, which is started', async () => {
  const { ldm, unit, systemctl, place } = await setScheduleStage(SCHEDULED);
  const { code, stdout, stderr } = await ldm('schedule', 'add', '--systemd', 'home');
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^home: Mon\.\.Fri 12:30, by systemd; next run at \d{4}-\d\d-\d\d 12:30:00\n$/),
  ]);
  expect(stderr).toMatch(
    /^ldm: timers of \S+ run only while \S+ is logged in; `loginctl enable-linger` changes that\n$/,
  );
  expect(systemctl()).toEqual(
    ['daemon-reload', 'enable ldm-run-home.timer', 'restart ldm-run-home.timer'].map((words) => `--user ${words}`),
  );
  const timer = readFileSync(unit('ldm-run-home.timer'), 'utf8');
  for (const line of [
    'OnCalendar=Mon,Tue,Wed,Thu,Fri *-*-* 12:30:00',
    'Persistent=true',
    'RandomizedDelaySec=15min',
    'WantedBy=timers.target',
  ])
    expect(timer.split('\n')).toContain(line);
  const service = readFileSync(unit('ldm-run-home.service'), 'utf8').split('\n');
  // With another KillMode, SIGTERM would also end the programs after the run.
  for (const line of [
    'Nice=10',
    'IOSchedulingClass=idle',
    'KillMode=mixed',
    `Environment=HOME=${place}`,
    `Environment=XDG_CONFIG_HOME=${place}/config`,
  ])
    expect(service).toContain(line);
  expect(service).toContain(`ExecStart=${process.execPath} ${process.argv[1]} run -- home`);
});

it('a run is delayed by a twelfth of its time at most', async () => {
  const { ldm, unit } = await setScheduleStage(SCHEDULED.replace('Mon..Fri 12:30', 'hourly'));
  await ldm('schedule', 'add', '--systemd', 'home');
  expect(readFileSync(unit('ldm-run-home.timer'), 'utf8').split('\n')).toContain('RandomizedDelaySec=5min');
});

it('a copy or a link of a unit is the work of somebody else', async () => {
  const { ldm, unit } = await setScheduleStage(SCHEDULED);
  await ldm('schedule', 'add', '--systemd', 'home');
  const [timer, copy] = [unit('ldm-run-home.timer'), unit('ldm-run-copy.timer')];
  copyFileSync(timer, copy);
  const { stdout } = await ldm('schedule', 'list');
  expect(stdout.split('\n').filter((line) => line.startsWith('home '))).toHaveLength(1);
  const text = readFileSync(timer, 'utf8');
  renameSync(timer, `${timer}.mine`);
  symlinkSync(`${timer}.mine`, timer);
  for (const verb of ['add', 'remove']) {
    const { code } = await ldm('schedule', verb, ...(verb === 'add' ? ['--systemd'] : []), 'home');
    expect([verb, code]).toEqual([verb, 1]);
  }
  expect([lstatSync(timer).isSymbolicLink(), readFileSync(copy, 'utf8')]).toEqual([true, text]);
});

it('show prints what add writes, and writes nothing', async () => {
  const { ldm, unit, systemctl, crontab } = await setScheduleStage(SCHEDULED);
  const shown = await ldm('schedule', 'show', '--systemd', 'home');
  const line = await ldm('schedule', 'show', '--cron', 'home');
  expect([systemctl(), crontab.read()]).toEqual([[], '']);
  const json = await ldm('--json', 'schedule', 'show', '--systemd', 'home');
  await ldm('schedule', 'add', '--systemd', 'home');
  const paths = ['service', 'timer'].map((kind) => unit(`ldm-run-home.${kind}`));
  const texts = paths.map((path) => readFileSync(path, 'utf8'));
  expect(shown.stdout).toBe(paths.map((path, index) => `# ${path}\n${texts[index]}\n`).join(''));
  const files = json.stdout
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as object);
  expect(files).toEqual(paths.map((path, index) => ({ message_type: 'schedule_text', path, text: texts[index] })));
  await ldm('schedule', 'add', '--cron', 'home');
  expect(line.stdout).toBe(`# crontab\n${crontab.read()}\n`);
});

it('list says when it ran last and runs next, and whether it is what the profile says', async () => {
  const stage = await setScheduleStage(
    `${SCHEDULED}[profiles.other]\nrun.schedule = "daily"\nbackup.paths = ["@/source"]\n`,
  );
  const { ldm, place, refuse } = stage;
  const rows = async (): Promise<string[]> => (await ldm('schedule', 'list')).stdout.split('\n').slice(1, -1);
  expect(await rows()).toEqual([
    expect.stringMatching(/^home +Mon\.\.Fri 12:30 +- +never +- +not scheduled: see `ldm schedule add`$/),
    expect.stringMatching(/^other +daily +- +never +- +not scheduled/),
  ]);
  await ldm('schedule', 'add', '--systemd', 'home');
  expect(await ldm('run', 'home')).toMatchObject({ code: 0 });
  expect((await rows())[0]).toMatch(/^home +Mon\.\.Fri 12:30 +systemd +2\d{3}-.* success +2\d{3}-.* 12:30:00 +active$/);
  refuse('is-active');
  expect((await rows())[0]).toMatch(/success +- +not active$/);
  const config = join(place, 'config', 'ldm', 'config.toml');
  writeFileSync(config, readFileSync(config, 'utf8').replace('Mon..Fri 12:30', 'hourly'));
  expect((await rows())[0]).toMatch(/^home +Mon\.\.Fri 12:30 +systemd .* differs from the profile/);
  writeFileSync(config, readFileSync(config, 'utf8').replace('schedule = "hourly"', ''));
  expect((await rows())[0]).toMatch(/the profile has no schedule: see `ldm schedule remove`$/);
  const json = await ldm('--json', 'schedule', 'list');
  expect(JSON.parse(json.stdout.split('\n')[0]!)).toMatchObject({
    profile: 'home',
    by: 'systemd',
    state: 'orphaned',
    last_result: 'success',
  });
});

it('remove removes the units, also of a profile that is gone, and refuses what is not scheduled', async () => {
  const { ldm, place, unit, systemctl } = await setScheduleStage(SCHEDULED);
  await ldm('schedule', 'add', '--systemd', 'home');
  writeFileSync(join(place, 'config', 'ldm', 'config.toml'), '');
  systemctl();
  expect(await ldm('schedule', 'remove', 'home')).toMatchObject({
    code: 0,
    stdout: 'home: no longer started by systemd\n',
  });
  expect(systemctl()).toEqual(
    expect.arrayContaining(['--user disable --now ldm-run-home.timer', '--user daemon-reload']),
  );
  expect(readdirSync(dirname(unit('x')))).toEqual([]);
  const { code, stderr } = await ldm('schedule', 'remove', 'home');
  expect([code, stderr]).toEqual([1, 'ldm: the profile home is not scheduled\n']);
  expect(await ldm('schedule', 'remove', '--all')).toMatchObject({ code: 0, stdout: 'nothing was scheduled\n' });
});

it.each<[string, (path: string) => void, string]>([
  ['that it did not write', (path) => writeFileSync(path, '[Service]\n'), 'was not written by ldm'],
  [
    'that links to another one',
    (path) => {
      writeFileSync(`${path}.mine`, '[Service]\n');
      symlinkSync(`${path}.mine`, path);
    },
    'was not written by ldm',
  ],
])('neither add nor remove touches a unit %s', async (_, make, problem) => {
  const { ldm, unit, systemctl } = await setScheduleStage(SCHEDULED);
  const path = unit('ldm-run-home.service');
  mkdirSync(dirname(path), { recursive: true });
  make(path);
  const { code, stderr } = await ldm('schedule', 'add', '--systemd', 'home');
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${path} ${problem}`)]);
  expect(readFileSync(path, 'utf8')).toBe('[Service]\n');
  expect(readdirSync(dirname(path))).not.toContain('ldm-run-home.timer');
  expect(systemctl()).toEqual([]);
});

it('neither add nor remove touches a unit that somebody has changed', async () => {
  const { ldm, unit, systemctl } = await setScheduleStage(SCHEDULED);
  await ldm('schedule', 'add', '--systemd', 'home');
  const path = unit('ldm-run-home.timer');
  const edited = readFileSync(path, 'utf8').replace('12:30:00', '13:00:00');
  writeFileSync(path, edited);
  systemctl();
  for (const verb of ['add', 'remove'] as const) {
    const { code, stderr } = await ldm('schedule', verb, ...(verb === 'add' ? ['--systemd'] : []), 'home');
    expect([code, stderr], verb).toEqual([1, expect.stringContaining('was changed after ldm had written it')]);
  }
  expect((await ldm('schedule', 'list')).stdout).toContain('changed by hand');
  expect(readFileSync(path, 'utf8')).toBe(edited);
  expect(systemctl().filter((words) => !words.includes('is-active'))).toEqual([]);
});

it('what systemd refuses is undone', async () => {
  const { ldm, place, unit, refuse } = await setScheduleStage(SCHEDULED);
  refuse('restart');
  const { code, stderr } = await ldm('schedule', 'add', '--systemd', 'home');
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('ldm: systemctl restart ldm-run-home.timer failed: Refused.'),
  ]);
  expect(readdirSync(dirname(unit('x')))).toEqual([]);
  refuse('nothing');
  await ldm('schedule', 'add', '--systemd', 'home');
  const before = readFileSync(unit('ldm-run-home.timer'), 'utf8');
  const config = join(place, 'config', 'ldm', 'config.toml');
  writeFileSync(config, readFileSync(config, 'utf8').replace('Mon..Fri 12:30', 'hourly'));
  refuse('daemon-reload');
  expect(await ldm('schedule', 'add', '--systemd', 'home')).toMatchObject({ code: 1 });
  expect(readFileSync(unit('ldm-run-home.timer'), 'utf8')).toBe(before);
});

it('without systemctl the error says so', async () => {
  const { ldm } = await setScheduleStage(SCHEDULED, ['systemctl']);
  const { code, stderr } = await ldm('schedule', 'add', '--systemd', 'home');
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('systemctl daemon-reload failed: it cannot be started\n'),
  ]);
});

it('a profile without a schedule is an error, and with --all left out', async () => {
  const { ldm, systemctl } = await setScheduleStage(
    `${HOME}[profiles.work]\nrepo = "@/repository"\nbackup.paths = ["@/source"]\n`,
  );
  const one = await ldm('schedule', 'add', '--systemd', 'home');
  expect([one.code, one.stderr]).toEqual([
    2,
    'ldm: the profile home has no schedule\nAdd a line such as `schedule = "daily"` to [profiles.home.run].\n',
  ]);
  const all = await ldm('schedule', 'add', '--systemd', '--all');
  expect([all.code, all.stderr]).toEqual([2, expect.stringContaining('ldm: no profile has a schedule\n')]);
  expect(systemctl()).toEqual([]);
});

it('a job that moves from cron to systemd does not run twice', async () => {
  const { ldm, crontab, unit } = await setScheduleStage(SCHEDULED);
  await ldm('schedule', 'add', '--cron', 'home');
  expect(crontab.read()).toContain('run -- home');
  await ldm('schedule', 'add', '--systemd', 'home');
  expect(crontab.read()).toBe('');
  await ldm('schedule', 'add', '--cron', 'home');
  expect(readdirSync(dirname(unit('x')))).toEqual([]);
});

it('the password of a file is a credential, and other settings of the environment are named', async () => {
  const { withEnv, place, unit } = await setScheduleStage(SCHEDULED.replace('no-encryption = true', ''));
  const file = join(place, 'pass word%');
  writeFileSync(file, 'secret');
  const env = { LDM_PASSWORD_FILE: file, LDM_REPOSITORY: join(place, 'other') };
  const { code, stderr } = await withEnv(env, 'schedule', 'add', '--systemd', 'home');
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('ldm: warning: scheduled runs do not get LDM_REPOSITORY: put it into the profile\n'),
  ]);
  expect(stderr).not.toContain('LDM_PASSWORD_FILE');
  expect(readFileSync(unit('ldm-run-home.service'), 'utf8')).toContain(
    `\nLoadCredential=ldm-password:${place}/pass word%%\n`,
  );
});
