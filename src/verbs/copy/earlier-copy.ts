import { forEachCounterpart } from '../../core/format/tree/tree-copy.ts';
import { isDamage } from '../../core/errors.ts';
import { chunksOfFile } from '../../core/snapshots/file-chunks.ts';
import type { CopierServices } from './content-copier.ts';
import type { SnapshotCopier } from './snapshot-copier.ts';

/** A tree of the source, by its number in the filter, and the id of its copy. */
interface TreePair {
  readonly entry: number;
  readonly copyId: Uint8Array;
}

/**
 * Learns from a snapshot that was copied before which trees and chunks of the destination belong to those of the
 * source, so that the next snapshot of the same files is not read again. From now on, new snapshots rely on their
 * packs. Reads only trees, those of both side by side. The destination must be complete.
 *
 * Returns false if the snapshot is not a copy after all, or one of both cannot be read. What was learned by then must
 * not be used.
 */
export async function learnFromCopy(
  services: CopierServices,
  copier: SnapshotCopier,
  { root, copyRoot }: { readonly root: Uint8Array; readonly copyRoot: Uint8Array },
): Promise<boolean> {
  const { source, pacer } = services;
  try {
    const pairs: TreePair[] = [{ entry: source.reader.entryOf(root, 0), copyId: copyRoot }];
    for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
      if (copier.trees.has(pair.entry)) continue;
      const below = await learnTree(services, copier, pair);
      if (below === undefined) return false;
      for (const each of below) pairs.push(each);
      const pause = pacer.pause();
      if (pause !== undefined) await pause;
    }
    return true;
  } catch (error) {
    // Damage of the source is reported when the damaged part is copied.
    if (isDamage(error)) return false;
    throw error;
  }
}

/** Returns the trees below, or undefined if the pair does not belong together. */
async function learnTree(
  services: CopierServices,
  copier: SnapshotCopier,
  { entry, copyId }: TreePair,
): Promise<TreePair[] | undefined> {
  const { source, chunks } = services;
  const copy = await readCopy(services, copyId);
  const tree = await source.reader.readTree(entry);
  const below: TreePair[] = [];
  let isWhole = chunks.has(copyId, 0);
  const isCopy = forEachCounterpart(tree, copy, {
    tree: (id, idOfCopy) => void below.push({ entry: source.reader.entryOf(id, 0), copyId: Uint8Array.from(idOfCopy) }),
    file: (chunkIds, copyIds, sizeBytes) => {
      isWhole &&= chunks.hasFile(copyIds, sizeBytes);
      if (isWhole && sizeBytes > 0) copier.contents.learn(chunksOfFile(source, { chunkIds, sizeBytes }), copyIds);
    },
  });
  if (!isCopy || !isWhole) return undefined;
  copier.trees.add(entry, copyId);
  return below;
}

async function readCopy({ destination, onDamagedCopy }: CopierServices, copyId: Uint8Array): Promise<Uint8Array> {
  try {
    return await destination.reader.read(copyId, 0);
  } catch (error) {
    if (isDamage(error)) onDamagedCopy(copyId);
    throw error;
  }
}
