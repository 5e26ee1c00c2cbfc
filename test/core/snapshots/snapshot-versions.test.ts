import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import type { Snapshot } from '../../../src/core/format/snapshot.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { showSnapshot, listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { joinVersions } from '../../../src/core/snapshots/snapshot-versions.ts';
import { tagSnapshots } from '../../../src/verbs/tag/tag.ts';
import type { SnapshotListing } from '../../../src/core/repository/read-snapshots.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { SuspendedBackend } from '../../support/suspended-backend.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

const TIME = '2026-01-01T10:00:00Z';

/** Joins manifests of the same time, given as id, `replaces` and `original`. Returns their ids, the newest first. */
function join3(
  ...given: readonly [id: string, replaces?: string | undefined, original?: string | undefined, time?: string][]
): string[] {
  const listings = given.map(([id, replaces, original, time = TIME]): SnapshotListing => {
    return { id, snapshot: { time, tags: [], replaces, original } as unknown as Snapshot };
  });
  return joinVersions(listings).map(({ newest, others }) => [newest, ...others].map(({ id }) => id).join(' '));
}

it('joins what was made by changing the same snapshot, and nothing else', () => {
  expect(join3(['a'], ['b'])).toEqual(['a', 'b']);
  // A rewrite has no `original`, and may have a smaller id.
  expect(join3(['b'], ['a', 'b'], ['c'])).toEqual(['a b', 'c']);
  expect(join3(['c', 'b'], ['b', 'a'], ['a'])).toEqual(['c b a']);
  expect(join3(['a', 'b'], ['b', 'c'])).toEqual(['a b']);
  // The snapshot that both have replaced is gone.
  expect(join3(['a', 'gone', 'gone'], ['b', 'gone', 'gone'])).toEqual(['b a']);
  // One was changed twice meanwhile.
  expect(join3(['a', 'first', 'first'], ['b', 'second', 'first'])).toEqual(['b a']);
  expect(join3(['a', 'b'], ['b', undefined, undefined, '2026-01-02T10:00:00Z'])).toEqual(['a', 'b']);
});

it('the versions that a suspended change adds count as one', async () => {
  const repository = await makeTestRepository();
  const { context, source, directory } = repository;
  const ids: string[] = [];
  for (let day = 1; day <= 3; day += 1) {
    writeFileSync(join(source, 'file'), `day ${day}`);
    ids.push((await repository.backup({ time: `2026-01-0${day}T10:00:00Z`, hostname: 'h' })).snapshotId!);
  }
  const place = join(directory, 'repository');
  // Suspended between its look at the lock and the rename, until the lock was taken over.
  const isCommit = (_: number, step: string): boolean => /^rename .*-> snapshots\//.test(step);
  const suspended = new SuspendedBackend(new LocalBackend(place), isCommit, async () => {
    for (const name of readdirSync(join(place, 'locks'))) rmSync(join(place, 'locks', name));
    await tagSnapshots(context, { selectors: ['latest'], add: ['one'] });
    await tagSnapshots(context, { selectors: ['latest'], add: ['more'] });
  });
  const losing = tagSnapshots(simulatedProcess(suspended), { selectors: ['latest'], add: ['other'] });
  await expect(losing).rejects.toThrow();
  const listed = await listSnapshots(context);
  expect(listed.map(({ snapshot }) => snapshot.time.slice(0, 10)).slice(1)).toEqual([
    '2026-01-02',
    '2026-01-03',
    '2026-01-03',
  ]);
  expect((await showSnapshot(context, { selector: 'latest~1' })).id).toBe(ids[1]);
  expect((await showSnapshot(context, { selector: 'latest~2' })).id).toBe(ids[0]);
  await expect(showSnapshot(context, { selector: 'latest~3' })).rejects.toThrow('there are only 3 snapshots');
  const { groups } = await forgetByPolicy(context, { policy: { counts: { last: 2 } }, dryRun: true });
  expect(groups[0]!.removed.map(({ listing }) => listing.id)).toEqual([ids[0]]);
  // A tag of the version that does not count keeps both.
  for (const tag of ['other', 'more']) {
    const tagged = await forgetByPolicy(context, { policy: { tags: [[tag]] }, dryRun: true });
    expect(tagged.groups[0]!.kept).toHaveLength(2);
  }
  await deleteSnapshots(context, { selectors: [listed.at(-1)!.id] });
  await repository.expectClean();
  await repository.expectRestored();
});
