import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { describeTree } from '../../support/compare-trees.ts';
import { restoreFromDomains, withDomain } from '../../support/domains.ts';
import { backupInto, makeGrouped, packPath, packsAt } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { TINY_CHUNKS } from '../../support/test-repository.ts';

/** A repository with groups, and one without that has the same chunks. */
async function makePair(): Promise<{ readonly grouped: GroupedRepository; readonly other: MemoryBackend }> {
  const grouped = await makeGrouped();
  await backupInto(grouped, 'b', 50_000);
  const other = new MemoryBackend();
  await initRepository(simulatedProcess(other), { chunker: TINY_CHUNKS, copyParametersFrom: grouped.context });
  await backup(simulatedProcess(other), { sources: [grouped.source], cwd: grouped.directory });
  return { grouped, other };
}

test('what is in a group that is offline comes from another domain, and no group is written to', async () => {
  const { grouped, other } = await makePair();
  const packs = packsAt(grouped.place('a'));
  grouped.unmount('b');
  await withDomain(other, async (domain) => {
    const { result, exitCode, tree } = await restoreFromDomains(grouped, domain);
    expect([exitCode, result.problems, tree]).toEqual([0, [], describeTree(grouped.source)]);
    expect(result.fetched!.chunks).toBeGreaterThan(0);
  });
  expect(packsAt(grouped.place('a'))).toEqual(packs);
});

test('packs that are gone from a group are restored, and stored again by a repair', async () => {
  const { grouped, other } = await makePair();
  for (const name of packsAt(grouped.place('b'))) rmSync(packPath(grouped.place('b'), name));
  await withDomain(other, async (domain) => {
    const { result, exitCode, tree } = await restoreFromDomains(grouped, domain);
    expect([exitCode, tree]).toEqual([0, describeTree(grouped.source)]);
    const planned = await repair(grouped.context, { fromDomains: domain, dryRun: true });
    const repaired = await repair(grouped.context, { fromDomains: domain });
    expect(planned.fetched).toEqual(repaired.fetched);
    expect([planned.remaining, repaired.remaining]).toEqual([[], []]);
    expect(repaired.fetched!.chunks).toBeGreaterThanOrEqual(result.fetched!.chunks);
  });
  expect((await check(grouped.context, { readData: true })).findings).toEqual([]);
});
