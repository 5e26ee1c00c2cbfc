import { beforeEach, describe, it } from 'vitest';

import { useCeph } from '../support/ceph-server.ts';
import { seedsOf } from '../support/seeds.ts';
import { sshProblem } from '../support/ssh-server.ts';
import { GroupStormPlace } from './storm/group-place.ts';
import { runStorm } from './storm/storm.ts';

const { server, problem } = useCeph();

beforeEach(({ skip }) => {
  const missing = problem ?? sshProblem();
  skip(missing !== '', missing);
});

describe('a repository with groups on an SFTP server and in a bucket', () => {
  it.each(seedsOf(1, 1))('loses nothing in a storm (seed %i)', async (seed) => {
    await runStorm(await GroupStormPlace.start(server(), `group-${seed}`), { seed, commands: 80, saves: 20 });
  });
});
