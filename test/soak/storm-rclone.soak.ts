import { beforeEach, describe, it } from 'vitest';

import { rcloneProblem } from '../support/rclone.ts';
import { seedsOf } from '../support/seeds.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';
import { RcloneStormPlace } from './storm/rclone-place.ts';
import { runStorm } from './storm/storm.ts';

beforeEach(({ skip }) => {
  const problem = rcloneProblem ?? (isRoot ? undefined : NEEDS_ROOT);
  skip(problem !== undefined, problem);
});

describe('a repository of one client behind rclone', () => {
  it.each(seedsOf(1, 1))('loses nothing in a storm (seed %i)', async (seed) => {
    await runStorm(new RcloneStormPlace(), { seed, commands: 60, saves: 15 });
  });
});
