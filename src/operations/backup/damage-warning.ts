import type { OpenedState } from '../../repository/opened-state.ts';
import type { OperationContext } from '../context.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';

/** Warns because a backup of a damaged repository continues, and may reuse damaged chunks for unchanged files. */
export function warnOfDamage({ onNotice }: OperationContext, opened: OpenedState): void {
  const count = opened.damage.unreadableCount;
  if (count === 0) return;
  const message = `the repository is damaged: ${count} trees, segments or snapshots cannot be read, and this snapshot may depend on them; run \`ldm check\``;
  onNotice?.({ kind: 'warning', message });
}

/** Returns a handler for unreadable trees of the parent snapshot: stores them again, and warns about the first. */
export function damageWarner(
  { onNotice }: OperationContext,
  chunks: RepositoryChunkSaver,
): (treeId: Uint8Array) => void {
  let isReported = false;
  return (treeId) => {
    // Missing trees were already reported when the repository was opened.
    if (!chunks.distrust(treeId) || isReported) return;
    isReported = true;
    const message =
      'the repository is damaged: some directories of the last snapshot cannot be read and are stored again; run `ldm repair`, then `ldm check --read-data`';
    onNotice?.({ kind: 'warning', message });
  };
}
