import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { BackendFile } from '../../../src/core/backend/backend.ts';
import type { FileSystemBackend } from '../../../src/core/backend/file-system-backend.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { SnapshotNotFoundError } from '../../../src/core/errors.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { measureUsage } from '../../../src/verbs/du/du.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { listSnapshots, showSnapshot } from '../../../src/verbs/snapshots/snapshots.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { pinSnapshots, tagSnapshots } from '../../../src/verbs/tag/tag.ts';
import type { SnapshotListing } from '../../../src/core/repository/read-snapshots.ts';
import { SimulatedCrash, FaultyBackend } from '../../support/faulty-backend.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

async function makeDays(count = 4): Promise<{ repository: TestRepository; ids: string[] }> {
  const repository = await makeTestRepository();
  const ids: string[] = [];
  for (let day = 1; day <= count; day += 1) {
    writeFileSync(join(repository.source, `day${day}`), 'x'.repeat(1000 * day));
    if (day > 1) rmSync(join(repository.source, `day${day - 1}`));
    ids.push((await repository.backup({ time: `2026-01-0${day}T10:00:00Z`, hostname: 'h' })).snapshotId!);
  }
  return { repository, ids };
}

it.each([
  ['another change', async (context, id) => tagSnapshots(context, { selectors: [id], add: ['x'] })],
  ['the same change', async (context, id) => pinSnapshots(context, { selectors: [id] })],
] satisfies [string, (context: OperationContext, id: string) => Promise<unknown>][])(
  'after an interrupted change, %s leaves one manifest',
  async (_, change) => {
    const { repository, ids } = await makeDays(3);
    const isDelete = (operation: string, name: string): boolean =>
      operation === 'rename' && name.includes('-> deleted/');
    const faulty = new FaultyBackend(repository.context.backend, { mode: 'crash', failAt: 1, only: isDelete });
    await expect(pinSnapshots(simulatedProcess(faulty), { selectors: [ids[2]!] })).rejects.toThrow(SimulatedCrash);
    faulty.assertFired();
    const pinned = (await listSnapshots(repository.context)).find(({ snapshot }) => snapshot.pinned === true)!;
    await change(repository.context, pinned.id);
    expect(filesOf(repository, 'snapshots')).toHaveLength(3);
    expect(await listSnapshots(repository.context)).toHaveLength(3);
    await repository.expectClean();
  },
);

it('a delete of a snapshot whose change was interrupted does not bring the old manifest back', async () => {
  const { repository, ids } = await makeDays(3);
  const isDelete = (operation: string, name: string): boolean => operation === 'rename' && name.includes('-> deleted/');
  const faulty = new FaultyBackend(repository.context.backend, { mode: 'crash', failAt: 1, only: isDelete });
  const tagging = tagSnapshots(simulatedProcess(faulty), { selectors: [ids[2]!], add: ['x'] });
  await expect(tagging).rejects.toThrow(SimulatedCrash);
  faulty.assertFired();
  const tagged = (await listSnapshots(repository.context)).find(({ snapshot }) => snapshot.tags.includes('x'))!;
  const { freed } = await deleteSnapshots(repository.context, { selectors: [tagged.id], reclaim: false });
  expect(freed.treeCount).toBeGreaterThan(0);
  expect((await listSnapshots(repository.context)).map(({ id }) => id).toSorted()).toEqual(ids.slice(0, 2).toSorted());
});

it('what an interrupted change has left does not change the figures', async () => {
  const { repository, ids } = await makeDays(3);
  const { context } = repository;
  const before = await collectStats(context);
  const [used] = await measureUsage(context, {});
  expect(used!.rows[0]!.onlyHere.storedBytes).toBeGreaterThan(0);
  const isDelete = (operation: string, name: string): boolean => operation === 'rename' && name.includes('-> deleted/');
  const faulty = new FaultyBackend(context.backend, { mode: 'crash', failAt: 1, only: isDelete });
  await expect(pinSnapshots(simulatedProcess(faulty), { selectors: [ids[2]!] })).rejects.toThrow(SimulatedCrash);
  faulty.assertFired();
  const { logicalBytes, hosts } = before;
  expect(await collectStats(context)).toMatchObject({
    snapshotsCount: 3,
    deletedSnapshotsCount: 0,
    logicalBytes,
    hosts,
  });
  const [usedNow] = await measureUsage(context, {});
  expect(usedNow!.rows).toEqual(used!.rows);
  const [whole] = await measureUsage(context, { asOne: true });
  expect(whole!.rows[0]!.onlyHere.storedBytes).toBe(before.storedBytes);
});

it('a replaced manifest is no deleted snapshot in the statistics, and its id leads to the new one', async () => {
  const { repository, ids } = await makeDays(2);
  const { context } = repository;
  const { changed } = await tagSnapshots(context, { selectors: [ids[1]!], add: ['x'] });
  expect(await collectStats(context)).toMatchObject({ snapshotsCount: 2, deletedSnapshotsCount: 0 });
  await expect(repository.restore({ selector: ids[1]! })).rejects.toThrow(
    `no snapshot id begins with ${ids[1]!}, but snapshot ${changed[0]!.new.id.slice(0, 12)} was made from one`,
  );
  await deleteSnapshots(context, { selectors: ['latest'], undoUntil: '2100-01-01T00:00:00Z' });
  expect(await collectStats(context)).toMatchObject({ snapshotsCount: 1, deletedSnapshotsCount: 1 });
});

it('changes of the same snapshots take turns', async () => {
  const { repository } = await makeDays(3);
  const tags = ['a', 'b', 'c', 'd'];
  await Promise.all(
    tags.map(async (tag) => {
      const backend = new LocalBackend(join(repository.directory, 'repository'));
      return tagSnapshots({ ...repository.context, backend }, { selectors: ['latest', 'latest~1'], add: [tag] });
    }),
  );
  const listed = await listSnapshots(repository.context);
  expect(listed).toHaveLength(3);
  expect(listed.map(({ snapshot }) => snapshot.tags.toSorted().join(''))).toEqual(['', 'abcd', 'abcd']);
});

it.each([1, 2, 3, 4])('a rewritten snapshot is newer than the one of the same time (attempt %i)', async () => {
  const { repository } = await makeDays(1);
  const { rewritten } = await rewriteSnapshots(repository.context, {
    selectors: ['latest'],
    patterns: { exact: ['*'] },
  });
  const { groups } = await forgetByPolicy(repository.context, { policy: { counts: { last: 1 } }, dryRun: true });
  const [group] = groups;
  expect((group!.kept[0] ?? group!.removed[0])!.listing.id).toBe(rewritten[0]!.newId);
  expect((await listSnapshots(repository.context)).at(-1)!.id).toBe(rewritten[0]!.newId);
});

it('a snapshot that was rewritten and deleted can be brought back', async () => {
  const { repository, ids } = await makeDays(2);
  await rewriteSnapshots(repository.context, { selectors: [ids[1]!], patterns: { exact: ['*'] }, forget: true });
  const deleted = await listSnapshots(repository.context, { deleted: true });
  expect(deleted.map(({ id }) => id)).toEqual([ids[1]]);
  await undeleteSnapshots(repository.context, { selectors: [ids[1]!] });
  // It is a snapshot like any other: a rule must not take it for a leftover.
  const { groups } = await forgetByPolicy(repository.context, { policy: { counts: { last: 3 } }, dryRun: true });
  expect(groups[0]!.kept).toHaveLength(3);
  await repository.expectClean();
});

// Brought back, it would be a leftover of the one that replaced it, and a delete of that one would take both.
it.each<[string, (context: OperationContext, id: string) => Promise<unknown>]>([
  ['a change of tags', async (context, id) => tagSnapshots(context, { selectors: [id], add: ['x'] })],
  [
    'a rewrite',
    async (context, id) =>
      rewriteSnapshots(context, { selectors: [id], patterns: { exact: [] }, newHost: 'other', forget: true }),
  ],
])('%s that the listing does not show yet cannot be undone by an undelete', async (_, change) => {
  const { repository, ids } = await makeDays(2);
  await change(repository.context, ids[1]!);
  const hidden = filesOf(repository, 'snapshots').find((id) => !ids.includes(id))!;
  const lagging = new LaggingBackend(repository.context.backend, hidden);
  const undeleting = undeleteSnapshots(simulatedProcess(lagging), { selectors: [ids[1]!] });
  await expect(undeleting).rejects.toThrow(SnapshotNotFoundError);
  expect(lagging.hiddenCount).toBeGreaterThan(0);
  expect(filesOf(repository, 'snapshots').toSorted()).toEqual([ids[0]!, hidden].toSorted());
});

/** Its listings lack a snapshot. */
class LaggingBackend extends FaultyBackend {
  hiddenCount = 0;
  readonly #id: string;

  constructor(inner: FileSystemBackend, id: string) {
    super(inner);
    this.#id = id;
  }

  override async list(directory: string): Promise<BackendFile[]> {
    const files = await super.list(directory);
    const shown = files.filter(({ name }) => !name.endsWith(`/${this.#id}`));
    this.hiddenCount += files.length - shown.length;
    return shown;
  }
}

describe('after an interrupted rewrite with forget', () => {
  const patterns = { exact: ['*'] };
  const times = (listings: readonly SnapshotListing[]): string[] =>
    listings.map(({ snapshot }) => snapshot.time).toSorted();

  /** Interrupts it when it has committed the new snapshots and deleted `deletedCount` of the old ones. */
  async function interrupt(repository: TestRepository, ids: readonly string[], deletedCount: number): Promise<void> {
    const isDelete = (operation: string, name: string): boolean =>
      operation === 'rename' && name.includes('-> deleted/');
    const faulty = new FaultyBackend(repository.context.backend, {
      mode: 'crash',
      failAt: deletedCount + 1,
      only: isDelete,
    });
    const rewriting = rewriteSnapshots(simulatedProcess(faulty), { selectors: ids, patterns, forget: true });
    await expect(rewriting).rejects.toThrow(SimulatedCrash);
    faulty.assertFired();
  }

  it.each([0, 1, 2])('the same command finishes it (%i of 3 were deleted)', async (deletedCount) => {
    const { repository, ids } = await makeDays(3);
    const { context } = repository;
    const days = times(await listSnapshots(context));
    await interrupt(repository, ids, deletedCount);
    const made = (await listSnapshots(context)).filter(({ id }) => !ids.includes(id));
    expect(made).toHaveLength(3);
    const logged = new FaultyBackend(context.backend);
    const options = { selectors: ids.slice(deletedCount), patterns, forget: true };
    const { rewritten } = await rewriteSnapshots(simulatedProcess(logged), options);
    expect(rewritten.map(({ old, newId }) => [old.id, newId])).toEqual(
      ids.slice(deletedCount).map((id) => [id, made.find(({ snapshot }) => snapshot.replaces === id)!.id]),
    );
    // What was left may not be durable, and must be before the old ones go.
    const steps = logged.operations.map(({ operation, name }) => `${operation} ${name}`);
    const firstDelete = steps.findIndex((step) => step.includes('-> deleted/'));
    expect(steps.slice(0, firstDelete)).toContain('syncDirectory snapshots');
    const left = await listSnapshots(context);
    expect(left.map(({ id }) => id).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    expect(times(left)).toEqual(days);
    await repository.expectClean();
  });

  it('another rewrite makes other snapshots', async () => {
    const { repository, ids } = await makeDays(2);
    await interrupt(repository, ids, 0);
    const options = { selectors: ids, patterns, newHost: 'other', forget: true };
    const { rewritten } = await rewriteSnapshots(repository.context, options);
    expect(rewritten.map(({ snapshot }) => snapshot.hostname)).toEqual(['other', 'other']);
    expect(await listSnapshots(repository.context)).toHaveLength(4);
  });

  it('a plain rewrite keeps what there is', async () => {
    const { repository, ids } = await makeDays(2);
    await interrupt(repository, ids, 0);
    await rewriteSnapshots(repository.context, { selectors: ids, patterns });
    expect(await listSnapshots(repository.context)).toHaveLength(6);
  });

  it('neither rules nor latest~1 count a day twice', async () => {
    const { repository, ids } = await makeDays(3);
    const days = times(await listSnapshots(repository.context));
    await interrupt(repository, ids, 0);
    const shown = await showSnapshot(repository.context, { selector: 'latest~1' });
    expect(shown.snapshot).toMatchObject({ time: days[1], replaces: ids[1] });
    const policy = { counts: { last: 2 } };
    const { groups } = await forgetByPolicy(repository.context, { policy, reclaim: false });
    expect(groups[0]!.kept).toHaveLength(4);
    expect(times(await listSnapshots(repository.context))).toEqual([days[1], days[1], days[2], days[2]]);
    await repository.expectClean();
  });
});
