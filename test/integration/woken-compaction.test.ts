import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { expect, test } from 'vitest';

import { LdmError } from '../../src/core/errors.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { checkAll } from '../support/damage.ts';
import { changesName } from '../support/fault-steps.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { SuspendedBackend } from '../support/suspended-backend.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { makeTwoSnapshots } from '../support/two-snapshots.ts';

// A compaction that is suspended right before a change, after it verified its lock, makes this change when it wakes. By
// then others have taken its lock for stale, and a backup has found what it was about to remove.

/** The `nth` change of a kind: names are random. */
interface Change {
  readonly kind: string;
  readonly nth: number;
}

/** What the first snapshot alone had is in the source again. */
async function setStage(): Promise<{ readonly disk: MemoryBackend; readonly source: string }> {
  const { disk, source, first } = await makeTwoSnapshots();
  await deleteSnapshots(simulatedProcess(disk), { selectors: [first], reclaim: false });
  for (const index of [1, 2]) writeFileSync(join(source, `file-${index}`), createPrng(index).bytes(5000));
  return { disk, source };
}

/** The changes of names that a compaction makes; in the suite the first of each kind, and all removals of segments. */
async function changesOf(disk: MemoryBackend): Promise<Change[]> {
  const log = new FaultyBackend(disk.copy());
  await compact(simulatedProcess(log), { maxUnusedPercent: 0 });
  const kinds = log.operations.filter(changesName).map(({ operation, name }) => kindOf(`${operation} ${name}`));
  const numbered = kinds.map((kind, at) => ({
    kind,
    nth: kinds.slice(0, at + 1).filter((each) => each === kind).length,
  }));
  return numbered.filter(({ kind, nth }) => inSoak(true, nth === 1 || kind === 'remove index'));
}

/** Such as `rename index`. */
function kindOf(step: string): string {
  const [operation] = step.split(' ');
  return `${operation} ${step.split(' ').at(-1)!.split('/')[0]!}`;
}

/** Lists no condemnations, as a store whose listings are old. */
class LateListings extends FaultyBackend {
  override async list(directory: string): ReturnType<FaultyBackend['list']> {
    return directory === 'condemned' ? [] : await super.list(directory);
  }
}

type Listings = 'new' | 'old';

async function compactAsleep(
  disk: MemoryBackend,
  { kind, nth }: Change,
  given: { readonly source: string; readonly listings: Listings },
): Promise<void> {
  let count = 0;
  const isAt = (_count: number, step: string): boolean => kindOf(step) === kind && (count += 1) === nth;
  const sleeping = new SuspendedBackend(disk, isAt, async () => {
    for (const name of disk.names()) if (/^locks\/(?:shared|exclusive)-/.test(name)) await disk.unlink(name);
    const seen = given.listings === 'new' ? disk : new LateListings(disk);
    await backup(simulatedProcess(seen), { sources: [given.source], cwd: '/' });
  });
  await compact(simulatedProcess(sleeping), { maxUnusedPercent: 0 }).catch((error: unknown) => {
    if (!(error instanceof LdmError)) throw error;
  });
  expect(count).toBeGreaterThanOrEqual(nth);
}

test.each<Listings>(['new', 'old'])(
  'a backup with %s listings keeps what it found while a compaction slept',
  async (listings) => {
    const { disk, source } = await setStage();
    const changes = await changesOf(disk);
    expect(changes.length).toBeGreaterThan(7);
    for (const change of changes) {
      const place = disk.copy();
      await compactAsleep(place, change, { source, listings });
      expect((await checkAll(place)).findings, `${change.kind} ${change.nth}`).toEqual([]);
      const target = memoryDirectory();
      await restore(simulatedProcess(place), { selector: 'latest', target });
      expect(diffTrees(describeTree(source), join(target, basename(source))), change.kind).toEqual([]);
    }
  },
);
