import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { damagedNames } from '../../core/session/findings.ts';
import type { RepairFindings } from './manifest-repair.ts';
import type { RepairPlan } from './repair-plan.ts';

/**
 * Commit records: a new one takes the place of all. It lacks the snapshots that the repair sets aside for good, and comes
 * before that: a repair that died in between would leave a record by which they look lost. It has those whose manifests the
 * repair writes again: checkpoints that are older than it would no longer show that these are lost. `manifests` are the
 * actions for manifests.
 */
export function repairCommits(
  plan: RepairPlan,
  { order, commits: records }: Repository,
  found: RepairFindings & { readonly opened: OpenedState; readonly manifests: RepairPlan },
): void {
  const { listing, damage } = found.opened;
  const { commits, snapshotIds, deletedIds } = listing;
  if (commits === undefined) return;
  // A new record would take the place of one that may be sound.
  if (damagedNames(found.unread, 'commit-damaged').length > 0) return;
  const damaged = damagedNames(found.findings, 'commit-damaged');
  const setAside = found.manifests.actions.flatMap((action) => {
    const isManifest = action.kind === 'snapshot-quarantined' || action.kind === 'deleted-snapshot-quarantined';
    return isManifest && !action.isRewritten ? [action.snapshotId] : [];
  });
  if (damaged.length === 0 && !setAside.some((id) => commits.snapshotIds.has(id))) return;
  const ids = new Set([...commits.snapshotIds, ...snapshotIds, ...deletedIds, ...damage.lostSnapshots]);
  for (const id of setAside) ids.delete(id);
  for (const name of damaged) plan.add({ kind: 'commit-quarantined', name }, async () => order.quarantine(name));
  plan.add({ kind: 'commits-rewritten' }, async () => records.merge(commits, [...ids]));
}
