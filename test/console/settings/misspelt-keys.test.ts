import { expect, it } from 'vitest';

import { createProgram } from '../../../src/cli/program.ts';
import { createCommandRunner } from '../../../src/console/command-runner.ts';
import { parseConfig } from '../../../src/console/settings/config-file.ts';
import { findFaults } from '../../../src/console/settings/profile.ts';

it.each([
  ['[profile.home]\nrepo = "/x"', 'unknown table or key "profile". Did you mean profiles?'],
  ['[default]\nrepo = "/x"', 'unknown table or key "default". Did you mean defaults?'],
])('suggests a table for %j', async (toml, expected) => {
  await expect(parseConfig('config.toml', toml)).rejects.toThrow(expected);
});

it.each([
  ['[profiles.a]\ninherits = ["b"]', 'inherits is neither an option nor a command of `ldm`. Did you mean inherit?'],
  [
    '[profiles.a.backup]\nstdin-from-command = "pg_dump app"',
    'stdin-from-command must be a list of the program and its arguments: ["pg_dump", "app"]',
  ],
])('says what is meant by %j', async (toml, expected) => {
  const faults = findFaults(await parseConfig('config.toml', toml), createProgram(createCommandRunner()));
  expect(faults.map(({ error }) => error.message)).toEqual([expect.stringContaining(expected)]);
});

/** The faults of a configuration file, as `config check` prints them. */
async function faultsOf(toml: string): Promise<{ readonly message: string; readonly hint: string | undefined }[]> {
  const faults = findFaults(await parseConfig('config.toml', toml), createProgram(createCommandRunner()));
  return faults.map(({ error: { message, hint } }) => ({ message, hint }));
}

/** Keys of resticprofile, autorestic, borgmatic and rustic, by the table in which they write them here. */
const FOREIGN: readonly (readonly [table: string, key: string, ours: string])[] = [
  ['', 'repository', '`repo` in [profiles.a]'],
  ['', 'repositories', '`repo` in [profiles.a]'],
  ['', 'source', '`paths` in [profiles.a.backup]'],
  ['', 'sources', '`paths` in [profiles.a.backup]'],
  ['', 'source_directories', '`paths` in [profiles.a.backup]'],
  ['', 'exclude_patterns', '`exclude` in [profiles.a.backup]'],
  ['', 'exclude-caches', '`exclude-caches` in [profiles.a.backup]'],
  ['', 'keep_daily', '`keep-daily` in [profiles.a.forget]'],
  ['', 'encryption_passcommand', '`password-command` in [profiles.a]'],
  ['', 'run-before', '`before` in [profiles.a.run]'],
  ['', 'run-after-fail', '`failed` in [profiles.a.run]'],
  ['', 'before_backup', '`before` in [profiles.a.run]'],
  ['', 'only-if', '`only-if` in [profiles.a.run]'],
  ['', 'prometheus-save-to-file', '`metrics-file` in [profiles.a.run]'],
  ['.backup', 'source', '`paths` in [profiles.a.backup]'],
  ['.backup', 'from', '`paths` in [profiles.a.backup]'],
  ['.backup', 'schedule', '`schedule` in [profiles.a.run]'],
  ['.backup', 'run-before', '`before` in [profiles.a.run]'],
  ['.backup', 'stdin-command', '`stdin-from-command` in [profiles.a.backup]'],
  ['.backup', 'priority', '`low-priority` in [profiles.a.backup]'],
  ['.backup', 'label', '`tag` in [profiles.a.backup]'],
  ['.backup', 'description', '`comment` in [profiles.a.backup]'],
  ['.backup', 'lock-wait', '`lock-wait` in [profiles.a]'],
  ['.forget', 'keep-tags', '`keep-tag` in [profiles.a.forget]'],
  ['.copy', 'repository', '`to` in [profiles.a.copy]'],
  ['.copy', 'password-file', '`to-password-file` in [profiles.a.copy]'],
  ['.run', 'send-before', '`ping` in [profiles.a.run]'],
  ['.run', 'cron', '`schedule` in [profiles.a.run]'],
];

it.each(FOREIGN)('[profiles.a%s] %s answers with our key', async (table, key, ours) => {
  const [fault, ...others] = await faultsOf(`[profiles.a${table}]\n${key} = "x"`);
  expect(others).toEqual([]);
  expect(fault!.message).toMatch(
    new RegExp(`^config\\.toml:2: \\[profiles\\.a${table.replace('.', '\\.')}\\] ${key} is `),
  );
  expect(fault!.hint).toBe(`Use ${ours}.`);
  // And that is a key here.
  const [, name, place] = /^`(.*)` in (.*)$/.exec(ours)!;
  const faults = await faultsOf(`${place}\n${name} = 5`);
  expect(faults.filter(({ message }) => /option|not a key/.test(message))).toEqual([]);
});

it.each(['password', 'passphrase', 'encryption_passphrase'])(
  'a %s is refused, and the answer says why',
  async (key) => {
    const secret = 'correct horse';
    for (const toml of [`[profiles.a]\n${key} = "${secret}"`, `[defaults]\n${key} = "${secret}"`]) {
      const [fault] = await faultsOf(toml);
      expect(fault!.hint).toMatch(/must not be in this file, .*`password-file`, .*`password-command`/);
      expect(JSON.stringify(fault)).not.toContain(secret);
    }
    await expect(parseConfig('config.toml', `${key} = "${secret}"`)).rejects.toMatchObject({
      hint: expect.stringMatching(/must not be in this file/),
    });
  },
);

it.each([
  ['[profiles.a.retention]\nkeep-daily = 1', 'Use the table [profiles.a.forget].'],
  ['[profiles.a]\nhooks.before = "x"', 'Use the table [profiles.a.run].'],
  ['[profiles.a.backup]\nschedule-permission = "user"', 'Leave it out: `ldm schedule add` makes a timer of the user'],
  ['[profiles.a]\ninitialize = true', 'Leave it out, and run `ldm init` once'],
  ['[defaults]\nkeep_daily = 1', 'Use `keep-daily` in [defaults.forget].'],
  ['[profiles.a]\npostgresql_databases = ["all"]', '`stdin-from-command`'],
])('says what to do about %j', async (toml, expected) => {
  expect((await faultsOf(toml))[0]!.hint).toContain(expected);
});

it('says so at the top of the file, too', async () => {
  await expect(parseConfig('config.toml', '\n[global]\nnice = 1')).rejects.toMatchObject({
    message: 'config.toml:2: unknown table or key "global"',
    hint: 'Use [defaults], which every profile inherits.',
  });
  await expect(parseConfig('config.toml', 'source_directories = []')).rejects.toMatchObject({
    hint: 'Use `paths` in [profiles.home.backup].',
  });
});
