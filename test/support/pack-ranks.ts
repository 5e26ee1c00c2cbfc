import { parsePackCopyName } from '../../src/core/format/layout.ts';
import { listGroups } from '../../src/verbs/group/groups.ts';
import { packsAt } from './grouped-repository.ts';
import type { GroupedRepository } from './grouped-repository.ts';

/** A file with a copy of a pack. */
export interface RankedCopy {
  readonly id: string;
  readonly place: string;
  /** The name of the file. */
  readonly name: string;
  readonly generation: number;
}

/** Returns the copies of each pack, in descending order of rank as docs/format.md defines it. */
export async function packRanks(repository: GroupedRepository): Promise<RankedCopy[][]> {
  const { groups } = await listGroups(repository.context);
  const found = new Map<string, (RankedCopy & { readonly groupId: string })[]>();
  for (const { id: groupId, place } of groups) {
    for (const name of packsAt(place)) {
      const parsed = parsePackCopyName(`packs/${name.slice(0, 2)}/${name}`)!;
      found.set(parsed.id, [...(found.get(parsed.id) ?? []), { ...parsed, place, name, groupId }]);
    }
  }
  const isBelow = (a: string, b: string): number => (a < b ? 1 : -1);
  return [...found.values()].map((copies) =>
    copies.sort((a, b) => b.generation - a.generation || isBelow(a.groupId, b.groupId)),
  );
}
