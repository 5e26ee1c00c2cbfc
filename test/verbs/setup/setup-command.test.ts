import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';

import { mountPointOf } from '../../../src/console/jobs/mount-points.ts';
import { setSetupStage } from '../../support/setup-stage.ts';
import type { SetupStage } from '../../support/setup-stage.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { hasTerminal } from '../../support/terminal-conversation.ts';

const EARLIER = `# Mine.
[profiles.other]   # do not touch
repo = "/mnt/other"
backup.paths = ["/etc"]`;

const PASSWORD = 'correct horse';
const PASSWORD_FILE = '.config/ldm/home.password';

/** The answers about a new profile `home` and a new repository. */
const NEW = [
  ['Name of the profile', 'home\n'],
  ['What to back up', '~/documents "my photos"\n'],
  ['Where to', 'repository\n'],
  ['1 or 2', '\n'],
  ['New password', `${PASSWORD}\r`],
  ['Type it again', `${PASSWORD}\r`],
  ['How often', 'Mon..Fri 12:30\n'],
  ['Install that', 'y\n'],
] as const;

/** What a failed setup has left: everything but the timer and the snapshot. */
async function failedSetup(stage: SetupStage): Promise<string> {
  writeFileSync(stage.at('broken'), '');
  const { shown, code } = await stage.setUp([...NEW, ['Run them', 'y\n']]);
  expect(code).toBe(1);
  rmSync(stage.at('broken'));
  return shown;
}

async function snapshotsOf({ ldm }: SetupStage, profile: string): Promise<readonly { readonly paths: string[] }[]> {
  const { stdout } = await ldm('-p', profile, '--json', 'snapshots');
  return stdout
    .split('\n')
    .filter((line) => line.includes('"snapshot"'))
    .map((line) => JSON.parse(line) as { readonly paths: string[] });
}

describe('on a terminal', () => {
  beforeEach(({ skip }) => skip(!hasTerminal, 'script (of util-linux) is not installed'));

  it('asks everything, shows all commands, and then does what they do', async () => {
    const stage = setSetupStage();
    stage.config.write(EARLIER);
    const { shown, code } = await stage.setUp([...NEW, ['Run them', 'y\n']]);
    expect(code, shown).toBe(0);
    const commands = [
      `(umask 077; cat > ~/${PASSWORD_FILE})`,
      'ldm config edit',
      'ldm -p home init',
      'ldm schedule add home',
      'ldm run home',
    ];
    const [before, after] = shown.split('Run them') as [string, string];
    for (const command of commands) expect(before).toContain(`  ${command}    # `);
    const done = [...after.matchAll(/^\$ (.*?)\r?$/gm)].map(([, command]) => command);
    expect(done).toEqual(commands);
    expect(shown).not.toContain(PASSWORD);
    expect(shown).toContain('ldm -p home key export | lp');
    // The next command runs by itself.
    expect(shown).not.toContain('next: ');
    // Nothing of the file was changed.
    expect(stage.config.read()).toBe(`${EARLIER}

[profiles.home]
repo = "~/repository"
password-file = "~/${PASSWORD_FILE}"

[profiles.home.backup]
paths = ["~/documents", "${stage.at('my photos')}"]

[profiles.home.run]
schedule = "Mon..Fri 12:30"
`);
    expect((await stage.ldm('config', 'check')).code).toBe(0);
    expect(statSync(stage.at(PASSWORD_FILE)).mode & 0o777).toBe(0o600);
    expect(readFileSync(stage.at(PASSWORD_FILE), 'utf8')).toBe(`${PASSWORD}\n`);
    const [snapshot, ...more] = await snapshotsOf(stage, 'home');
    expect(snapshot!.paths).toEqual([stage.at('documents'), stage.at('my photos')]);
    expect(more).toEqual([]);
    expect(shown).toMatch(/home: Mon\.\.Fri 12:30, by (cron|systemd); next run at/);
  });

  it.each([
    ['the first question', 1],
    ['the new password', 5],
    ['the last question', NEW.length],
  ])('Ctrl+C at %s changes nothing', async (_, count) => {
    const stage = setSetupStage();
    const names = stage.names();
    const answers = [...NEW, ['Run them', '']] as const;
    const asked = answers[count < NEW.length ? count - 1 : NEW.length]!;
    const { shown, code } = await stage.setUp([
      ...answers.slice(0, count < NEW.length ? count - 1 : NEW.length),
      [asked[0], '\u0003'],
    ]);
    expect(code, shown).toBe(130);
    expect(shown).toMatch(/^ldm: nothing was changed\r?$/m);
    expect(shown).not.toContain('press Ctrl+C again');
    expect(stage.names()).toEqual(names);
  });

  it('changes nothing if the commands are not wanted, and asks again for what is wrong', async () => {
    const stage = setSetupStage();
    mkdirSync(stage.at('full'));
    writeFileSync(stage.at('full', 'file'), '');
    stage.config.write(EARLIER);
    const names = stage.names();
    const { shown, code } = await stage.setUp([
      ['Name of the profile', 'no name\n'],
      ['only letters', 'other\n'],
      ['Go on with it?', 'n\n'],
      ['Name of the profile', 'home\n'],
      ['What to back up', 'absent\n'],
      ['absent does not exist', 'documents\n'],
      ['Where to', 'ftp://host/path\n'],
      ['is not supported', 'full\n'],
      ['is not empty', 'missing/repository\n'],
      ['Is that right?', 'n\n'],
      ['Where to', 'repository\n'],
      ['1 or 2', '2\n'],
      ['The command', 'false\n'],
      ['failed with exit code 1', `printf '${PASSWORD}'\n`],
      ['How often', 'sometimes\n'],
      ['is not a time', 'never\n'],
      ['Run them', 'n\n'],
    ]);
    expect(code, shown).toBe(0);
    expect(shown).toContain(`password-command = "printf '${PASSWORD}'"`);
    expect(shown).not.toContain('schedule add');
    expect(stage.names()).toEqual(names);
    expect(stage.config.read()).toBe(EARLIER);
  });

  it('says what is done and what is not if a command fails, and goes on with that', async () => {
    const stage = setSetupStage();
    const failed = await failedSetup(stage);
    expect(failed).toMatch(
      /ldm schedule add home has failed\r?\n(done {6}.*\r?\n){3}(not done {2}.*\r?\n){2}Run `ldm setup`/,
    );
    expect(failed).toContain('done      ldm -p home init');
    expect(failed).toContain('not done  ldm schedule add home');
    const config = stage.config.read();
    expect(await snapshotsOf(stage, 'home')).toEqual([]);
    const { shown, code } = await stage.setUp([
      ['Name of the profile', 'home\n'],
      ['Go on with it?', 'y\n'],
      ['Install that', 'y\n'],
      ['Run them', 'y\n'],
    ]);
    expect(code, shown).toBe(0);
    expect(shown.match(/^\$ .*(?=\r)/gm)).toEqual(['$ ldm schedule add home', '$ ldm run home']);
    expect(stage.config.read()).toBe(config);
    expect(await snapshotsOf(stage, 'home')).toHaveLength(1);
  });

  it('uses a repository that is there, whose password it asks for', async () => {
    const stage = setSetupStage();
    writeFileSync(stage.at('secret'), PASSWORD, { mode: 0o600 });
    const created = await stage.ldm('-r', stage.at('repository'), '--password-file', stage.at('secret'), 'init');
    expect(created.code).toBe(0);
    const { shown, code } = await stage.setUp([
      ['Name of the profile', '\n'],
      ['What to back up', 'documents\n'],
      ['Where to', 'repository\n'],
      ['There is a repository already', ''],
      ['1 or 2', '1\n'],
      ['Password of the repository', 'wrong\r'],
      ['wrong password', `${PASSWORD}\r`],
      ['How often', 'never\n'],
      ['Run them', 'y\n'],
    ]);
    expect(code, shown).toBe(0);
    expect(shown).not.toContain('init');
    expect(readFileSync(stage.at('.config/ldm/default.password'), 'utf8')).toBe(`${PASSWORD}\n`);
    expect(await snapshotsOf(stage, 'default')).toHaveLength(1);
  });

  it('refuses a file that is wrong, and variables that would win over the profile', async () => {
    const stage = setSetupStage();
    const set = await stage.setUp([], { LDM_REPOSITORY: stage.at('elsewhere') });
    expect(set.code).toBe(2);
    expect(set.shown).toContain('LDM_REPOSITORY is set');
    stage.config.write('[profiles.a]\nrepoo = "/mnt"\n');
    const wrong = await stage.setUp([]);
    expect(wrong.code).toBe(2);
    expect(wrong.shown).toMatch(/config\.toml:2: \[profiles\.a\] repoo is /);
  });

  it('asks whether runs are skipped without the disk of the repository', async () => {
    const stage = setSetupStage();
    const home = temporaryDirectory();
    const disk = mountPointOf(stage.home);
    expect([mountPointOf(home), '/']).not.toContain(disk);
    const answers: (readonly [string, string])[] = NEW.map(([question, answer]) =>
      question === 'Where to'
        ? ([question, `${stage.at('repository')}\n`] as const)
        : question === 'What to back up'
          ? ([question, `${stage.at('documents')}\n`] as const)
          : ([question, answer] as const),
    );
    answers.splice(3, 0, [`on the disk at ${disk}. Skip runs`, '\n']);
    const { shown, code } = await stage.setUp([...answers, ['Run them', 'n\n']], { HOME: home });
    expect(code, shown).toBe(0);
    expect(shown).toContain(`only-if = ["mounted:${disk}"]`);
  });

  it('adds no profile that would contradict what all profiles inherit', async () => {
    const stage = setSetupStage();
    stage.config.write('[defaults]\npassword-command = "echo secret"\n');
    const names = stage.names();
    const { shown, code } = await stage.setUp(NEW);
    expect(code, shown).toBe(2);
    expect(shown).toContain('[profiles.home] password-file cannot be combined with password-command');
    expect(stage.names()).toEqual(names);
  });
});

it('without a terminal, it explains the configuration file with an example that is right', async () => {
  const stage = setSetupStage();
  const { stdout, stderr, code } = await stage.ldm('setup');
  expect(code).toBe(2);
  expect(stderr).toContain('setup asks questions, and there is no terminal to ask on');
  stage.config.write(stdout);
  const checked = await stage.ldm('config', 'check');
  expect([checked.code, checked.stdout]).toEqual([0, `${stage.config.path}: 1 profile, 0 faults\n`]);
  const planned = await stage.ldm('run', '-n');
  expect(planned.stdout).toContain('ldm -p default backup');
});

it('has no JSON, and takes no options that belong in the profile', async () => {
  const { ldm } = setSetupStage();
  const asJson = await ldm('--json', 'setup');
  expect([asJson.code, asJson.stdout]).toEqual([2, '']);
  expect(JSON.parse(asJson.stderr)).toMatchObject({ message_type: 'exit_error', code: 2 });
  const misplaced = await ldm('--no-cache', 'setup');
  expect([misplaced.code, misplaced.stdout]).toEqual([2, '']);
  expect(misplaced.stderr).toContain('--no-cache cannot be used with setup');
});
