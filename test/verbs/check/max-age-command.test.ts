import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { runLdmHere } from '../../support/run-ldm-here.ts';
import type { RunLdmResult } from '../../support/run-ldm.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

function setUp(): (...args: string[]) => Promise<RunLdmResult> {
  const cwd = memoryDirectory();
  mkdirSync(join(cwd, 'source'));
  writeFileSync(join(cwd, 'source', 'file'), 'content');
  const env = { LDM_REPOSITORY: join(cwd, 'repository'), XDG_STATE_HOME: join(cwd, 'state'), XDG_CONFIG_HOME: cwd };
  mkdirSync(join(cwd, 'ldm'));
  writeFileSync(join(cwd, 'ldm', 'config.toml'), '[profiles.aged]\ncheck.max-age = "0s"\n');
  return async (...args) => runLdmHere(args, { cwd, env });
}

test('check --max-age says how much was verified and how much is left, in a profile too', async () => {
  const run = setUp();
  await run('init', '--no-encryption');
  await run('backup', 'source');
  const first = await run('check', '--max-age', '30d');
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toContain('\nall data was verified within the last 30 days\n');
  expect(first.stdout).toContain('the snapshots can be restored completely');
  const second = await run('check', '--max-age', '36h');
  expect(second.stdout).toContain(' 0 B read and verified\nall data was verified within the last 36 h 00 min\n');
  const part = await run('check', '--max-age', '0', '--read-data-subset', '1B');
  expect(part.stdout).toMatch(/\nnot verified by this check: .* in 1 pack\n/);
  const { stdout } = await run('-p', 'aged', 'check', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ packs_read: 2, max_age_seconds: 0, packs_left: 0, bytes_left: 0 });
});

test.each([
  [['--max-age', '1d', '--read-data'], '--max-age and --read-data cannot be combined'],
  [['--max-age', '1d', '--read-data-subset', '1/3'], 'needs a share or a size'],
  [['--max-age', '1d', 'latest'], '--max-age cannot be restricted to snapshots'],
  [['--max-age', '1d', '--no-key'], '--max-age needs the key'],
  [['--max-age', '1d', '--new'], '--new needs --read-data'],
  [['--max-age', 'soon'], 'Give a time span'],
])('check %j is refused', async (args, message) => {
  const { code, stderr } = await setUp()('check', ...args);
  expect([code, stderr.includes(message)]).toEqual([2, true]);
});
