import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { forEachFile } from '../format/tree/tree.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { Finding } from '../session/findings.ts';
import { ImpactSearch } from './impact.ts';
import type { SearchPlace } from './impact.ts';

const WRONG_SIZE = 'size';

/** Compares the size of each file with the lengths of its chunks. Uses the trees that the recount reads anyway. */
export class FileSizeCheck {
  #isWrong = false;

  readonly onTree = (state: FilterState, tree: Uint8Array): void => {
    forEachFile(tree, (sizeBytes, idsStart, idsEnd) => {
      this.#isWrong ||= isWrongSize(state, sizeBytes, { bytes: tree, start: idsStart, end: idsEnd });
    });
  };

  /** Walks the snapshots again, but only if a wrong size was found. */
  async findings(
    { state, reader }: OpenedState,
    snapshots: SearchPlace['snapshots'] = state.snapshots,
  ): Promise<Finding[]> {
    if (!this.#isWrong) return [];
    const problemOf = ({ sizeBytes, chunkIds }: TreeEntry): string | undefined =>
      isWrongSize(state, sizeBytes, { bytes: chunkIds, start: 0, end: chunkIds.length }) ? WRONG_SIZE : undefined;
    const search = new ImpactSearch({ state, reader, snapshots }, new Set(), problemOf);
    await search.run();
    if (!search.isNeeded(WRONG_SIZE)) return [];
    return [{ severity: 'error', kind: 'file-size', impact: search.of([WRONG_SIZE]) }];
  }
}

/** Returns false if a chunk is missing: that is a finding of its own. */
function isWrongSize(
  { filter }: FilterState,
  sizeBytes: number,
  ids: { readonly bytes: Uint8Array; readonly start: number; readonly end: number },
): boolean {
  let storedBytes = 0;
  for (let offset = ids.start; offset < ids.end; offset += CHUNK_ID_BYTES) {
    const entry = filter.find(ids.bytes, offset);
    if (entry < 0 || !filter.hasLocation(entry)) return false;
    storedBytes += filter.lengthOf(entry);
  }
  return storedBytes !== sizeBytes;
}
