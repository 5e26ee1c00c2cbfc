import type { OpenedState } from '../../repository/opened-state.ts';
import type { OperationContext } from '../context.ts';
import type { ChunkDepot } from './chunk-depot.ts';

/** A backup goes on beside damage and may take over what is damaged, as the same as before. */
export function warnOfDamage({ onNotice }: OperationContext, opened: OpenedState): void {
  const count = opened.state.unreadableTrees.size + opened.damagedSegments.size + opened.damagedSnapshots.size;
  if (count === 0) return;
  const message = `the repository is damaged: ${count} trees, segments or snapshots cannot be read, and this snapshot may depend on them; run \`ldm check\``;
  onNotice?.({ kind: 'warning', message });
}

/** What to do about a tree of the parent snapshot that cannot be read: it is stored again, and the first one is told. */
export function damageWarner({ onNotice }: OperationContext, depot: ChunkDepot): (treeId: Uint8Array) => void {
  let isTold = false;
  return (treeId) => {
    // What is not there any more was told of when the repository was opened.
    if (!depot.distrust(treeId) || isTold) return;
    isTold = true;
    const message =
      'the repository is damaged: some directories of the last snapshot cannot be read and are stored again; run `ldm repair`, then `ldm check --read-data`';
    onNotice?.({ kind: 'warning', message });
  };
}
