import type { ChunkKind } from '../format/chunk-kind.ts';
import { FoldOverlay } from './fold-overlay.ts';
import type { FilterState } from './filter-state.ts';
import type { ReadTree } from './fold.ts';
import { planRelease } from './fold-release.ts';
import type { ReleaseMeasure } from './fold-release.ts';

/**
 * What releasing a set of folded snapshots would free, kept while snapshots join and leave the set: as exact as
 * `measureRelease`, but a change reads only the trees that it makes free, or needed again. The state must not change.
 */
export class ReleaseSet {
  readonly #state: FilterState;
  readonly #readTree: ReadTree;
  readonly #overlay: FoldOverlay = new FoldOverlay();
  readonly #members = new Set<string>();
  #freed: ReleaseMeasure = { chunkCount: 0, treeCount: 0, rawBytes: 0, storedBytes: 0 };

  constructor(state: FilterState, readTree: ReadTree) {
    this.#state = state;
    this.#readTree = readTree;
  }

  /** Makes these snapshots the members. Returns what releasing them would free. After an error, the set is of no use. */
  async change(snapshotIds: ReadonlySet<string>): Promise<ReleaseMeasure> {
    await this.#count(
      [...this.#members].filter((id) => !snapshotIds.has(id)),
      -1,
    );
    await this.#count(
      [...snapshotIds].filter((id) => !this.#members.has(id)),
      1,
    );
    return this.#freed;
  }

  async #count(snapshotIds: readonly string[], step: 1 | -1): Promise<void> {
    for (const id of snapshotIds) {
      if (step === 1) this.#members.add(id);
      else this.#members.delete(id);
    }
    let { chunkCount, treeCount, rawBytes, storedBytes } = this.#freed;
    const { filter } = this.#state;
    const onFreed = (entry: number, kind: ChunkKind): void => {
      if (kind === 'tree') treeCount += step;
      else chunkCount += step;
      if (!filter.hasLocation(entry)) return;
      rawBytes += step * filter.lengthOf(entry);
      storedBytes += step * filter.storedBytesOf(entry);
    };
    await planRelease(this.#state, snapshotIds, this.#readTree, { overlay: this.#overlay, step, onFreed });
    this.#freed = { chunkCount, treeCount, rawBytes, storedBytes };
  }
}
