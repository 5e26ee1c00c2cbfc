import type { FilterState } from '../ldm/filter-state.ts';

interface Found {
  readonly snapshots: ReadonlyMap<string, string>;
  readonly segments: ReadonlyMap<string, string>;
  readonly checkpoints: ReadonlyMap<string, string>;
  readonly lostSnapshots: readonly string[];
  readonly lostSegments: readonly string[];
}

/** What was damaged or missing when a repository was opened. */
export class OpenedDamage {
  /** Snapshots whose manifest cannot be read and that are not known from elsewhere, with the reason. */
  readonly snapshots: ReadonlyMap<string, string>;
  /** Segments that cannot be read, with the reason: their chunks are unknown. */
  readonly segments: ReadonlyMap<string, string>;
  /** Damaged checkpoints, with the reason. They were not used. */
  readonly checkpoints: ReadonlyMap<string, string>;
  /** Snapshots known from a checkpoint or manifest copy, but not in snapshots/ or deleted/. They stay retained. */
  readonly lostSnapshots: readonly string[];
  /** Segments that a checkpoint lists but that are lost: a regular removal removes such checkpoints first. */
  readonly lostSegments: readonly string[];
  readonly #state: FilterState;

  constructor(state: FilterState, found: Found) {
    this.#state = state;
    this.snapshots = found.snapshots;
    this.segments = found.segments;
    this.checkpoints = found.checkpoints;
    this.lostSnapshots = found.lostSnapshots;
    this.lostSegments = found.lostSegments;
  }

  /** The number of snapshots, segments and trees that cannot be read. */
  get unreadableCount(): number {
    return this.snapshots.size + this.segments.size + this.#state.unreadableTrees.size;
  }

  /**
   * Whether the state counts everything: all snapshots, segments and trees can be read, and every live chunk has a
   * location. What is lost does not matter here: lost snapshots are counted, and packs of lost segments are not
   * missing unless a chunk is.
   */
  get isWhole(): boolean {
    return this.#state.isComplete && this.unreadableCount === 0;
  }
}
