import { expect, it } from 'vitest';

import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { measureUsage } from '../../../src/verbs/du/du.ts';
import { measureGrowth } from '../../../src/verbs/du/growth.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { makeManySnapshots } from '../../support/many-snapshots.ts';
import { seedsOf } from '../../support/seeds.ts';

it.each(seedsOf(1, 6))('says how the snapshots make up what is stored, also after a delete (seed %i)', async (seed) => {
  const { context, snapshots } = await makeManySnapshots(seed, { snapshotCount: 5 });
  await deleteSnapshots(context, { selectors: [snapshots[1]!.id] });
  const growth = await measureGrowth(context);
  const ids = growth.map(({ listing }) => listing.id);
  expect(ids).toEqual([0, 2, 3, 4].map((index) => snapshots[index]!.id));
  let storedBytes = 0;
  for (const [index, each] of growth.entries()) {
    storedBytes += each.storedBytes;
    const [usage] = await measureUsage(context, { selectors: ids.slice(0, index + 1), asOne: true });
    expect(usage!.rows[0]!.referencedBytes, `seed ${seed}, snapshot ${index}`).toBe(storedBytes);
  }
  expect(growth[1]!.storedBytes).toBeGreaterThan(0);
  expect(storedBytes).toBe((await collectStats(context)).storedBytes);
});
