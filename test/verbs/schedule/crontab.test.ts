import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { SCHEDULED, setScheduleStage } from '../../support/schedule-stage.ts';

/** What cron gives to the shell: the rest of the line up to a `%` without a backslash. */
function commandOf(line: string): string {
  const command = line.split(' ').slice(5).join(' ');
  return command.replace(/(?<!\\)%[^]*/, '').replaceAll(String.raw`\%`, '%');
}

const lineIn = (crontab: string): string =>
  Buffer.from(
    crontab.split('\n').find((line) => / run -- /.test(line))!,
    'latin1',
  ).toString();

it('the lines of others stay as they are, byte for byte', async () => {
  const { ldm, crontab } = await setScheduleStage(SCHEDULED);
  const others = 'MAILTO=me\n\n# caf\xe9\n0 1 * * *  true %stdin\n';
  crontab.write(others);
  expect(await ldm('schedule', 'add', '--cron', 'home')).toMatchObject({ code: 0, stderr: '' });
  const [, block] = crontab.read().split(others);
  expect(block).toMatch(
    /^# BEGIN ldm-schedule \{.*\}\n30 12 \* \* 1,2,3,4,5 PATH=.* run -- home\n# END ldm-schedule\n$/,
  );
  crontab.write(`${crontab.read()}# after\n`);
  expect((await ldm('schedule', 'list')).stdout).toMatch(/home +Mon\.\.Fri 12:30 +cron .* 12:30:00 +active\n/);
  await ldm('schedule', 'add', '--cron', 'home');
  expect(crontab.read()).toBe(`${others}# after\n${block}`);
  await ldm('schedule', 'remove', 'home');
  expect(crontab.read()).toBe(`${others}# after\n`);
});

it('a last line without an end is not continued', async () => {
  const { ldm, crontab } = await setScheduleStage(SCHEDULED);
  crontab.write('0 1 * * * true');
  await ldm('schedule', 'add', '--cron', 'home');
  expect(crontab.read()).toMatch(/^0 1 \* \* \* true\n# BEGIN/);
});

it.each([
  ['was changed by hand', (text: string) => text.replace('30 12', '0 13'), 'were changed after ldm had written them'],
  ['has lost its end', (text: string) => text.replace('# END ldm-schedule\n', ''), 'nothing ends them'],
])('a block that %s is left alone', async (_, change, problem) => {
  const { ldm, crontab } = await setScheduleStage(SCHEDULED);
  await ldm('schedule', 'add', '--cron', 'home');
  const changed = `${change(crontab.read())}0 1 * * * true\n`;
  crontab.write(changed);
  const added = await ldm('schedule', 'add', '--cron', 'home');
  expect([added.code, added.stderr]).toEqual([1, expect.stringContaining(problem)]);
  expect((await ldm('schedule', 'remove', 'home')).code).toBe(1);
  expect(crontab.read()).toBe(changed);
});

it('a crontab that cannot be read is not replaced', async () => {
  const { ldm, crontab, place } = await setScheduleStage(SCHEDULED);
  writeFileSync(
    join(place, 'bin', 'crontab'),
    '#!/bin/sh\necho "You (me) are not allowed to use this program" >&2\nexit 1\n',
  );
  const { code, stderr } = await ldm('schedule', 'add', '--cron', 'home');
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('ldm: the crontab cannot be read: You (me) are not allowed'),
  ]);
  const listed = await ldm('schedule', 'list');
  expect([listed.code, listed.stderr]).toEqual([
    0,
    expect.stringContaining('ldm: warning: the crontab cannot be read'),
  ]);
  expect(crontab.read()).toBe('');
});

it('without the program crontab the error says so, and remove and list do without', async () => {
  const { ldm } = await setScheduleStage(SCHEDULED, ['crontab']);
  const { code, stderr } = await ldm('schedule', 'add', '--cron', 'home');
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('the crontab cannot be read: there is no program crontab'),
  ]);
  expect(await ldm('schedule', 'list')).toMatchObject({ code: 0, stderr: '' });
  expect(await ldm('schedule', 'remove', '--all')).toMatchObject({ code: 0, stderr: '' });
});

const ODD = [
  ['blanks and percent signs', 'my 100% new files'],
  ['quotes', `it's "mine"`],
  ['what shells expand', '$HOME `id` $(id) \\n *'],
  ['letters of others', 'größe 日本'],
] as const;

it.each(ODD)('the shell of cron gets a path and a profile with %s as they are', async (_, name) => {
  const { withEnv, crontab, place } = await setScheduleStage(
    SCHEDULED.replaceAll('profiles.home', () => `profiles.${JSON.stringify(name)}`),
  );
  const directory = join(place, name);
  mkdirSync(join(directory, 'ldm'), { recursive: true });
  writeFileSync(join(directory, 'ldm', 'config.toml'), readFileSync(join(place, 'config', 'ldm', 'config.toml')));
  const added = await withEnv({ XDG_CONFIG_HOME: directory }, 'schedule', 'add', '--cron', name);
  expect(added).toMatchObject({ code: 0, stderr: '' });
  // Instead of Node, a program that prints its words.
  const node = join(place, 'bin', 'node');
  writeFileSync(node, '#!/bin/sh\nprintf "%s\\n" "$XDG_CONFIG_HOME" "$@"\n');
  chmodSync(node, 0o755);
  const line = lineIn(crontab.read()).replace(process.execPath, node);
  for (const command of [commandOf(line), line.split(' ').slice(5).join(' ')]) {
    const { stdout } = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8', env: {} });
    expect(stdout.split('\n').slice(0, -1)).toEqual([directory, process.argv[1], '-q', 'run', '--', name]);
  }
  const listed = await withEnv({ XDG_CONFIG_HOME: directory }, 'schedule', 'list');
  expect(listed.stdout).toMatch(/ active\n$/);
});

it('a name that a line cannot contain is an error', async () => {
  const { ldm, crontab } = await setScheduleStage(SCHEDULED.replaceAll('profiles.home', String.raw`profiles."a\nb"`));
  const { code, stderr } = await ldm('schedule', 'add', '--cron', 'a\nb');
  expect([code, stderr]).toEqual([2, expect.stringContaining('ldm: "a\\nb" cannot be scheduled')]);
  expect(crontab.read()).toBe('');
});

it('a pipe with a password is left to the run: it can be read once only', async () => {
  const { withEnv, crontab, place } = await setScheduleStage(SCHEDULED);
  const pipe = join(place, 'pipe');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  const added = await withEnv({ LDM_PASSWORD_FILE: pipe }, 'schedule', 'add', '--cron', 'home');
  expect([added.code, added.stderr]).toEqual([0, expect.stringContaining('LDM_PASSWORD_FILE')]);
  expect(lineIn(crontab.read())).not.toContain('LDM_PASSWORD_FILE');
});

it('a line that cron would cut is an error', async () => {
  const { withEnv, crontab } = await setScheduleStage(SCHEDULED);
  const added = await withEnv({ XDG_CACHE_HOME: `/${'x'.repeat(1000)}` }, 'schedule', 'add', '--cron', 'home');
  expect([added.code, added.stderr]).toEqual([2, expect.stringContaining('would be longer than 998 bytes')]);
  expect(crontab.read()).toBe('');
  await withEnv({ XDG_CACHE_HOME: `/${'x'.repeat(300)}` }, 'schedule', 'add', '--cron', 'home');
  expect(lineIn(crontab.read())).toContain('x'.repeat(300));
});

it('the file with the password that the environment names is the one of the runs, unless the profile has one', async () => {
  const { withEnv, crontab, place } = await setScheduleStage(SCHEDULED);
  const file = join(place, 'my password');
  writeFileSync(file, 'secret', { mode: 0o600 });
  await withEnv({ LDM_PASSWORD_FILE: file }, 'schedule', 'add', '--cron', 'home');
  expect(lineIn(crontab.read())).toContain(` LDM_PASSWORD_FILE='${file}' `);
  const config = join(place, 'config', 'ldm', 'config.toml');
  const profile = readFileSync(config, 'utf8').replace('no-encryption = true', `password-file = "${place}/other"`);
  writeFileSync(config, profile);
  await withEnv({ LDM_PASSWORD_FILE: file }, 'schedule', 'add', '--cron', 'home');
  expect(lineIn(crontab.read())).not.toContain('LDM_PASSWORD_FILE');
});
