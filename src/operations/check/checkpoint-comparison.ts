import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { areComparable, compareStates } from './state-comparison.ts';

/**
 * Opens the state from each checkpoint and compares its reference counts with a recount. Reading a checkpoint verifies
 * everything else. Returns the differences by checkpoint name.
 */
export async function findWrongCheckpoints(
  repository: Repository,
  opened: OpenedState,
  recounted: OpenedState,
): Promise<ReadonlyMap<string, string>> {
  const wrong = new Map<string, string>();
  for (const name of opened.listing.checkpoints) {
    const isUsed = name === opened.checkpoint;
    const difference = isUsed ? describeDifference(opened, recounted) : await differenceOf(repository, name, recounted);
    if (difference !== undefined) wrong.set(name, difference);
  }
  return wrong;
}

/** Also returns undefined for a damaged or obsolete checkpoint: no command uses it. */
async function differenceOf(repository: Repository, name: string, recounted: OpenedState): Promise<string | undefined> {
  const opened = await repository.openState({ onlyCheckpoint: name });
  return opened.checkpoint === name ? describeDifference(opened, recounted) : undefined;
}

function describeDifference(opened: OpenedState, recounted: OpenedState): string | undefined {
  if (!areComparable(opened, recounted)) return undefined;
  const { count, shown } = compareStates(opened.state, recounted.state);
  if (count === 0) return undefined;
  const examples = shown.map(({ chunk, message }) => `${chunk} ${message}`).join('; ');
  return `${count} chunks differ from the recount: ${examples}`;
}
