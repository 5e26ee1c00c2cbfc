import assert from 'node:assert/strict';
import { CorruptDataError } from '../../src/errors.ts';
import type { FilterState, RepositoryListing } from '../../src/filter/filter-state.ts';
import { RebuildNeededError } from '../../src/filter/filter-state.ts';
import { releaseSnapshot } from '../../src/filter/fold-release.ts';
import { addSegment, retainSnapshot } from '../../src/filter/fold.ts';
import type { ReadTree } from '../../src/filter/fold.ts';
import { readImage } from '../../src/filter/image.ts';
import type { PackContents } from '../../src/format/pack.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import type { Chunk } from './fold-support.ts';
import { closureOf, emptyState, fileId, findDifference, idOf, leaf, pack, snapshotOf, tree } from './fold-support.ts';
import { imageOf, sourceOf } from './image-support.ts';

/**
 * A deliberate mistake: packs removed before the segments that name them, a checkpoint used although a segment that it
 * lists is gone, a compaction beside other commands.
 */
export type ModelBug = 'pack-first' | 'stale-checkpoint' | 'no-lock';

export interface ModelResult {
  steps: number;
  commits: number;
  compactions: number;
  crashes: number;
  /** How often a state came from a checkpoint, and how often from nothing. */
  folds: number;
  rebuilds: number;
}

type Step = 'open' | 'pack' | 'segment' | 'commit' | 'checkpoint' | 'segment removed' | 'pack removed';
/** A command: each step ends with one durable change, and a crash is a command that is not continued. */
type Command = AsyncGenerator<Step, void>;

/**
 * Random commands side by side on a repository in memory, on the real fold and the real image, with crashes and lost
 * checkpoints. After every step: all that a snapshot needs is in packs that exist; and the state from a checkpoint is
 * the state from nothing. Rejects when that is not so.
 */
export async function runFoldModel(seed: number, rounds: number, bug?: ModelBug): Promise<ModelResult> {
  const model = new FoldModel(createPrng(seed), bug);
  for (let round = 0; round < rounds; round += 1) await model.round();
  return model.result;
}

class FoldModel {
  readonly result: ModelResult = { steps: 0, commits: 0, compactions: 0, crashes: 0, folds: 0, rebuilds: 0 };
  readonly #prng: Prng;
  readonly #bug: ModelBug | undefined;
  readonly #packs = new Map<string, { contents: PackContents; chunks: readonly Chunk[] }>();
  readonly #segments = new Map<string, readonly PackContents[]>();
  readonly #snapshots = new Map<string, Chunk>();
  /** The newest last. */
  readonly #checkpoints: Buffer[] = [];
  readonly #sharing = new Set<Command>();
  #exclusive: Command | undefined;
  readonly #trees: readonly Chunk[];

  constructor(prng: Prng, bug: ModelBug | undefined) {
    this.#prng = prng;
    this.#bug = bug;
    const leaves = (): Chunk[] => Array.from({ length: 3 }, () => leaf(prng.int(12)));
    this.#trees = Array.from({ length: 8 }, () => tree(...leaves()));
  }

  async round(): Promise<void> {
    const isShared = this.#sharing.size > 0 && this.#bug !== 'no-lock';
    const mayShare = this.#exclusive === undefined && this.#sharing.size < 3;
    const dice = this.#prng.int(100);
    if (dice < 3) this.#loseCheckpoint();
    else if (dice < 13 && mayShare) this.#sharing.add(this.#backup(this.#randomRoot()));
    else if (dice < 23 && mayShare) this.#sharing.add(this.#delete());
    else if (dice < 38 && this.#exclusive === undefined && !isShared) this.#exclusive = this.#compact();
    else await this.#advance();
  }

  async #advance(): Promise<void> {
    const commands = [...this.#sharing, ...(this.#exclusive === undefined ? [] : [this.#exclusive])];
    if (commands.length === 0) return;
    const command = this.#prng.pick(commands);
    if (this.#prng.int(100) < 2) {
      this.result.crashes += 1;
      this.#drop(command);
      return;
    }
    const { done, value } = await command.next();
    if (done === true) {
      this.result.compactions += command === this.#exclusive ? 1 : 0;
      this.#drop(command);
      return;
    }
    this.result.steps += 1;
    this.result.commits += value === 'commit' ? 1 : 0;
    await this.#check(value);
  }

  #loseCheckpoint(): void {
    if (this.#checkpoints.length > 0) this.#checkpoints.splice(this.#prng.int(this.#checkpoints.length), 1);
  }

  #drop(command: Command): void {
    this.#sharing.delete(command);
    if (this.#exclusive === command) this.#exclusive = undefined;
  }

  async *#backup(root: Chunk): Command {
    const { filter } = await this.#open();
    yield 'open';
    let absent = closureOf(root).filter(({ id }) => filter.find(id, 0) < 0);
    let unnamed: PackContents[] = [];
    while (absent.length > 0) {
      const count = 1 + this.#prng.int(4);
      unnamed.push(this.#writePack(absent.slice(0, count)));
      absent = absent.slice(count);
      yield 'pack';
      if (this.#prng.int(10) < 3) {
        this.#segments.set(this.#newId(), unnamed);
        unnamed = [];
        yield 'segment';
      }
    }
    if (unnamed.length > 0) {
      this.#segments.set(this.#newId(), unnamed);
      yield 'segment';
    }
    this.#snapshots.set(this.#newId(), root);
    yield 'commit';
    yield* this.#maybeCheckpoint();
  }

  async *#delete(): Command {
    yield 'open';
    if (this.#snapshots.size > 0) {
      this.#snapshots.delete(this.#prng.pick([...this.#snapshots.keys()]));
      yield 'commit';
    }
    yield* this.#maybeCheckpoint();
  }

  async *#compact(): Command {
    const state = await this.#open();
    yield 'open';
    this.#compareWithMark(state);
    const doomed = this.#chooseDoomed(state);
    let live = doomed.flatMap((id) =>
      this.#packs.get(id)!.chunks.filter((chunk) => this.#isNeededFrom(state, chunk, id)),
    );
    const written: PackContents[] = [];
    while (live.length > 0) {
      const count = 1 + this.#prng.int(4);
      written.push(this.#writePack(live.slice(0, count)));
      live = live.slice(count);
      yield 'pack';
    }
    const replaced = [...this.#segments].filter(([, packs]) => packs.some(({ id }) => doomed.includes(id)));
    const kept = replaced.flatMap(([, packs]) => packs.filter(({ id }) => !doomed.includes(id)));
    if (this.#bug === 'pack-first') yield* this.#removePacks(doomed);
    if (written.length + kept.length > 0) {
      this.#segments.set(this.#newId(), [...written, ...kept]);
      yield 'segment';
    }
    await this.#writeCheckpoint(await this.#rebuild(new Set(replaced.map(([id]) => id))));
    yield 'checkpoint';
    for (const [id] of replaced) {
      this.#segments.delete(id);
      yield 'segment removed';
    }
    yield* this.#removePacks(doomed);
  }

  *#removePacks(ids: readonly string[]): Generator<Step, void> {
    for (const id of ids) {
      this.#packs.delete(id);
      yield 'pack removed';
    }
  }

  /** Packs that no segment names, and most of those that hold something dead or stored elsewhere too. */
  #chooseDoomed(state: FilterState): string[] {
    const named = new Set([...this.#segments.values()].flatMap((packs) => packs.map(({ id }) => id)));
    return [...this.#packs].flatMap(([id, { chunks }]) => {
      const hasWaste = chunks.some((chunk) => !this.#isNeededFrom(state, chunk, id));
      return !named.has(id) || (hasWaste && this.#prng.int(10) < 7) ? [id] : [];
    });
  }

  #isNeededFrom({ filter, packs }: FilterState, chunk: Chunk, packId: string): boolean {
    const entry = filter.find(chunk.id, 0);
    return entry >= 0 && filter.refs(entry) > 0 && packs.get(filter.packIndexOf(entry)).id === packId;
  }

  #compareWithMark(state: FilterState): void {
    const marked = closureOf(...this.#snapshots.values()).map(({ hex }) => hex);
    const counted: string[] = [];
    state.filter.forEachEntry((entry, isLive) => {
      if (isLive) counted.push(idOf(state, entry));
    });
    assert.deepEqual(counted.sort(), marked.sort(), 'the counts disagree with the mark');
  }

  async #open(): Promise<FilterState> {
    const segmentIds = new Set(this.#segments.keys());
    for (const image of this.#checkpoints.toReversed()) {
      const state = await readImage(sourceOf(image));
      const listing: RepositoryListing = { segmentIds, isPresent: this.#isPresent };
      if (this.#bug !== 'stale-checkpoint' && !state.isCurrent(listing)) continue;
      try {
        await this.#fold(state);
      } catch (error) {
        if (error instanceof CorruptDataError || error instanceof RebuildNeededError) continue;
        throw error;
      }
      this.result.folds += 1;
      return state;
    }
    this.result.rebuilds += 1;
    return await this.#rebuild();
  }

  async #rebuild(without: ReadonlySet<string> = new Set()): Promise<FilterState> {
    const state = emptyState();
    await this.#fold(state, without);
    return state;
  }

  async #fold(state: FilterState, without: ReadonlySet<string> = new Set()): Promise<void> {
    for (const [id, packs] of this.#segments) if (!without.has(id)) addSegment(state, id, packs, this.#isPresent);
    const readTree = this.#treeReader(state);
    for (const [id, root] of this.#snapshots) {
      if (!state.snapshots.has(id)) await retainSnapshot(state, id, snapshotOf(root), readTree);
    }
    for (const id of state.snapshots.keys()) if (!this.#snapshots.has(id)) await releaseSnapshot(state, id, readTree);
  }

  readonly #isPresent = (packId: string): boolean => this.#packs.has(packId);

  #treeReader(state: FilterState): ReadTree {
    return (entry) => {
      const id = idOf(state, entry);
      const found = this.#packs.get(state.packs.get(state.filter.packIndexOf(entry)).id);
      const chunk = found?.chunks.find(({ hex }) => hex === id);
      if (chunk === undefined) throw new CorruptDataError(`tree ${id} is in a pack that is gone`);
      return chunk.bytes;
    };
  }

  async *#maybeCheckpoint(): Command {
    if (this.#prng.int(10) >= 4) return;
    await this.#writeCheckpoint(await this.#open());
    yield 'checkpoint';
  }

  async #writeCheckpoint(state: FilterState): Promise<void> {
    this.#checkpoints.push(await imageOf(state));
    if (this.#checkpoints.length > 2) this.#checkpoints.shift();
  }

  #writePack(chunks: readonly Chunk[]): PackContents {
    const contents = pack(this.#newId(), chunks);
    this.#packs.set(contents.id, { contents, chunks });
    return contents;
  }

  /** Random, as the SHA-256 that names a file: nothing may follow from its order. */
  #newId(): string {
    return fileId(this.#prng.next() * 2 ** 20 + this.#prng.int(2 ** 20));
  }

  async #check(step: Step): Promise<void> {
    const stored = new Set([...this.#packs.values()].flatMap(({ chunks }) => chunks.map(({ hex }) => hex)));
    const needed = closureOf(...this.#snapshots.values());
    assert(
      needed.every(({ hex }) => stored.has(hex)),
      `lost a chunk: ${step}`,
    );
    const [folded, rebuilt] = [await this.#open(), await this.#rebuild()];
    assert(rebuilt.isComplete, `a chunk that is needed has no location: ${step}`);
    const difference = findDifference(folded, rebuilt);
    assert(difference === undefined, `fold and rebuild differ: ${step}: ${difference}`);
    folded.packs.forEach(({ id }) => assert(this.#packs.has(id), `the state names a pack that is gone: ${step}`));
  }

  #randomRoot(): Chunk {
    const some = (): Chunk => this.#prng.pick(this.#trees);
    const middle = (): Chunk => tree(some(), some(), leaf(this.#prng.int(20)));
    return tree(middle(), middle(), some());
  }
}
