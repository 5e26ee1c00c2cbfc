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
