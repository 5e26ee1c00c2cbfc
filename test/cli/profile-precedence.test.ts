import { expect, test } from 'vitest';

import { createCommandRunner } from '../../src/console/command-runner.ts';
import { applyToCommand, withProfile } from '../../src/console/settings/profile.ts';
import { createProgram } from '../../src/cli/program.ts';
import { profileWith } from '../support/profile-of.ts';

test('what the command line gives comes before the profile, option by option', async () => {
  const profile = await profileWith(
    'repo = "/profile"\nlock-wait = "5m"\nlimit-upload = "2MiB"\nthreads = 2\nmemory = "1GiB"',
  );
  const given = { verbose: 0, progress: true };
  const { lockWait, limitUpload } = withProfile(given, profile);
  expect(withProfile(given, profile)).toMatchObject({
    repo: '/profile',
    lockWait: 300_000,
    limitUpload: 2 ** 21,
    threads: 2,
    memory: 2 ** 30,
  });
  expect(withProfile({ ...given, repo: '/typed', lockWait: 7 }, profile)).toMatchObject({
    repo: '/typed',
    lockWait: 7,
    limitUpload,
  });
  expect(lockWait).not.toBe(7);
});

test.each([
  [[], ['/data']],
  [['/typed'], ['/typed']],
  [['--stdin-name', 'n'], []],
  [['--files-from', 'list'], []],
])('a backup with %j saves the paths %j', async (typed, expected) => {
  const profile = await profileWith('[backup]\npaths = ["/data"]\nexclude = "*.tmp"');
  const backup = createProgram(createCommandRunner()).commands.find((each) => each.name() === 'backup')!;
  const { operands } = backup.parseOptions(typed);
  const received: unknown[] = [operands];
  applyToCommand(profile, backup, received);
  expect(received).toEqual([expected]);
  expect(backup.opts()).toMatchObject({ exclude: ['*.tmp'] });
});
