import { homesOf } from '../../repository/copy-decision.ts';
import type { CopiesWanted } from '../../repository/copy-decision.ts';
import { listGroupPacks } from '../../repository/group-packs.ts';
import type { GroupPack } from '../../repository/group-packs.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { Repository } from '../../repository/repository.ts';
import { groupsOf } from './opened-groups.ts';
import { copiesWanted } from './wanted-copies.ts';

export interface ShortPacks {
  /** Packs that are in fewer groups than they should be. */
  readonly packs: readonly GroupPack[];
  readonly wanted: CopiesWanted;
}

/** Finds packs with too few copies. While trees cannot be read, the rule about references is left out. */
export async function findShortPacks(repository: Repository, opened: OpenedState): Promise<ShortPacks> {
  const { all, rules } = groupsOf(repository);
  const known = opened.state.isComplete ? rules : { copies: rules.copies };
  const wanted = await copiesWanted(known, async () => opened);
  const packs = (await listGroupPacks(all)).filter(({ id, copies }) => homesOf(copies).size < wanted(id));
  return { packs, wanted };
}
