import { RefusedError } from '../errors.ts';
import type { StorageGroup } from '../format/group-list.ts';
import { DurableMoves } from '../repository/durable-moves.ts';
import type { UnmovedPack } from '../repository/durable-moves.ts';
import { listGroupPacks, targetsByPlacement, targetsNow, targetsWithout } from '../repository/group-packs.ts';
import type { GroupPack, RankTargets } from '../repository/group-packs.ts';
import type { Repository } from '../repository/repository.ts';
import { beginPhase } from './context.ts';
import type { OperationContext } from './context.ts';
import { changeGroups, findGroup, groupsOf } from './groups/opened-groups.ts';

export type { UnmovedPack } from '../repository/durable-moves.ts';

/** What a command has moved between groups, or would move. */
export interface GroupMoves {
  readonly packsMoved: number;
  readonly bytesMoved: number;
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
  { dryRun = false }: GroupMoveOptions = {},
): Promise<GroupMoves> {
  return await changeGroups(context, async (changes, repository) => {
    const group = findGroup(repository, name);
    const { all } = groupsOf(repository);
    if (all.length === 1) throw new RefusedError(`${name} is the only group`, { advice: { code: 'add-group' } });
    if (!group.isOnline) throw group.offlineError();
    if (!dryRun && group.entry.state !== 'read-only') await changes.change(name, { state: 'read-only' });
    const packs = (await listGroupPacks(all)).filter(({ copies }) => copies.some(({ home }) => home === group));
    if (!group.isOnline) throw group.offlineError();
    return await movePacks({ context, repository, packs, rankTargets: targetsWithout(group, all), dryRun });
  });
}

/**
 * Moves each pack to the group where it would be written now, except for those in groups that are read-only. May be
 * interrupted at any time. What has no room there stays where it is.
 */
export async function rebalanceGroups(
  context: OperationContext,
  { dryRun = false }: GroupMoveOptions = {},
): Promise<GroupMoves> {
  return await changeGroups(context, async (_changes, repository) => {
    const { all } = groupsOf(repository);
    const packs = await listGroupPacks(all);
    return await movePacks({ context, repository, packs, rankTargets: targetsByPlacement(all), dryRun });
  });
}

/** Removes copies of packs that an interrupted move has left over. */
export async function removeSurplusCopies(context: OperationContext, repository: Repository): Promise<GroupMoves> {
  const packs = (await listGroupPacks(groupsOf(repository).all)).filter(({ copies }) => copies.length > 1);
  return await movePacks({ context, repository, packs, rankTargets: targetsNow, dryRun: false });
}

/**
 * Takes an empty group out of the list.
 * @throws RefusedError if it has packs, or cannot be reached, or is the only one
 */
export async function removeGroup(context: OperationContext, name: string): Promise<StorageGroup> {
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
    return await changes.remove(name, true);
  });
}

async function movePacks(given: {
  readonly context: OperationContext;
  readonly repository: Repository;
  readonly packs: readonly GroupPack[];
  readonly rankTargets: RankTargets;
  readonly dryRun: boolean;
}): Promise<GroupMoves> {
  const { context, repository, packs, rankTargets, dryRun } = given;
  const moves = new DurableMoves({ packHash: repository.config.packHash, verify: repository.assertLocked });
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

function beginMoving({ progress }: OperationContext, packs: readonly GroupPack[]): void {
  beginPhase(progress, 'moving');
  if (progress === undefined) return;
  progress.unit = 'pack';
  progress.filesTotal = progress.filesDone + packs.length;
  progress.bytesTotal = progress.bytesDone + packs.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
}

function countPack({ progress }: OperationContext, { sizeBytes }: GroupPack): void {
  if (progress === undefined) return;
  progress.filesDone += 1;
  progress.bytesDone += sizeBytes;
}

function resultOf(moves: DurableMoves, dryRun: boolean): GroupMoves {
  const { packsMoved, bytesMoved, surplusCopies, surplusBytes, unmoved } = moves;
  return { packsMoved, bytesMoved, surplusCopies, surplusBytes, unmoved, dryRun };
}
