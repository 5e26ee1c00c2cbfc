import assert from 'node:assert/strict';
import { LdmError } from '../errors.ts';
import type { LdmFilter } from './ldm-filter.ts';
import { PackTable } from './pack-table.ts';

/** What a state keeps of a snapshot whose references it has counted. */
export interface FoldedSnapshot {
  /** Id of the root tree, 20 bytes. */
  readonly tree: Uint8Array;
  /** The manifest's bytes: they travel with the checkpoint, so that repair can write a lost manifest again. */
  readonly manifest: Uint8Array;
}

/** A state that cannot be brought up to date step by step. The caller drops it and rebuilds from segments and snapshots. */
export class RebuildNeededError extends LdmError {
  override readonly code: string = 'REBUILD_NEEDED';
}

/** What is in the repository now, as far as it decides whether a checkpoint may be used. */
export interface RepositoryListing {
  readonly segmentIds: ReadonlySet<string>;
  readonly isPresent: (packId: string) => boolean;
}

/**
 * The LDM filter together with everything that it is a function of: the segments and the snapshots that are folded
 * into it. Change it with the functions of `fold.ts` and `fold-release.ts` only.
 */
export class FilterState {
  readonly filter: LdmFilter;
  readonly packs: PackTable;
  /** Ids of the folded segments. */
  readonly segments: Set<string> = new Set();
  /** Packs that a folded segment names and that were not there; their chunks are not in the filter. */
  readonly absentPacks: Set<string> = new Set();
  /** The folded snapshots by id. */
  readonly snapshots: Map<string, FoldedSnapshot> = new Map();
  /**
   * Live trees that could not be read (hex id, and why): their children are not counted. No checkpoint is written of
   * such a state and nothing is compacted by it, because chunks that are needed look dead to it.
   */
  readonly unreadableTrees: Map<string, string> = new Map();
  #isChanging = false;

  constructor(filter: LdmFilter, packs: PackTable = new PackTable()) {
    this.filter = filter;
    this.packs = packs;
  }

  /** Whether every reference is counted and every live chunk has a location, so that "dead" can be believed. */
  get isComplete(): boolean {
    return !this.#isChanging && this.unreadableTrees.size === 0 && this.filter.missingCount === 0;
  }

  /**
   * Whether folding only what is new leads to the state that a rebuild would give. It does not when a folded segment
   * or a pack has gone, or a pack that was absent is back: then a chunk's location would differ.
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

  /** Marks the state as half changed until `endChange`; a change that failed leaves it so for good. */
  beginChange(): void {
    assert(!this.#isChanging, 'a change of this filter state is under way or has failed');
    this.#isChanging = true;
  }

  endChange(): void {
    this.#isChanging = false;
  }
}
