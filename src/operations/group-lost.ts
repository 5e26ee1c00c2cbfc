import { RefusedError } from '../errors.ts';
import { assertAllOnline } from '../repository/listing.ts';
import { beginPhase } from './context.ts';
import type { OperationContext } from './context.ts';
import { allSnapshots } from './findings/damage-findings.ts';
import { ImpactSearch } from './findings/impact.ts';
import type { AffectedPath } from './findings/findings.ts';
import { findMissing } from './groups.ts';
import { changeGroups, findGroup } from './groups/opened-groups.ts';

/** What is lost with a group. */
export interface GroupLoss {
  readonly name: string;
  /** Packs in no group that can be reached, and their size. */
  readonly packsLost: number;
  readonly bytesLost: number;
  /** The files that lack something, and the directories that cannot be read, in each snapshot. */
  readonly paths: readonly AffectedPath[];
  readonly snapshotsAffected: number;
  readonly snapshots: number;
  /** Whether the group was taken out of the list. */
  readonly isRemoved: boolean;
}

export interface GroupLossOptions {
  /** Takes the group out of the list. Otherwise nothing is changed. */
  readonly confirmed?: boolean;
}

/**
 * Finds out what cannot be restored without a group that is offline, and with `confirmed` gives the group up.
 * @throws RefusedError if the group is online, or another one is offline, or it is the only one
 */
export async function loseGroup(
  context: OperationContext,
  name: string,
  { confirmed = false }: GroupLossOptions = {},
): Promise<GroupLoss> {
  return await changeGroups(context, async (changes, repository) => {
    const group = findGroup(repository, name);
    if (group.isOnline) {
      throw new RefusedError(`the group ${name} can be reached`, {
        advice: { code: 'give-up-offline-group', subject: name },
      });
    }
    group.giveUp();
    beginPhase(context.progress, 'finding what is lost');
    const opened = await repository.openState();
    assertAllOnline(opened.listing);
    const { snapshots, lost } = allSnapshots(opened);
    const { state, reader } = opened;
    const search = new ImpactSearch({ state, reader, snapshots }, new Set(lost), undefined, Infinity);
    await search.run();
    const impact = search.of(lost);
    const { missingPacks, missingBytes } = await findMissing(repository, opened.listing);
    if (confirmed) await changes.remove(name, false);
    return {
      name,
      packsLost: missingPacks,
      bytesLost: missingBytes,
      paths: impact.paths,
      snapshotsAffected: impact.snapshots.length,
      snapshots: snapshots.size,
      isRemoved: confirmed,
    };
  });
}
