import type { CopyRules } from '../format/group-list.ts';
import { forEachChild } from '../format/tree/tree.ts';
import { homesOf } from '../repository/groups/copy-decision.ts';
import type { CopiesWanted } from '../repository/groups/copy-decision.ts';
import { mostCopies } from '../repository/groups/copy-rules.ts';
import type { GroupPack } from '../repository/groups/group-packs.ts';
import type { OpenedState } from '../repository/opened-state.ts';

/** Counts saturate here, because they are elements of a `Uint32Array`. */
const COUNT_MAX = 2 ** 32 - 1;

/**
 * Returns how many copies of each pack are wanted, by its id. With a rule about references, all trees are read, each
 * once: what a chunk counts is how often the files of all snapshots need it. A file that is unchanged in 50 snapshots
 * counts 50 times, although their trees share one reference to it. While something cannot be read that may need chunks,
 * the copies that there are stay.
 */
export async function copiesWanted(
  rules: CopyRules,
  packs: readonly GroupPack[],
  openState: () => Promise<OpenedState>,
): Promise<CopiesWanted> {
  const { copies, copiesIfRefs: rule } = rules;
  if (rule === undefined) return () => copies;
  const opened = await openState();
  if (!isWhole(opened)) return copiesTolerated(rules, packs);
  const needed = await packsNeededOften(opened, rule.refs);
  return (packId) => (needed.has(packId) ? Math.max(copies, rule.copies) : copies);
}

/** The same without reading trees: copies that the rule about references may ask for are wanted. */
export function copiesTolerated(rules: CopyRules, packs: readonly GroupPack[]): CopiesWanted {
  const counts = new Map(packs.map(({ id, copies }) => [id, homesOf(copies).size]));
  return (packId) => Math.max(rules.copies, Math.min(mostCopies(rules), counts.get(packId) ?? 0));
}

function isWhole({ state, damage }: OpenedState): boolean {
  const { snapshots, segments, lostSnapshots, lostSegments } = damage;
  return state.isComplete && snapshots.size + segments.size + lostSnapshots.length + lostSegments.length === 0;
}

/**
 * Finds the packs with a chunk that is needed at least `refs` times. Adds up references from the roots downwards. The
 * filter knows how many references each tree has, so a tree is read when all of them have been added.
 */
async function packsNeededOften({ state, reader }: OpenedState, refs: number): Promise<Set<string>> {
  const { filter, packs } = state;
  const needed = new Set<string>();
  let entryEnd = 0;
  filter.forEachEntry((entry) => {
    entryEnd = Math.max(entryEnd, entry + 1);
  });
  const counts = new Uint32Array(entryEnd);
  const added = new Map<number, number>();
  const ready: number[] = [];
  const add = (isTree: boolean, ids: Uint8Array, offset: number, count: number): void => {
    const entry = filter.find(ids, offset);
    if (entry < 0 || !filter.hasLocation(entry)) return;
    const sum = Math.min(COUNT_MAX, counts[entry]! + count);
    counts[entry] = sum;
    if (!isTree) {
      if (sum >= refs) needed.add(packs.get(filter.packIndexOf(entry)).id);
      return;
    }
    const addedCount = (added.get(entry) ?? 0) + 1;
    added.set(entry, addedCount);
    if (addedCount === filter.refs(entry)) ready.push(entry);
  };
  for (const { tree } of state.snapshots.values()) add(true, tree, 0, 1);
  for (let entry = ready.pop(); entry !== undefined; entry = ready.pop()) {
    const reading = reader.readTree(entry);
    const tree = reading instanceof Promise ? await reading : reading;
    const count = counts[entry]!;
    forEachChild(tree, (kind, idOffset) => add(kind === 'tree', tree, idOffset, count));
  }
  return needed;
}
