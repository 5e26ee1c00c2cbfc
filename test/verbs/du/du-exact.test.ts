import { expect, it } from 'vitest';

import type { TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { measureUsage } from '../../../src/verbs/du/du.ts';
import type { UsageRow } from '../../../src/verbs/du/du.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { parentOf } from '../../../src/core/files/paths/root-paths.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { makeManySnapshots } from '../../support/many-snapshots.ts';
import type { ManySnapshots } from '../../support/many-snapshots.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { unlockOfTests } from '../../support/test-password.ts';

type Contents = ReadonlyMap<ByteString, TreeEntry>;

function idsOf({ type, chunkIds, treeId }: TreeEntry): string[] {
  if (type === 'directory') return [Buffer.from(treeId!).toString('hex')];
  const ids: string[] = [];
  for (let offset = 0; offset < chunkIds.length; offset += 20)
    ids.push(Buffer.from(chunkIds.subarray(offset, offset + 20)).toString('hex'));
  return ids;
}

/** The chunks and trees of everything at and below a path. */
function idsBelow(contents: Contents, path: ByteString): Set<string> {
  const ids = new Set<string>();
  for (const [each, entry] of contents)
    if (each === path || each.startsWith(`${path}/`)) for (const id of idsOf(entry)) ids.add(id);
  return ids;
}

/** What everything else needs: other snapshots, and other paths. Directories above the path are not counted. */
function idsElsewhere({ contents, snapshots }: ManySnapshots, set: ReadonlySet<string>, path: ByteString): Set<string> {
  const ids = new Set<string>();
  for (const { id, snapshot } of snapshots) {
    if (!set.has(id)) ids.add(snapshot.tree);
    for (const [each, entry] of contents.get(id)!) {
      const isAtPath = set.has(id) && (each === path || each.startsWith(`${path}/`));
      const isAbove = set.has(id) && path.startsWith(`${each}/`);
      if (!isAtPath && !isAbove) for (const one of idsOf(entry)) ids.add(one);
    }
  }
  return ids;
}

/** The stored size of each chunk and tree, from the filter. */
async function storedSizes({ context }: ManySnapshots, ids: Iterable<string>): Promise<Map<string, number>> {
  const repository = await Repository.open({ backend: context.backend, mode: 'shared', unlock: unlockOfTests });
  const { state } = await repository.openState();
  const sizes = new Map<string, number>();
  for (const id of ids) sizes.set(id, state.filter.storedBytesOf(state.filter.find(Buffer.from(id, 'hex'), 0)));
  await repository.close();
  return sizes;
}

function sumOf(sizes: ReadonlyMap<string, number>, ids: Iterable<string>): number {
  let sum = 0;
  for (const id of ids) sum += sizes.get(id)!;
  return sum;
}

const FILES_LISTED = 2;

/** Of each directory, the files with the largest sizes in the set are listed; of two of the same size, either. */
function expectLargestFiles(
  { contents, source }: ManySnapshots,
  set: readonly string[],
  rows: readonly UsageRow[],
  depth: number,
): void {
  const sizes = new Map<ByteString, Map<ByteString, number>>();
  for (const id of set)
    for (const [path, { type, sizeBytes }] of contents.get(id)!) {
      const levels = path.slice(source.length).split('/').length - 1;
      if (type === 'directory' || levels > depth) continue;
      const files = sizes.get(parentOf(path)) ?? new Map<ByteString, number>();
      sizes.set(parentOf(path), files.set(path, (files.get(path) ?? 0) + sizeBytes));
    }
  const listed = rows.filter(({ isFile }) => isFile).map(({ path }) => path);
  for (const [directory, files] of sizes) {
    const ours = listed.filter((path) => parentOf(path) === directory).map((path) => files.get(path)!);
    const largest = [...files.values()].sort((a, b) => b - a).slice(0, FILES_LISTED);
    expect(
      ours.sort((a, b) => b - a),
      directory,
    ).toEqual(largest);
  }
  expect(listed.filter((path) => !sizes.has(parentOf(path)))).toEqual([]);
}

async function expectExact(stage: ManySnapshots, sets: readonly (readonly string[])[], depth: number): Promise<number> {
  const allIds = new Set(stage.snapshots.map(({ snapshot }) => snapshot.tree));
  for (const contents of stage.contents.values())
    for (const entry of contents.values()) for (const id of idsOf(entry)) allIds.add(id);
  const sizes = await storedSizes(stage, allIds);
  let rowCount = 0;
  for (const set of sets) {
    const [usage] = await measureUsage(stage.context, {
      selectors: set,
      asOne: true,
      depth,
      largestFiles: FILES_LISTED,
    });
    const [total, ...rows] = usage!.rows;
    const freed = (await deleteSnapshots(stage.context, { selectors: set, dryRun: true })).freed;
    expect(total!.onlyHere).toEqual(freed);
    expectLargestFiles(stage, set, rows, depth);
    for (const { path, onlyHere, apparentBytes, referencedBytes } of rows) {
      const below = new Set<string>();
      let apparent = 0;
      for (const id of set) {
        const contents = stage.contents.get(id)!;
        for (const each of idsBelow(contents, path)) below.add(each);
        for (const [each, { sizeBytes }] of contents)
          if (each === path || each.startsWith(`${path}/`)) apparent += sizeBytes;
      }
      const elsewhere = idsElsewhere(stage, new Set(set), path);
      const only = [...below].filter((id) => !elsewhere.has(id));
      expect(onlyHere.storedBytes, path).toBe(sumOf(sizes, only));
      expect(onlyHere.chunkCount + onlyHere.treeCount).toBe(only.length);
      expect(referencedBytes).toBe(sumOf(sizes, below));
      expect(apparentBytes).toBe(apparent);
      rowCount += 1;
    }
  }
  return rowCount;
}

const SEEDS = seedsOf(1, 10);
let rowCount = 0;

it.each(SEEDS)(
  '`du` gives for each directory and file what brute force gives, for single snapshots and for sets (seed %i)',
  async (seed) => {
    const stage = await makeManySnapshots(seed, { snapshotCount: 5, fileCount: 90, changeCount: 4 });
    const prng = createPrng(seed);
    const ids = stage.snapshots.map(({ id }) => id);
    const sets = Array.from({ length: 6 }, () => ids.filter(() => prng.int(3) === 0)).filter((set) => set.length > 0);
    rowCount += await expectExact(stage, [...ids.slice(0, 3).map((id) => [id]), ...sets, ids], 9);
  },
);

// Of all seeds: with a given one, a snapshot may have lost nearly all of its files.
it(`it has directories and files (seeds ${SEEDS.join(', ')})`, () => {
  expect(rowCount).toBeGreaterThan(40);
});
