import { assertArgument, assertArguments } from '../../core/session/arguments.ts';
import { RefusedError, isDamage } from '../../core/errors.ts';
import { assertAllOnline, withoutCondemned } from '../../core/repository/listing.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { PackCheck } from '../../core/damage/pack-check.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { allSnapshots, lostChunks } from '../../core/damage/damage-findings.ts';
import { ImpactSearch } from '../../core/damage/impact.ts';
import type { AffectedPath } from '../../core/session/findings.ts';
import { surveyRepository } from '../../core/damage/repository-survey.ts';
import { findMissing } from './groups.ts';
import { changeGroups, findGroup } from '../../core/copies/opened-groups.ts';

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
  /** Whether everything that would be left was read. */
  readonly readData: boolean;
  /** Whether the group was taken out of the list. */
  readonly isRemoved: boolean;
}

export interface GroupLossOptions {
  /** Takes the group out of the list. Otherwise nothing is changed. */
  readonly confirmed?: boolean;
  /** Reads everything that would be left. Otherwise only sizes and footers are verified. */
  readonly readData?: boolean;
}

/**
 * Finds out what cannot be restored without a group that is offline, and with `confirmed` gives the group up.
 * @throws RefusedError if the group is online, or another one is offline, or it is the only one
 */
export async function loseGroup(
  context: OperationContext,
  name: string,
  options: GroupLossOptions = {},
): Promise<GroupLoss> {
  assertArgument('name', name, 'text!');
  assertArguments<GroupLossOptions>(context, options, { confirmed: 'flag', readData: 'flag' });
  const { confirmed = false, readData = false } = options;
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
    const { snapshots } = allSnapshots(opened);
    const { state, reader } = opened;
    const lost = await findLost(context, repository, opened, readData);
    const search = new ImpactSearch({ state, reader, snapshots }, new Set(lost), undefined, Infinity);
    await search.run();
    const impact = search.of(lost);
    const { missingPacks, missingBytes } = await findMissing(repository, opened.listing);
    if (confirmed) await changes.remove(name, false);
    return {
      name,
      readData,
      packsLost: missingPacks,
      bytesLost: missingBytes,
      paths: impact.paths,
      snapshotsAffected: impact.snapshots.length,
      snapshots: snapshots.size,
      isRemoved: confirmed,
    };
  });
}

/** Returns hex ids of what snapshots need and nothing has that is left. Damage that is left counts, too. */
async function findLost(
  context: OperationContext,
  repository: Repository,
  opened: OpenedState,
  readData: boolean,
): Promise<string[]> {
  const listing = withoutCondemned(opened.listing);
  const { packs } = await surveyRepository(repository, listing, isDamage);
  const left = [...packs.values()].filter(({ id }) => listing.packs.has(id));
  const reports = await new PackCheck(context, repository, listing.packs, () => readData).verify(left);
  const scope = allSnapshots(opened);
  return [...new Set([...scope.lost, ...lostChunks(opened, reports, scope).flatMap(({ chunks }) => chunks)])];
}
