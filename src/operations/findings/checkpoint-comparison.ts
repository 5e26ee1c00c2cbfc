import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import type { FindingOf } from './findings.ts';
import { areComparable, compareStates } from './state-comparison.ts';

/**
 * Opens the state from each checkpoint and compares its reference counts with a recount. Reading a checkpoint verifies
 * everything else.
 */
export async function findWrongCheckpoints(
  repository: Repository,
  opened: OpenedState,
  recounted: OpenedState,
): Promise<FindingOf<'reference-count'>[]> {
  const wrong: FindingOf<'reference-count'>[] = [];
  for (const name of opened.listing.checkpoints) {
    const used = name === opened.checkpoint ? opened : await repository.openState({ onlyCheckpoint: name });
    // No command uses a damaged or obsolete checkpoint.
    if (used.checkpoint !== name || !areComparable(used, recounted)) continue;
    const { count, shown } = compareStates(used.state, recounted.state);
    if (count === 0) continue;
    wrong.push({ severity: 'error', kind: 'reference-count', name, differenceCount: count, differences: shown });
  }
  return wrong;
}
