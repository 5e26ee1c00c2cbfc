import { homesOf } from '../repository/groups/copy-decision.ts';
import { listGroupPacks } from '../repository/groups/group-packs.ts';
import type { GroupPack } from '../repository/groups/group-packs.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Repository } from '../repository/repository.ts';
import { groupsOf } from './opened-groups.ts';
import { copiesWanted } from './wanted-copies.ts';

/** Finds packs that are in fewer groups than they should be. */
export async function findShortPacks(repository: Repository, opened: OpenedState): Promise<GroupPack[]> {
  const { all, rules } = groupsOf(repository);
  const packs = await listGroupPacks(all);
  const wanted = await copiesWanted(rules, packs, async () => opened);
  return packs.filter(({ id, copies }) => homesOf(copies).size < wanted(id));
}
