import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { createProgram } from '../../../src/cli/program.ts';
import { createCommandRunner } from '../../../src/console/command-runner.ts';
import { parseConfig } from '../../../src/console/settings/config-file.ts';
import { mergeProfile } from '../../../src/console/settings/profile-inheritance.ts';
import { findFaults, profileOf } from '../../../src/console/settings/profile.ts';
import { testProperty } from '../../support/property.ts';

const program = createProgram(createCommandRunner());

const INHERITING = `
[defaults]
lock-wait = "1h"
quiet = true
[defaults.backup]
exclude = ["of-defaults"]
one-file-system = true
[profiles.home]
repo = "/home-repo"
quiet = false
backup.paths = ["/home"]
backup.exclude = ["a", "b"]
forget.keep-daily = 7
[profiles.other]
forget.keep-daily = 8
forget.keep-weekly = 9
[profiles.work]
inherit = ["home", "other"]
repo = "/work-repo"
[profiles.work.backup]
exclude = ["c"]
`;

it('tables merge, other values replace those inherited, later profiles come first, and the profile before all', async () => {
  const { table } = profileOf(await parseConfig('config.toml', INHERITING), 'work', program);
  expect(table.options).toMatchObject({ repo: '/work-repo', lockWait: 3_600_000, quiet: false });
  expect(table.commands.get('backup')).toMatchObject({
    paths: ['/home'],
    options: { exclude: ['c'], oneFileSystem: true },
  });
  expect(table.commands.get('forget')!.options).toMatchObject({ keepDaily: 8, keepWeekly: 9 });
});

it('every value of a merged profile is known by the place where it was written', async () => {
  const config = await parseConfig('config.toml', INHERITING);
  const { originOf } = mergeProfile(config, 'work');
  const lineOf = (...keys: string[]): number | undefined => config.lineOf(originOf(keys));
  expect(lineOf('lock-wait')).toBe(3);
  expect(lineOf('quiet')).toBe(10);
  expect(lineOf('backup', 'paths')).toBe(11);
  expect(lineOf('backup', 'exclude')).toBe(21);
  expect(lineOf('forget', 'keep-daily')).toBe(15);
});

it.each([
  ['[profiles.a]\ninherit = "a"\n', 'config.toml:2: [profiles.a] inherit is a circle: a -> a'],
  ['[profiles.a]\ninherit = ["b"]\n[profiles.b]\ninherit = ["a"]\n', '[profiles.b] inherit is a circle: a -> b -> a'],
  ['[profiles.a]\ninherit = ["c"]\n', '[profiles.a] inherit names c, which is not a profile'],
  ['[profiles.a]\ninherit = [7]\n', '[profiles.a] inherit must be a list of names of profiles'],
  [
    '[profiles.a]\n[defaults]\nrepoo = "/x"\n',
    'config.toml:3: [defaults] repoo is neither an option nor a command of `ldm`. Did you mean repo?',
  ],
  ['[profiles.a]\n[groups]\na = ["a"]\n', 'config.toml:3: [groups] a is also the name of a profile'],
  ['[profiles.a]\n[groups]\ng = ["x"]\n', '[groups] g names "x", which is not a profile'],
  ['[profiles.a.run]\nstep = ["backup"]\n', '[profiles.a.run] step is not a key of a run. Did you mean steps?'],
  [
    '[profiles.a.run]\nsteps = ["bakcup"]\n',
    '[profiles.a.run] steps has the unknown step "bakcup". Did you mean backup?',
  ],
  ['[profiles.a.run]\ncheck-every = "often"\n', 'check-every must be a time span'],
  ['[profiles.a.run]\nschedule = "25:00"\n', 'schedule must be "hourly"'],
  ['[profiles.a.run]\nonly-if = ["mounted:usb"]\n', 'only-if has the unknown condition "mounted:usb"'],
  ['[profiles.a.run]\nonly-if = ["online:host:99999"]\n', 'only-if has the unknown condition'],
  ['[profiles.a.run]\nbefore = ["one", "command"]\n', 'before must be a list of commands, each of them a list'],
  ['[profiles.a.run]\nping = "ftp://x"\n', 'ping must be a URL that begins with https:// or http://'],
  ['[profiles.a.run]\nmail = "a@b\\nBcc: c@d"\n', 'mail must be one address'],
  ['[profiles.a.run]\nmail = "-Cfile"\n', 'mail must be one address'],
  ['[profiles.a.run]\nmetrics-file = "m"\n', 'metrics-file must be an absolute path'],
  ['[profiles.a]\nrun = 7\n', '[profiles.a] run is not a table'],
])('%j is a fault', async (toml, expected) => {
  const config = await parseConfig('config.toml', toml);
  expect(findFaults(config, program)[0]?.error.message).toContain(expected);
  if (!expected.includes('[groups]')) expect(() => profileOf(config, 'a', program)).toThrow(expected.slice(0, 10));
  else expect(profileOf(config, 'a', program).faultsElsewhere).toHaveLength(1);
});

it('values that contradict each other only together are a fault of the profile that inherits', async () => {
  const toml = '[profiles.a]\nbackup.paths = ["/x"]\n[profiles.b]\ninherit = "a"\nbackup.stdin-name = "x"\n';
  const faults = findFaults(await parseConfig('config.toml', toml), program);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatchObject({ profile: 'b' });
  expect(faults[0]!.error.message).toContain('paths cannot be combined with stdin-name');
});

const STREAM = `
[defaults]
password-command = "pass"
[profiles.home]
repo = "/repo"
backup.paths = ["/home"]
backup.exclude = ["*.tmp"]
forget.keep-daily = 7
run.mail = "root"
run.steps = ["check"]
run.before = [["true"]]
[profiles.db]
inherit = "home"
`;

it('an empty list unsets what is inherited: a list, a value, or a table', async () => {
  const toml = `${STREAM}password-command = []
password-file = "/password"
backup.paths = []
backup.exclude = []
backup.stdin-name = "db.sql"
backup.stdin-from-command = ["dump"]
forget = []
run.mail = []
run.steps = []
run.before = []
`;
  const config = await parseConfig('config.toml', toml);
  expect(findFaults(config, program)).toEqual([]);
  const { table } = profileOf(config, 'db', program);
  expect(table.options).toEqual({ repo: '/repo', passwordFile: '/password' });
  expect([...table.commands.keys()]).toEqual(['backup']);
  expect(table.commands.get('backup')).toMatchObject({
    paths: ['dump'],
    options: { stdinName: 'db.sql', stdinFromCommand: true },
  });
  expect(table.run).toEqual({});
});

it('a profile can inherit what another one has unset, and set it again', async () => {
  const toml = `${STREAM}forget = []\nbackup.paths = []\n[profiles.more]\ninherit = "db"\nforget.keep-last = 1\n`;
  const { table } = profileOf(await parseConfig('config.toml', toml), 'more', program);
  expect(table.commands.get('forget')!.options).toEqual({ keepLast: 1 });
  expect(table.commands.get('backup')!.paths).toBeUndefined();
});

it.each([
  [
    'backup.stdin-name = "x"',
    'paths cannot be combined with stdin-name',
    '`paths = []` in [profiles.db.backup] unsets',
  ],
  [
    'password-file = "/x"',
    'password-file cannot be combined with password-command',
    '`password-command = []` in [profiles.db] unsets',
  ],
])('of %j, the advice is how to unset what the profile inherits', async (line, message, hint) => {
  const [fault, ...others] = findFaults(await parseConfig('config.toml', `${STREAM}${line}\n`), program);
  expect(others).toEqual([]);
  expect([fault!.error.message, fault!.error.hint]).toEqual([
    expect.stringContaining(message),
    expect.stringContaining(hint),
  ]);
});

it('an unknown key cannot be unset', async () => {
  const toml = '[profiles.a]\nrepoo = []\nbackup.pahts = []\nrun.stpes = []\n';
  expect(findFaults(await parseConfig('config.toml', toml), program)).toHaveLength(3);
});

it('faults of profiles that are not used are kept apart', async () => {
  const config = await parseConfig('config.toml', '[profiles.a]\n[profiles.b]\nrepo = 7\nx = 1\ny = 2\n');
  const { faultsElsewhere } = profileOf(config, 'a', program);
  expect(faultsElsewhere.map(({ message }) => message.split(' ').slice(0, 3).join(' '))).toEqual([
    'config.toml:3: [profiles.b] repo',
    'config.toml:4: [profiles.b] x',
    'config.toml:5: [profiles.b] y',
  ]);
  expect(() => profileOf(config, 'b', program)).toThrow('(and 2 more: see `ldm config check`)');
});

it.each([
  '["profiles"."__proto__"]\nquiet = true\n',
  '[profiles]\na = { x = [{ __proto__ = { quiet = true } }] }\n',
  '[profiles.a.__proto__.x]\nquiet = true\n',
])('%j does not change what all objects inherit', async (toml) => {
  await expect(parseConfig('config.toml', toml)).rejects.toThrow(/^config\.toml:[12]: unknown key __proto__$/);
  expect(({} as Record<string, unknown>)['quiet']).toBeUndefined();
});

it('keys that every object has are keys like others', async () => {
  const config = await parseConfig('config.toml', '[profiles.constructor]\nrepo = "/x"\n[profiles.a]\ntoString = 1\n');
  expect(profileOf(config, 'constructor', program).table.options).toEqual({ repo: '/x' });
  expect(findFaults(config, program)).toHaveLength(1);
});

testProperty('no text ends the parser otherwise than with a message', async (check) => {
  const piece = fc.constantFrom(
    '[profiles.a]',
    '\n',
    'x = 1',
    '"',
    "'",
    '[',
    ']',
    '{',
    '}',
    '=',
    '.',
    ',',
    '#',
    '\\u',
    '\0',
    '__proto__',
    'inherit = "a"',
  );
  await check(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const outcome = await parseConfig('config.toml', pieces.join('')).then(
        (config) => findFaults(config, program).map(({ error }) => error.message),
        (error: { code: string; message: string }) => [
          error.code === 'USAGE' ? error.message : `unexpected: ${error.message}`,
        ],
      );
      for (const message of outcome) expect(message).toMatch(/^config\.toml:\d+/);
    }),
    { numRuns: 300 },
  );
});
