import type { FilterState } from '../ldm/filter-state.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Disagreement, FindingOf } from '../session/findings.ts';
import type { Repository } from '../repository/repository.ts';

const SHOWN_MAX = 20;

/** Returns whether both states were counted completely and from the same snapshots and segments. */
function areComparable(opened: OpenedState, recounted: OpenedState): boolean {
  const isWhole = ({ damage }: OpenedState): boolean => damage.isWhole && damage.lostSnapshots.length === 0;
  return (
    isWhole(opened) &&
    isWhole(recounted) &&
    haveSameKeys(opened.state.snapshots, recounted.state.snapshots) &&
    haveSameKeys(opened.state.segments, recounted.state.segments)
  );
}

/** Both sets must be equal: files may have been added or removed between the two counts. */
function haveSameKeys(
  a: ReadonlySet<string> | ReadonlyMap<string, unknown>,
  b: { has(id: string): boolean; size: number },
): boolean {
  return a.size === b.size && [...a.keys()].every((id) => b.has(id));
}

/**
 * Compares the state that commands use, which may come from a checkpoint, with one counted from the snapshots alone.
 * Returns the number of chunks that differ, and some of them.
 */
export function compareStates(
  opened: FilterState,
  recounted: FilterState,
): { readonly count: number; readonly shown: readonly Disagreement[] } {
  const shown: Disagreement[] = [];
  let count = 0;
  const note = (disagreement: Disagreement): void => {
    count += 1;
    if (shown.length < SHOWN_MAX) shown.push(disagreement);
  };
  compareEntries(opened, recounted, note);
  const id = Buffer.alloc(CHUNK_ID_BYTES);
  recounted.filter.forEachEntry((entry) => {
    recounted.filter.copyId(entry, id, 0);
    if (opened.filter.find(id, 0) < 0) note({ chunkId: id.toString('hex'), kind: 'not-in-filter' });
  });
  return { count, shown };
}

function compareEntries(opened: FilterState, recounted: FilterState, note: (disagreement: Disagreement) => void): void {
  const id = Buffer.alloc(CHUNK_ID_BYTES);
  opened.filter.forEachEntry((entry) => {
    opened.filter.copyId(entry, id, 0);
    const other = recounted.filter.find(id, 0);
    if (other < 0) return note({ chunkId: id.toString('hex'), kind: 'in-no-segment' });
    const counts = { inFilter: opened.filter.refs(entry), recounted: recounted.filter.refs(other) };
    if (counts.inFilter !== counts.recounted)
      return note({ chunkId: id.toString('hex'), kind: 'references', ...counts });
    if (placeOf(opened, entry) !== placeOf(recounted, other))
      note({ chunkId: id.toString('hex'), kind: 'two-locations' });
  });
}

function placeOf({ filter, packs }: FilterState, entry: number): string {
  if (!filter.hasLocation(entry)) return 'nowhere';
  const { packIndex, blockOffset, offsetInBlock, lengthBytes, storedBytes } = filter.location(entry);
  return `${packs.get(packIndex).id}:${blockOffset}:${offsetInBlock}:${lengthBytes}:${storedBytes}`;
}

/**
 * Opens the state from each checkpoint and compares its reference counts with a recount. Reading a checkpoint verifies
 * everything else.
 */
export async function findWrongCheckpoints(
  repository: Repository,
  opened: OpenedState,
  recounted: OpenedState,
): Promise<FindingOf<'reference-count'>[]> {
  const wrong: FindingOf<'reference-count'>[] = [];
  for (const name of opened.listing.checkpoints) {
    const used =
      name === opened.checkpoint
        ? opened
        : await repository.openState({ onlyCheckpoint: name, listing: opened.listing });
    // No command uses a damaged or obsolete checkpoint.
    if (used.checkpoint !== name || !areComparable(used, recounted)) continue;
    const { count, shown } = compareStates(used.state, recounted.state);
    if (count === 0) continue;
    wrong.push({ severity: 'error', kind: 'reference-count', name, differenceCount: count, differences: shown });
  }
  return wrong;
}
