import type { OpenedState } from '../../repository/opened-state.ts';
import type { OperationContext } from '../context.ts';

/** A backup goes on beside damage and may take over what is damaged, as the same as before. */
export function warnOfDamage({ onNotice }: OperationContext, opened: OpenedState): void {
  const count = opened.state.unreadableTrees.size + opened.damagedSegments.size + opened.damagedSnapshots.size;
  if (count === 0) return;
  const message = `the repository is damaged (${count} trees, segments or snapshots cannot be read), and this snapshot may need what is lost; run \`ldm check\``;
  onNotice?.({ kind: 'warning', message });
}
