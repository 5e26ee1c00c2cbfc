import { RepositoryChunkSaver } from '../../src/core/saving/repository-chunk-saver.ts';
import { isCommitName } from '../../src/core/format/layout.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/core/format/snapshot.ts';
import type { Snapshot } from '../../src/core/format/snapshot.ts';
import { decodeTree, encodeTree } from '../../src/core/format/tree/tree.ts';
import type { TreeEntry } from '../../src/core/format/tree/tree.ts';
import { Repository } from '../../src/core/repository/repository.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { unlockOfTests } from './test-password.ts';

/** Replaces a snapshot by one whose files in `work` are changed, and members of its manifest. Returns its id. */
export async function forgeSnapshot(
  backend: MemoryBackend,
  id: string,
  change: (file: TreeEntry) => Partial<TreeEntry>,
  members: Partial<Snapshot> = {},
): Promise<string> {
  const repository = await Repository.open({ backend, mode: 'exclusive', unlock: unlockOfTests });
  try {
    const { state, reader } = await repository.openState();
    const snapshot = decodeSnapshot(state.snapshots.get(id)!.manifest);
    const chunks = new RepositoryChunkSaver(repository, state, { writes: true, condemnedPackIds: new Set() });
    const store = async (entries: readonly TreeEntry[]): Promise<Uint8Array> => {
      const bytes = encodeTree(entries);
      const treeId = repository.hasher.treeId(bytes);
      await chunks.put('tree', treeId, bytes);
      return treeId;
    };
    const [work] = decodeTree(Uint8Array.from(await reader.read(Buffer.from(snapshot.tree, 'hex'), 0)));
    const files = decodeTree(Uint8Array.from(await reader.read(work!.treeId!, 0)));
    const treeId = await store(files.map((file) => ({ ...file, ...(file.type === 'file' ? change(file) : {}) })));
    const tree = await store([{ ...work!, treeId }]);
    await chunks.finish();
    // So late that no file can have changed while it was read.
    const summary = { ...snapshot.summary, backupStart: '2100-01-01T00:00:00.000Z' };
    const forged = encodeSnapshot({ ...snapshot, summary, ...members, tree: Buffer.from(tree).toString('hex') });
    await backend.remove(`snapshots/${id}`);
    await backend.remove(`manifests.bak/${id}`);
    const isRecord = (name: string): boolean => name.startsWith('filter/') || isCommitName(name);
    for (const file of backend.names().filter(isRecord)) await backend.remove(file);
    const [committed] = await repository.order.commitSnapshots(
      [() => forged],
      () => Promise.resolve(),
      () => Promise.resolve(true),
    );
    return committed!.id;
  } finally {
    await repository.close();
  }
}
