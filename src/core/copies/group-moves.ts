import { assertArgument, assertArguments } from '../session/arguments.ts';
import { RefusedError } from '../errors.ts';
import type { StorageGroup } from '../format/group-list.ts';
import { homesOf } from '../repository/groups/copy-decision.ts';
import type { CopiesWanted } from '../repository/groups/copy-decision.ts';
import { assertEnoughFor } from '../repository/groups/copy-rules.ts';
import { DurableMoves } from '../repository/durable-moves.ts';
import type { UnmovedPack } from '../repository/durable-moves.ts';
import {
  listGroupPacks,
  targetsByPlacement,
  targetsWithHolders,
  targetsWithout,
} from '../repository/groups/group-packs.ts';
import type { GroupPack, RankTargets } from '../repository/groups/group-packs.ts';
import type { Repository } from '../repository/repository.ts';
import { beginPhase } from '../session/progress.ts';
import type { Caller } from '../session/caller.ts';
import type { OperationContext } from '../session/context.ts';
import { changeGroups, findGroup, groupsOf } from './opened-groups.ts';
import { copiesTolerated, copiesWanted } from './wanted-copies.ts';

export type { UnmovedPack } from '../repository/durable-moves.ts';

/** What a command has moved between groups and copied to them, or would. */
export interface GroupMoves {
  /** Packs that got a new copy. */
  readonly packsChanged: number;
  /** Those that got one in the place of another, and the size of these copies. */
  readonly packsMoved: number;
  readonly bytesMoved: number;
  /** Those that got more copies, and the size of these. */
  readonly packsCopied: number;
  readonly bytesCopied: number;
  /** Ids of packs that have fewer copies than wanted, because too few groups could take them. */
  readonly shortIds: readonly string[];
  /** Copies that an interrupted command had left over, and that were removed. */
  readonly surplusCopies: number;
  readonly surplusBytes: number;
  /** Packs that stay where they are, because they cannot be read. */
  readonly unmoved: readonly UnmovedPack[];
  readonly dryRun: boolean;
}

export interface GroupMoveOptions {
  /** Only counts; changes nothing. */
  readonly dryRun?: boolean;
}

/**
 * Makes a group read-only, and moves everything in it to the other groups. May be interrupted at any time, and goes on
 * when it is called again.
 * @throws BackendError of the kind `full` if the others have no room
 */
export async function drainGroup(
  context: OperationContext,
  name: string,
  options: GroupMoveOptions = {},
): Promise<GroupMoves> {
  assertArgument('name', name, 'text!');
  assertArguments<GroupMoveOptions>(context, options, { dryRun: 'flag' });
  const { dryRun = false } = options;
  return await changeGroups(context, async (changes, repository) => {
    const group = findGroup(repository, name);
    const { all, rules } = groupsOf(repository);
    if (all.length === 1) throw new RefusedError(`${name} is the only group`, { advice: { code: 'add-group' } });
    assertEnoughFor(rules, all.length - 1);
    if (!group.isOnline) throw group.offlineError();
    if (!dryRun && group.entry.state !== 'read-only') await changes.change(name, { state: 'read-only' });
    const packs = (await listGroupPacks(all)).filter(({ copies }) => copies.some(({ home }) => home === group));
    if (!group.isOnline) throw group.offlineError();
    const wanted = await copiesWanted(rules, packs, async () => repository.openState());
    const rankTargets = targetsWithout(group, all);
    return await movePacks({ context, repository, packs, rankTargets, wanted, mayFallShort: false, dryRun });
  });
}

/**
 * Moves each pack to the groups where it would be written now, except for those in groups that are read-only, and makes
 * the copies that are missing. May be interrupted at any time. What has no room there stays where it is.
 */
export async function rebalanceGroups(context: OperationContext, options: GroupMoveOptions = {}): Promise<GroupMoves> {
  assertArguments<GroupMoveOptions>(context, options, { dryRun: 'flag' });
  const { dryRun = false } = options;
  return await changeGroups(context, async (_changes, repository) => {
    const { all, rules } = groupsOf(repository);
    const packs = await listGroupPacks(all);
    const wanted = await copiesWanted(rules, packs, async () => repository.openState());
    const rankTargets = targetsByPlacement(all);
    return await movePacks({ context, repository, packs, rankTargets, wanted, mayFallShort: true, dryRun });
  });
}

/**
 * Removes copies of packs that are left over, and with `makesCopies` makes those that are missing. What is in enough
 * groups stays where it is.
 */
export async function settleCopies(
  context: Caller,
  repository: Repository,
  { makesCopies, dryRun }: { readonly makesCopies: boolean; readonly dryRun: boolean },
): Promise<GroupMoves> {
  const { all, rules } = groupsOf(repository);
  const packs = await listGroupPacks(all);
  const wanted = makesCopies
    ? await copiesWanted(rules, packs, async () => repository.openState())
    : copiesTolerated(rules, packs);
  const unsettled = packs.filter(({ id, copies }) => {
    return copies.length > wanted(id) || (makesCopies && homesOf(copies).size < wanted(id));
  });
  return await settlePacks(context, repository, { packs: unsettled, wanted, dryRun });
}

/** Makes the copies that packs lack, and removes those that are left over. Otherwise they stay where they are. */
export async function settlePacks(
  context: Caller,
  repository: Repository,
  given: { readonly packs: readonly GroupPack[]; readonly wanted: CopiesWanted; readonly dryRun: boolean },
): Promise<GroupMoves> {
  const rankTargets = targetsWithHolders(groupsOf(repository).all);
  return await movePacks({ context, repository, ...given, rankTargets, mayFallShort: true });
}

/**
 * Takes an empty group out of the list.
 * @throws RefusedError if it has packs, or cannot be reached, or is the only one
 */
export async function removeGroup(context: OperationContext, name: string): Promise<StorageGroup> {
  assertArgument('name', name, 'text!');
  return await changeGroups(context, async (changes, repository) => {
    const group = findGroup(repository, name);
    const packs = await listGroupPacks([group]);
    if (!group.isOnline) {
      throw new RefusedError(`the group ${name} is offline: ${group.offlineReason}`, {
        advice: { code: 'remove-offline-group', subject: name },
      });
    }
    if (packs.length > 0) {
      throw new RefusedError(`the group ${name} has ${packs.length === 1 ? 'a pack' : `${packs.length} packs`}`, {
        advice: { code: 'drain-group', subject: name },
      });
    }
    const removed = await changes.remove(name, true, async () =>
      repository.groups?.copyMetadata?.(repository.assertLocked),
    );
    // Nothing is copied there at the end of the command.
    group.giveUp();
    return removed;
  });
}

async function movePacks(given: {
  readonly context: Caller;
  readonly repository: Repository;
  readonly packs: readonly GroupPack[];
  readonly rankTargets: RankTargets;
  readonly wanted: CopiesWanted;
  readonly mayFallShort: boolean;
  readonly dryRun: boolean;
}): Promise<GroupMoves> {
  const { context, repository, packs, rankTargets, wanted, mayFallShort, dryRun } = given;
  const { packHash } = repository.config;
  const moves = new DurableMoves({ packHash, verify: repository.assertLocked, copiesWanted: wanted, mayFallShort });
  beginMoving(context, packs);
  try {
    for (const pack of packs) {
      repository.throwIfAborted();
      if (dryRun) moves.plan(pack, rankTargets);
      else await moves.settle(pack, rankTargets);
      countPack(context, pack);
    }
  } catch (error) {
    // So that less is left over. The first error is the one to report.
    await moves.flush().catch(() => undefined);
    throw error;
  }
  await moves.flush();
  return resultOf(moves, dryRun);
}

function beginMoving({ progress }: Caller, packs: readonly GroupPack[]): void {
  beginPhase(progress, 'moving');
  if (progress === undefined) return;
  progress.unit = 'pack';
  progress.filesTotal = progress.filesDone + packs.length;
  progress.bytesTotal = progress.bytesDone + packs.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
}

function countPack({ progress }: Caller, { sizeBytes }: GroupPack): void {
  if (progress === undefined) return;
  progress.filesDone += 1;
  progress.bytesDone += sizeBytes;
}

function resultOf(moves: DurableMoves, dryRun: boolean): GroupMoves {
  const { packsChanged, packsMoved, bytesMoved, packsCopied, bytesCopied, shortIds } = moves;
  const { surplusCopies, surplusBytes, unmoved } = moves;
  return {
    packsChanged,
    packsMoved,
    bytesMoved,
    packsCopied,
    bytesCopied,
    shortIds,
    surplusCopies,
    surplusBytes,
    unmoved,
    dryRun,
  };
}
