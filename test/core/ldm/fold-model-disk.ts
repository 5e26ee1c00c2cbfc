import assert from 'node:assert/strict';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { RebuildNeededError } from '../../../src/core/ldm/filter-state.ts';
import type { FilterState, RepositoryListing } from '../../../src/core/ldm/filter-state.ts';
import { carrySnapshots } from '../../../src/core/ldm/fold-carry.ts';
import { releaseSnapshot } from '../../../src/core/ldm/fold-release.ts';
import { addSegment, retainSnapshot } from '../../../src/core/ldm/fold.ts';
import type { ReadTree } from '../../../src/core/ldm/fold.ts';
import { readImage } from '../../../src/core/ldm/image-reader.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import type { Prng } from '../../support/prng.ts';
import type { Chunk } from './fold-support.ts';
import { closureOf, emptyState, findDifference, idOf, pack, snapshotOf } from './fold-support.ts';
import { imageOf, sourceOf } from './image-support.ts';

/** A repository in memory: what would be on the disk, and the ways to a filter state from it. */
export class FoldModelDisk {
  readonly packs: Map<string, readonly Chunk[]> = new Map();
  readonly segments: Map<string, readonly PackContents[]> = new Map();
  readonly snapshots: Map<string, Chunk> = new Map();
  /** How often a state came from a checkpoint, and how often from nothing. */
  foldCount = 0;
  rebuildCount = 0;
  /** The newest last. */
  readonly #checkpoints: Buffer[] = [];
  readonly #useStale: boolean;

  /** `useStale`: the deliberate mistake to use checkpoints that are not current. */
  constructor(useStale: boolean) {
    this.#useStale = useStale;
  }

  /** The state as a command gets it: the newest usable checkpoint and what came since, else everything anew. */
  async open(): Promise<FilterState> {
    const segmentIds = new Set(this.segments.keys());
    for (const image of this.#checkpoints.toReversed()) {
      const state = await readImage(sourceOf(image));
      const listing: RepositoryListing = { segmentIds, isPresent: this.#isPresent };
      if (!this.#useStale && !state.isCurrent(listing)) continue;
      try {
        await this.#fold(state);
      } catch (error) {
        if (error instanceof CorruptDataError || error instanceof RebuildNeededError) continue;
        throw error;
      }
      this.foldCount += 1;
      return state;
    }
    this.rebuildCount += 1;
    return await this.rebuild();
  }

  /** The state from nothing, as if some segments were gone already. */
  async rebuild(without: ReadonlySet<string> = new Set()): Promise<FilterState> {
    const state = emptyState();
    await this.#fold(state, without);
    return state;
  }

  /** The same, with the counts of another state instead of the trees. */
  carry(source: FilterState, without: ReadonlySet<string>): FilterState {
    const state = emptyState();
    this.#addSegments(state, without);
    carrySnapshots(state, source);
    return state;
  }

  #addSegments(state: FilterState, without: ReadonlySet<string>): void {
    for (const [id, packs] of this.segments) if (!without.has(id)) addSegment(state, id, packs, this.#isPresent);
  }

  async #fold(state: FilterState, without: ReadonlySet<string> = new Set()): Promise<void> {
    this.#addSegments(state, without);
    const readTree = this.#treeReader(state);
    for (const [id, root] of this.snapshots) {
      if (!state.snapshots.has(id)) await retainSnapshot(state, id, snapshotOf(root), readTree);
    }
    for (const id of state.snapshots.keys()) if (!this.snapshots.has(id)) await releaseSnapshot(state, id, readTree);
  }

  readonly #isPresent = (packId: string): boolean => this.packs.has(packId);

  #treeReader(state: FilterState): ReadTree {
    return (entry) => {
      const id = idOf(state, entry);
      const chunks = this.packs.get(state.packs.get(state.filter.packIndexOf(entry)).id);
      const chunk = chunks?.find(({ hex }) => hex === id);
      if (chunk === undefined) throw new CorruptDataError(`tree ${id} is in a pack that is gone`);
      return chunk.bytes;
    };
  }

  /** Two checkpoints are kept. */
  async writeCheckpoint(state: FilterState): Promise<void> {
    this.#checkpoints.push(await imageOf(state));
    if (this.#checkpoints.length > 2) this.#checkpoints.shift();
  }

  writePack(id: string, chunks: readonly Chunk[]): PackContents {
    this.packs.set(id, chunks);
    return pack(id, chunks);
  }

  /** Counters nominate, a mark condemns: both must name the same chunks. */
  compareWithMark(state: FilterState): void {
    const marked = closureOf(...this.snapshots.values()).map(({ hex }) => hex);
    const counted: string[] = [];
    state.filter.forEachEntry((entry, isLive) => {
      if (isLive) counted.push(idOf(state, entry));
    });
    assert.deepEqual(counted.sort(), marked.sort(), 'the counts disagree with the mark');
  }

  /** Throws when an invariant does not hold after a step. */
  async check(step: string): Promise<void> {
    const stored = new Set([...this.packs.values()].flatMap((chunks) => chunks.map(({ hex }) => hex)));
    const needed = closureOf(...this.snapshots.values());
    assert(
      needed.every(({ hex }) => stored.has(hex)),
      `lost a chunk: ${step}`,
    );
    const [folded, rebuilt] = [await this.open(), await this.rebuild()];
    assert(rebuilt.isComplete, `a chunk that is needed has no location: ${step}`);
    const difference = findDifference(folded, rebuilt);
    assert(difference === undefined, `fold and rebuild differ: ${step}: ${difference}`);
    folded.packs.forEach(({ id }) => assert(this.packs.has(id), `the state names a pack that is gone: ${step}`));
  }

  loseCheckpoint(prng: Prng): void {
    if (this.#checkpoints.length > 0) this.#checkpoints.splice(prng.int(this.#checkpoints.length), 1);
  }
}
