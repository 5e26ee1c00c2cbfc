import { beforeEach, describe, it } from 'vitest';

import { seedsOf } from '../support/seeds.ts';
import { sshProblem } from '../support/ssh-server.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';
import { SftpStormPlace } from './storm/sftp-place.ts';
import { runStorm } from './storm/storm.ts';

beforeEach(({ skip }) => {
  const problem = sshProblem() || (isRoot ? '' : NEEDS_ROOT);
  skip(problem !== '', problem);
});

describe('a repository on an SFTP server', () => {
  it.each(seedsOf(1, 1))('loses nothing in a storm (seed %i)', async (seed) => {
    await runStorm(await SftpStormPlace.start(), { seed, commands: 260, saves: 50 });
  });
});
