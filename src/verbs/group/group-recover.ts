import { assertArgument, assertArguments } from '../../core/session/arguments.ts';
import { RefusedError } from '../../core/errors.ts';
import { findCopies } from '../../core/repository/groups/found-copies.ts';
import { recoverMetadata } from '../../core/repository/groups/metadata-recovery.ts';
import type { Recovered } from '../../core/repository/groups/metadata-recovery.ts';
import { waitingContext } from '../../core/session/context.ts';
import { accessOptions } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { StorageGroup } from '../../core/format/group-list.ts';
import type { FoundCopies } from '../../core/repository/groups/found-copies.ts';
import { forgetCheckpoints } from '../../core/session/repository-memory.ts';

export interface GroupRecovery extends Recovered {
  readonly repositoryId: string;
  readonly location: string;
  /** The groups whose copies were used. */
  readonly from: readonly string[];
  /** Groups of the repository that were not found. */
  readonly missing: readonly string[];
  /** Groups with newer copies that were not used: they are damaged, or of the lost place after this was done before. */
  readonly leftOut: readonly string[];
}

export interface GroupRecoveryOptions {
  /** Accepts that a group which cannot be reached, or whose copies cannot be used, may have a newer state. Default: false. */
  readonly allowMissing?: boolean;
}

/**
 * Makes a repository again, in an empty place, of the copies that its groups have: the place where it was is lost. The other
 * groups that are known at the given places are used, too.
 * @throws RefusedError if the place is not empty, a group cannot be reached or its copies not be used, or none has a copy
 */
export async function recoverFromGroups(
  context: OperationContext,
  places: readonly string[],
  options: GroupRecoveryOptions = {},
): Promise<GroupRecovery> {
  assertArgument('places', places, 'texts!');
  assertArguments<GroupRecoveryOptions>(context, options, { allowMissing: 'flag' });
  const { allowMissing = false } = options;
  beginPhase(context.progress, 'recovering');
  const found = await findCopies(places, context.openPlace);
  try {
    if (!allowMissing) assertNewest(found);
    const recovered = await recoverMetadata(accessOptions(waitingContext(context), 'exclusive'), found);
    forgetCheckpoints(context, found.repositoryId);
    return {
      ...recovered,
      repositoryId: found.repositoryId,
      location: context.backend.location,
      from: found.newest.map(({ group }) => group.entry.name),
      missing: namesOf(found.missing),
      leftOut: namesOf(found.leftOut),
    };
  } finally {
    await found.close();
  }
}

/** @throws RefusedError if there may be a newer state than the one that was found */
function assertNewest({ missing, leftOut }: FoundCopies): void {
  if (missing.length > 0)
    throw new RefusedError(`not every group of the repository can be reached: ${placesOf(missing)}`, {
      advice: { code: 'name-missing-groups' },
    });
  if (leftOut.length > 0)
    throw new RefusedError(`the newest copies cannot be used: those in the group ${placesOf(leftOut)}`, {
      advice: { code: 'accept-older-copies' },
    });
}

function placesOf(groups: readonly StorageGroup[]): string {
  return groups.map(({ name, place }) => `${name} at ${place}`).join(', ');
}

function namesOf(groups: readonly StorageGroup[]): string[] {
  return groups.map(({ name }) => name);
}
