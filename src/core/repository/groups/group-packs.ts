import type { BackendFile } from '../../backend/backend.ts';
import { isOffline } from '../../errors.ts';
import { parsePackCopyName } from '../../format/layout.ts';
import type { Group } from '../../groups/group.ts';
import { compareRanks } from '../../groups/pack-copy.ts';
import type { PackCopy } from '../../groups/pack-copy.ts';
import { rankGroups } from '../../groups/placement.ts';

/** A copy of a pack in a group. */
export interface GroupCopy extends PackCopy {
  readonly home: Group;
}

/** A pack with all its copies that can be reached, in descending order of rank. */
export interface GroupPack {
  readonly id: string;
  readonly sizeBytes: number;
  readonly copies: readonly GroupCopy[];
  /** Copies that are known to be damaged, which are not in `copies`. What is to stay must rank above them. */
  readonly damaged?: readonly GroupCopy[];
}

/** Lists the packs of all groups that can be reached. */
export async function listGroupPacks(groups: readonly Group[]): Promise<GroupPack[]> {
  const found = new Map<string, GroupCopy[]>();
  for (const home of groups) {
    for (const { name, sizeBytes } of await listUnlessOffline(home)) {
      const parsed = parsePackCopyName(name);
      if (parsed === undefined) continue;
      const copy = { home, name, sizeBytes, generation: parsed.generation };
      const others = found.get(parsed.id);
      if (others === undefined) found.set(parsed.id, [copy]);
      else others.push(copy);
    }
  }
  return [...found].map(([id, copies]) => {
    copies.sort(compareRanks);
    // A truncated copy is shorter.
    return { id, copies, sizeBytes: Math.max(...copies.map(({ sizeBytes }) => sizeBytes)) };
  });
}

/** Empty if the group is offline, or turns out to be. */
async function listUnlessOffline(group: Group): Promise<BackendFile[]> {
  if (!group.isOnline) return [];
  try {
    return (await group.list('packs')).filter(({ isForeign }) => isForeign !== true);
  } catch (error) {
    if (!isOffline(error)) throw error;
    return [];
  }
}

/** Returns the groups that should have a pack, the best one first. There may be fewer or more than are needed. */
export type RankTargets = (pack: GroupPack) => readonly Group[];

/** Every pack where it is, except for the packs in one group: they go to the others. */
export function targetsWithout(left: Group, groups: readonly Group[]): RankTargets {
  return targetsWithHolders(groups.filter((group) => group !== left));
}

/** Every pack where it is. If it is in too few of these groups, then also where it would be written now. */
export function targetsWithHolders(groups: readonly Group[]): RankTargets {
  return ({ id, copies }) => {
    const holders = new Set(copies.map(({ home }) => home).filter((group) => groups.includes(group)));
    const others = groups.filter((group) => !holders.has(group));
    return [...holders, ...rankGroups(id, others, ({ entry }) => entry)];
  };
}

/** Every pack where it would be written now. What is in a group that is read-only stays there. */
export function targetsByPlacement(groups: readonly Group[]): RankTargets {
  const active = groups.filter(({ entry, isOnline }) => isOnline && entry.state === 'active');
  return ({ id, copies }) => {
    const fixed = copies.map(({ home }) => home).filter((group) => !active.includes(group));
    return [...new Set(fixed), ...rankGroups(id, active, ({ entry }) => entry)];
  };
}
