import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { check } from '../../../src/verbs/check/check.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { countSearchesForIds } from '../../support/counted-searches.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

const COUNT = 30;

it('deleted snapshots are not looked for one by one in the list of the others', async () => {
  const { context, backup } = await makeTestRepository();
  for (let index = 0; index < 2 * COUNT; index += 1) await backup({ hostname: `host ${index}` });
  const filter = join(context.backend.location, 'filter');
  cpSync(filter, `${filter}-before`, { recursive: true });
  const selectors = (await listSnapshots(context)).slice(COUNT).map(({ id }) => id);
  await deleteSnapshots(context, { selectors, reclaim: false });
  // As if the command had been killed before it wrote a checkpoint: that has the deleted snapshots.
  rmSync(filter, { recursive: true });
  cpSync(`${filter}-before`, filter, { recursive: true });
  rmSync(`${filter}-before`, { recursive: true });
  const searches = countSearchesForIds(COUNT);
  const { findings } = await check(context);
  expect(findings).toEqual([]);
  expect(searches.count).toBeLessThan(COUNT / 2);
});
