import assert from 'node:assert/strict';
import { LdmError } from '../errors.ts';
import type { LdmFilter } from './ldm-filter.ts';
import { PackTable } from './pack-table.ts';

/** The data that a state keeps about a snapshot whose references it has counted. */
export interface FoldedSnapshot {
  /** Id of the root tree, 20 bytes. */
  readonly tree: Uint8Array;
  /** The bytes of the manifest, kept in the checkpoint so that repair can restore a lost manifest. */
  readonly manifest: Uint8Array;
}

/** The state cannot be updated incrementally. The caller drops it and rebuilds it from segments and snapshots. */
export class RebuildNeededError extends LdmError {
  override readonly code: string = 'REBUILD_NEEDED';
}

/** The current repository contents that decide whether a checkpoint can be used. */
export interface RepositoryListing {
  readonly segmentIds: ReadonlySet<string>;
  readonly isPresent: (packId: string) => boolean;
}

/**
 * The LDM filter together with the segments and snapshots that are folded into it and fully determine it. Change it
 * only with the functions in `fold.ts` and `fold-release.ts`.
 */
export class FilterState {
  readonly filter: LdmFilter;
  readonly packs: PackTable;
  /** Ids of the folded segments. */
  readonly segments: Set<string> = new Set();
  /** Packs that a folded segment lists but that were absent; their chunks are not in the filter. */
  readonly absentPacks: Set<string> = new Set();
  /** The folded snapshots, by id. */
  readonly snapshots: Map<string, FoldedSnapshot> = new Map();
  /**
   * Live trees that could not be read: hex id and reason. Their children are not counted, so chunks that are still
   * needed look dead. Such a state is never written as a checkpoint and never used for compaction.
   */
  readonly unreadableTrees: Map<string, string> = new Map();
  #isChanging = false;

  constructor(filter: LdmFilter, packs: PackTable = new PackTable()) {
    this.filter = filter;
    this.packs = packs;
  }

  /**
   * Whether every reference is counted and every live chunk has a location. Only then are dead chunks really unused.
   */
  get isComplete(): boolean {
    return !this.#isChanging && this.missingCount === 0;
  }

  /** How many live chunks have no location or, being trees, cannot be read. */
  get missingCount(): number {
    return this.filter.missingCount + this.unreadableTrees.size;
  }

  /**
   * Whether folding only the new segments and snapshots gives the same state as a rebuild. It does not if a folded
   * segment or a pack has disappeared, or if an absent pack has reappeared, because chunk locations would then differ.
   */
  isCurrent(listing: RepositoryListing): boolean {
    for (const id of this.segments) if (!listing.segmentIds.has(id)) return false;
    for (const id of this.absentPacks) if (listing.isPresent(id)) return false;
    let areAllPresent = true;
    this.packs.forEach((pack) => {
      areAllPresent &&= listing.isPresent(pack.id);
    });
    return areAllPresent;
  }

  /** Marks the state as half changed until `endChange`. If the change fails, the state remains marked. */
  beginChange(): void {
    assert(!this.#isChanging, 'a change of this filter state is in progress or has failed');
    this.#isChanging = true;
  }

  endChange(): void {
    this.#isChanging = false;
  }
}
