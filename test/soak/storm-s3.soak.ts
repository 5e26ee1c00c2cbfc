import { beforeEach, describe, it } from 'vitest';

import { useCeph } from '../support/ceph-server.ts';
import { seedsOf } from '../support/seeds.ts';
import { S3StormPlace } from './storm/s3-place.ts';
import { runStorm } from './storm/storm.ts';

const { server, problem } = useCeph();

beforeEach(({ skip }) => skip(problem !== undefined, problem));

describe('a repository in a bucket of Ceph', () => {
  it.each(seedsOf(1, 1))('loses nothing in a storm (seed %i)', async (seed) => {
    await runStorm(await S3StormPlace.start(server(), `storm-${seed}`), { seed, commands: 260, saves: 50 });
  });
});
