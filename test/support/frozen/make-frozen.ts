import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, test, vi } from 'vitest';

import { removeTree } from '../temp-directory.ts';
import { FrozenBench } from './frozen-bench.ts';
import { FROZEN } from './frozen-repository.ts';
import { freezeGroups, freezeSingleWriter } from './freeze-groups.ts';
import { freezeLending } from './freeze-lending.ts';
import { freezeAppendOnly, freezeRotated } from './freeze-marked.ts';
import { freezeCondemned, freezeDeleted } from './freeze-removals.ts';

// Not the name of the machine on which they are made.
vi.mock('node:os', async (importOriginal) => ({ ...(await importOriginal<object>()), hostname: () => 'tower' }));

/** Where the repositories are made. The path is in their snapshots, and in what says where a group or a domain is. */
const DIRECTORY = '/tmp/frozen';
const PASSWORD = 'correct horse battery staple';

const RECIPES = [
  ['v1-append-only', freezeAppendOnly],
  ['v1-single-writer', freezeSingleWriter],
  ['v1-groups', freezeGroups, PASSWORD],
  ['v1-rotated', freezeRotated, PASSWORD],
  ['v1-deleted', freezeDeleted],
  ['v1-condemned', freezeCondemned],
  ['v1-lending', freezeLending, PASSWORD],
] as const;

beforeAll(() => removeTree(DIRECTORY));
afterAll(() => removeTree(DIRECTORY));

for (const [name, freeze, password] of RECIPES) {
  // What was frozen stays as it is.
  test.skipIf(existsSync(join(FROZEN, name)))(name, async () =>
    freeze(name, new FrozenBench(join(DIRECTORY, name), password)),
  );
}
