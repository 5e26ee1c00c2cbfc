import { assertArgument, assertArguments } from '../../core/session/arguments.ts';
import { isDamage } from '../../core/errors.ts';
import type { RepositoryConfig } from '../../core/format/config.ts';
import type { CopyRules, StorageGroup } from '../../core/format/group-list.ts';
import { homesOf } from '../../core/repository/groups/copy-decision.ts';
import { mostCopies } from '../../core/repository/groups/copy-rules.ts';
import type { NewGroup } from '../../core/repository/groups/group-changes.ts';
import { listGroupPacks } from '../../core/repository/groups/group-packs.ts';
import type { GroupCopy, GroupPack } from '../../core/repository/groups/group-packs.ts';
import { withoutCondemned } from '../../core/repository/listing.ts';
import type { Listing } from '../../core/repository/listing.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { changeGroups, groupsOf } from '../../core/copies/opened-groups.ts';
import type { OpenedGroup } from '../../core/copies/opened-groups.ts';

export type { CopyRules, GroupState, StorageGroup } from '../../core/format/group-list.ts';
export type { NewGroup } from '../../core/repository/groups/group-changes.ts';

/** A group, and what is in it now. */
export interface ListedGroup extends StorageGroup {
  /** Why it cannot be reached. Undefined if it can. */
  readonly offlineReason: string | undefined;
  /** Undefined if the group is offline. */
  readonly packCount: number | undefined;
  readonly packBytes: number | undefined;
  /** How many chunks of the average size fit in its capacity. Undefined without a capacity. */
  readonly chunksMax: number | undefined;
  /** Its copies of everything small. Undefined if packs have no copies, or the group is offline. */
  readonly metadata: 'current' | 'outdated' | 'none' | undefined;
}

export interface GroupListing extends CopyRules {
  readonly groups: readonly ListedGroup[];
  /** Packs that are listed in segments and in no group that can be reached. */
  readonly missingPacks: number;
  readonly missingBytes: number;
  /** Packs that are in fewer groups than `copies` says. Undefined while a group is offline. */
  readonly packsShort: number | undefined;
  /** Copies of packs beyond all that may be wanted. A later move or compaction removes them. */
  readonly surplusCopies: number;
  readonly surplusBytes: number;
}

/** Lists the groups of a repository. */
export async function listGroups(context: OperationContext): Promise<GroupListing> {
  return await withRepository(context, 'read', async (repository) => {
    const { all, rules, metadataStates } = groupsOf(repository);
    const states = rules.copies > 1 ? await metadataStates() : undefined;
    const listing = withoutCondemned(await repository.files.listAll());
    const chunkBytes = averageChunkBytes(repository.config);
    const groups: ListedGroup[] = [];
    const packs = await listGroupPacks(all);
    for (const group of all) {
      const { capacityBytes } = group.entry;
      groups.push({
        ...group.entry,
        offlineReason: group.offlineReason,
        ...countIn(group, packs),
        metadata: states?.get(group.id),
        chunksMax: capacityBytes === undefined ? undefined : Math.floor(capacityBytes / chunkBytes),
      });
    }
    const { copies, copiesIfRefs } = rules;
    const counts = countCopies(
      packs,
      rules,
      all.every(({ isOnline }) => isOnline),
    );
    return { copies, copiesIfRefs, groups, ...(await findMissing(repository, listing)), ...counts };
  });
}

/** Counts packs that are in segments and in no listing. What a damaged segment lists is not known. */
export async function findMissing(
  { files }: Repository,
  { segmentIds, packs }: Listing,
): Promise<Pick<GroupListing, 'missingPacks' | 'missingBytes'>> {
  const missing = new Map<string, number>();
  for await (const [, reading] of files.prefetch(segmentIds, async (id) => files.readSegment(id))) {
    const contents = await reading.catch((error: unknown) => {
      if (!isDamage(error)) throw error;
      return [];
    });
    for (const { id, sizeBytes } of contents) if (!packs.has(id)) missing.set(id, sizeBytes);
  }
  const sizes = [...missing.values()];
  return { missingPacks: sizes.length, missingBytes: sizes.reduce((total, sizeBytes) => total + sizeBytes, 0) };
}

/**
 * Adds a group to a repository that has groups. Packs stay where they are; new ones are written to it, too.
 * @throws RefusedError if the repository has no groups, or the place is not empty
 */
export async function addGroup(context: OperationContext, group: NewGroup): Promise<StorageGroup> {
  assertArguments<NewGroup>(context, group, {
    name: 'text!',
    place: 'text!',
    weight: 'number',
    capacityBytes: 'count',
  });
  return await changeGroups(context, async (changes) => changes.add(group));
}

/** Sets whether new packs are written to a group. */
export async function setGroupState(
  context: OperationContext,
  name: string,
  state: StorageGroup['state'],
): Promise<StorageGroup> {
  assertArgument('name', name, 'text!');
  assertArgument('state', state, ['active', 'read-only']);
  return await changeGroups(context, async (changes) => changes.change(name, { state }));
}

/**
 * Sets in how many groups each pack should be, and copies nothing.
 * @throws UsageError if there are fewer groups
 */
export async function setCopies(context: OperationContext, rules: CopyRules): Promise<CopyRules> {
  assertArguments<CopyRules>(context, rules, { copies: 'positive!', copiesIfRefs: 'object' });
  return await changeGroups(context, async (changes) => {
    await changes.setRules(rules);
    return rules;
  });
}

/**
 * Records that a group is at another place now, such as where its disk is mounted.
 * @throws RefusedError if this group is not there
 */
export async function setGroupPlace(context: OperationContext, name: string, place: string): Promise<StorageGroup> {
  assertArgument('name', name, 'text!');
  assertArgument('place', place, 'text!');
  return await changeGroups(context, async (changes) => changes.change(name, { place }));
}

function averageChunkBytes({ chunker }: RepositoryConfig): number {
  return chunker.kind === 'fixed' ? chunker.sizeBytes : chunker.averageSizeBytes;
}

/** Counts the copies of packs in a group. */
function countIn(group: OpenedGroup, packs: readonly GroupPack[]): Pick<ListedGroup, 'packCount' | 'packBytes'> {
  if (!group.isOnline) return { packCount: undefined, packBytes: undefined };
  const copies = packs.flatMap((pack) => pack.copies.filter(({ home }) => home === group));
  return { packCount: copies.length, packBytes: sizeOf(copies) };
}

function countCopies(
  packs: readonly GroupPack[],
  rules: CopyRules,
  areAllOnline: boolean,
): Pick<GroupListing, 'packsShort' | 'surplusCopies' | 'surplusBytes'> {
  const short = packs.filter(({ copies }) => homesOf(copies).size < rules.copies);
  const surplus = packs.flatMap(({ copies }) => copies.slice(mostCopies(rules)));
  return {
    packsShort: areAllOnline ? short.length : undefined,
    surplusCopies: surplus.length,
    surplusBytes: sizeOf(surplus),
  };
}

function sizeOf(copies: readonly GroupCopy[]): number {
  return copies.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
}
