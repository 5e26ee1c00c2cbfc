import { createHash } from 'node:crypto';
import { RangeTree } from '../../../filters/family/range-tree.ts';
import { CHUNK_ID_BYTES } from '../../../core/format/constants.ts';
import type { Snapshot } from '../../../core/format/snapshot.ts';
import type { TreeEntry } from '../../../core/format/tree/tree.ts';
import type { OpenedState } from '../../../core/repository/opened-state.ts';
import { walkSnapshot } from '../../../core/repository/tree-walk.ts';
import { bytesOf, joinPath } from '../../../core/util/byte-string.ts';
import type { ByteString } from '../../../core/util/byte-string.ts';
import { pathOf } from '../../../core/util/path-node.ts';

const RATE = 0.01;

/** A tree with filters over all files of all snapshots, and how many versions of files it has. */
interface RangesOfFiles {
  readonly tree: RangeTree;
  readonly files: number;
}

/**
 * Reads the trees of all snapshots, from the oldest to the newest, and each only once at a path. A file that has not changed
 * since the last snapshot counts once.
 */
export async function rangesOfFiles(
  { reader }: Pick<OpenedState, 'reader'>,
  snapshots: readonly Pick<Snapshot, 'tree' | 'base'>[],
  pause: () => Promise<void> | undefined,
): Promise<RangesOfFiles> {
  const tree = RangeTree.withRate({ falsePositiveRate: RATE });
  const seenTrees = new Set<string>();
  const lastVersions = new Map<ByteString, string>();
  let files = 0;
  for (const { tree: root, base } of snapshots) {
    const walk = walkSnapshot(reader, Buffer.from(root, 'hex'));
    for (let step = await walk.next(); step !== undefined; step = await walk.next()) {
      await pause();
      if (step.kind === 'unreadable') throw step.error;
      const { entry } = step;
      if (step.kind === 'enter') {
        const key = `${Buffer.from(entry.treeId!).toString('hex')}${joinPath(base, pathOf(step))}`;
        if (seenTrees.has(key)) walk.skip();
        seenTrees.add(key);
      }
      if (step.kind !== 'entry' || entry.type !== 'file') continue;
      const path = joinPath(base, pathOf(step));
      const version = versionOf(entry);
      if (lastVersions.get(path) === version) continue;
      lastVersions.set(path, version);
      addFile(tree, path, entry);
      files += 1;
    }
  }
  return { tree, files };
}

function versionOf({ mtimeSeconds, mtimeNanoseconds, sizeBytes, chunkIds }: TreeEntry): string {
  const digest = createHash('sha1').update(chunkIds).digest('base64');
  return `${mtimeSeconds}.${mtimeNanoseconds}:${sizeBytes}:${digest}`;
}

function addFile(tree: RangeTree, path: ByteString, entry: TreeEntry): void {
  const { mtimeSeconds, mtimeNanoseconds, sizeBytes, chunkIds } = entry;
  const timeMs = mtimeSeconds * 1000 + mtimeNanoseconds / 1e6;
  const place = { timeMs, path: bytesOf(path), sizeBytes };
  tree.addPlace(place);
  for (let at = 0; at < chunkIds.length; at += CHUNK_ID_BYTES) {
    tree.add(chunkIds.subarray(at, at + CHUNK_ID_BYTES), place);
  }
}
