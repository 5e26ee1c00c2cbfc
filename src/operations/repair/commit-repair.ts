import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { damagedNames } from '../findings/findings.ts';
import type { Finding } from '../findings/findings.ts';
import type { RepairPlan } from './repair-plan.ts';

/** Commit records: a new one takes the place of all. It lacks the snapshots that were set aside for good. */
export function repairCommits(
  plan: RepairPlan,
  { order, commits: records }: Repository,
  { listing }: OpenedState,
  findings: readonly Finding[],
): void {
  const { commits, snapshotIds } = listing;
  if (commits === undefined) return;
  const damaged = damagedNames(findings, 'commit-damaged');
  const ids = new Set([...commits.snapshotIds, ...snapshotIds]);
  let isOutdated = damaged.length > 0;
  for (const action of plan.actions) {
    if (action.kind !== 'snapshot-quarantined' || action.isRewritten) continue;
    isOutdated ||= commits.snapshotIds.has(action.snapshotId);
    ids.delete(action.snapshotId);
  }
  if (!isOutdated) return;
  for (const name of damaged) plan.add({ kind: 'commit-quarantined', name }, async () => order.quarantine(name));
  plan.add({ kind: 'commits-rewritten' }, async () => records.merge(commits, [...ids]));
}
