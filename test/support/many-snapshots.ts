import { join } from 'node:path';

import type { TreeEntry } from '../../src/core/format/tree/tree.ts';
import { listFiles } from '../../src/verbs/ls/ls.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import type { SnapshotListing } from '../../src/verbs/snapshots/snapshots.ts';
import { joinPath } from '../../src/core/util/byte-string.ts';
import type { ByteString } from '../../src/core/util/byte-string.ts';
import { mutateTree } from './mutate-tree.ts';
import { createPrng } from './prng.ts';
import { makeRandomTree } from './random-tree.ts';
import { TINY_CHUNKS, makeTestRepository } from './test-repository.ts';
import type { TestRepository } from './test-repository.ts';

export interface ManySnapshots extends TestRepository {
  /** Oldest first. */
  readonly snapshots: readonly SnapshotListing[];
  /** Everything in each snapshot as `ls` lists it, by absolute path. */
  readonly contents: ReadonlyMap<string, ReadonlyMap<ByteString, TreeEntry>>;
}

/** A repository with snapshots of a random tree that changes a little in between. Its second half is of another host. */
export async function makeManySnapshots(
  seed: number,
  options: { readonly snapshotCount?: number; readonly fileCount?: number; readonly changeCount?: number } = {},
): Promise<ManySnapshots> {
  const { snapshotCount = 8, fileCount = 50, changeCount = 4 } = options;
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const prng = createPrng(seed);
  makeRandomTree(join(repository.source, 'tree'), { seed, fileCount, fileSizeBytesMax: 50_000 });
  for (let index = 0; index < snapshotCount; index += 1) {
    if (index > 0) mutateTree(repository.source, prng, { changeCount });
    await repository.backup({ hostname: index * 2 < snapshotCount ? 'one' : 'two' });
  }
  const snapshots = await listSnapshots(repository.context);
  const contents = new Map<string, Map<ByteString, TreeEntry>>();
  for (const { id, snapshot } of snapshots) {
    const entries = new Map<ByteString, TreeEntry>();
    await listFiles(repository.context, { selector: id, recursive: true }, ({ path, entry }) => {
      entries.set(joinPath(snapshot.base, path), entry);
    });
    contents.set(id, entries);
  }
  return { ...repository, snapshots, contents };
}

/** The hex ids of all different trees of the snapshots. */
export function distinctTrees({ snapshots, contents }: ManySnapshots): Set<string> {
  const trees = new Set(snapshots.map(({ snapshot }) => snapshot.tree));
  for (const entries of contents.values())
    for (const { treeId } of entries.values()) if (treeId !== undefined) trees.add(Buffer.from(treeId).toString('hex'));
  return trees;
}
