import type { FilterState } from '../../../src/core/ldm/filter-state.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { FoldModelDisk } from './fold-model-disk.ts';
import type { Chunk } from './fold-support.ts';
import { closureOf, fileId, leaf, tree } from './fold-support.ts';

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

interface FoldModelOptions {
  readonly bug?: ModelBug;
  readonly isEnough?: (result: ModelResult) => boolean;
}

/** All rounds are at most this many times as many as those that always run. */
const ROUNDS_FACTOR_MAX = 10;

type Step = 'open' | 'pack' | 'segment' | 'commit' | 'checkpoint' | 'segment removed' | 'pack removed';
/** A command: each step ends with one durable change, and a crash is a command that is not continued. */
type Command = AsyncGenerator<Step, void>;

/**
 * Random commands side by side on a repository in memory, on the real fold and the real image, with crashes and lost
 * checkpoints. After every step: all that a snapshot needs is in packs that exist; and the state from a checkpoint is
 * the state from nothing. Rejects when that is not so. Runs `rounds` rounds, and then more
 * until it is enough.
 */
export async function runFoldModel(
  seed: number,
  rounds: number,
  { bug, isEnough = () => true }: FoldModelOptions = {},
): Promise<ModelResult> {
  const model = new FoldModel(createPrng(seed), bug);
  for (let round = 0; round < rounds * ROUNDS_FACTOR_MAX; round += 1) {
    if (round >= rounds && isEnough(model.result)) break;
    await model.round();
  }
  return model.result;
}

class FoldModel {
  readonly result: ModelResult = { steps: 0, commits: 0, compactions: 0, crashes: 0, folds: 0, rebuilds: 0 };
  readonly #prng: Prng;
  readonly #bug: ModelBug | undefined;
  readonly #disk: FoldModelDisk;
  readonly #sharing = new Set<Command>();
  #exclusive: Command | undefined;
  readonly #trees: readonly Chunk[];

  constructor(prng: Prng, bug: ModelBug | undefined) {
    this.#prng = prng;
    this.#bug = bug;
    this.#disk = new FoldModelDisk(bug === 'stale-checkpoint');
    const leaves = (): Chunk[] => Array.from({ length: 3 }, () => leaf(prng.int(12)));
    this.#trees = Array.from({ length: 8 }, () => tree(...leaves()));
  }

  async round(): Promise<void> {
    const isShared = this.#sharing.size > 0 && this.#bug !== 'no-lock';
    const mayShare = this.#exclusive === undefined && this.#sharing.size < 3;
    const dice = this.#prng.int(100);
    if (dice < 3) this.#disk.loseCheckpoint(this.#prng);
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
    await this.#disk.check(value);
    this.result.folds = this.#disk.foldCount;
    this.result.rebuilds = this.#disk.rebuildCount;
  }

  #drop(command: Command): void {
    this.#sharing.delete(command);
    if (this.#exclusive === command) this.#exclusive = undefined;
  }

  async *#backup(root: Chunk): Command {
    const { filter } = await this.#disk.open();
    yield 'open';
    let absent = closureOf(root).filter(({ id }) => filter.find(id, 0) < 0);
    let unnamed: PackContents[] = [];
    while (absent.length > 0) {
      const count = 1 + this.#prng.int(4);
      unnamed.push(this.#disk.writePack(this.#newId(), absent.slice(0, count)));
      absent = absent.slice(count);
      yield 'pack';
      if (this.#prng.int(10) < 3) {
        this.#disk.segments.set(this.#newId(), unnamed);
        unnamed = [];
        yield 'segment';
      }
    }
    if (unnamed.length > 0) {
      this.#disk.segments.set(this.#newId(), unnamed);
      yield 'segment';
    }
    this.#disk.snapshots.set(this.#newId(), root);
    yield 'commit';
    yield* this.#maybeCheckpoint();
  }

  async *#delete(): Command {
    yield 'open';
    if (this.#disk.snapshots.size > 0) {
      this.#disk.snapshots.delete(this.#prng.pick([...this.#disk.snapshots.keys()]));
      yield 'commit';
    }
    yield* this.#maybeCheckpoint();
  }

  async *#compact(): Command {
    const state = await this.#disk.open();
    yield 'open';
    this.#disk.compareWithMark(state);
    const doomed = this.#chooseDoomed(state);
    let live = doomed.flatMap((id) =>
      this.#disk.packs.get(id)!.filter((chunk) => this.#isNeededFrom(state, chunk, id)),
    );
    const written: PackContents[] = [];
    while (live.length > 0) {
      const count = 1 + this.#prng.int(4);
      written.push(this.#disk.writePack(this.#newId(), live.slice(0, count)));
      live = live.slice(count);
      yield 'pack';
    }
    const replaced = [...this.#disk.segments].filter(([, packs]) => packs.some(({ id }) => doomed.includes(id)));
    const kept = replaced.flatMap(([, packs]) => packs.filter(({ id }) => !doomed.includes(id)));
    if (this.#bug === 'pack-first') yield* this.#removePacks(doomed);
    if (written.length + kept.length > 0) {
      this.#disk.segments.set(this.#newId(), [...written, ...kept]);
      yield 'segment';
    }
    const gone = new Set(replaced.map(([id]) => id));
    const isCarried = this.#prng.int(2) === 0;
    await this.#disk.writeCheckpoint(isCarried ? this.#disk.carry(state, gone) : await this.#disk.rebuild(gone));
    yield 'checkpoint';
    for (const [id] of replaced) {
      this.#disk.segments.delete(id);
      yield 'segment removed';
    }
    yield* this.#removePacks(doomed);
  }

  *#removePacks(ids: readonly string[]): Generator<Step, void> {
    for (const id of ids) {
      this.#disk.packs.delete(id);
      yield 'pack removed';
    }
  }

  /** Packs that no segment names, and most of those that hold something dead or stored elsewhere too. */
  #chooseDoomed(state: FilterState): string[] {
    const named = new Set([...this.#disk.segments.values()].flatMap((packs) => packs.map(({ id }) => id)));
    return [...this.#disk.packs].flatMap(([id, chunks]) => {
      const hasWaste = chunks.some((chunk) => !this.#isNeededFrom(state, chunk, id));
      return !named.has(id) || (hasWaste && this.#prng.int(10) < 7) ? [id] : [];
    });
  }

  #isNeededFrom({ filter, packs }: FilterState, chunk: Chunk, packId: string): boolean {
    const entry = filter.find(chunk.id, 0);
    return entry >= 0 && filter.refs(entry) > 0 && packs.get(filter.packIndexOf(entry)).id === packId;
  }

  async *#maybeCheckpoint(): Command {
    if (this.#prng.int(10) >= 4) return;
    await this.#disk.writeCheckpoint(await this.#disk.open());
    yield 'checkpoint';
  }

  /** Random, as the SHA-256 that names a file: nothing may follow from its order. */
  #newId(): string {
    return fileId(this.#prng.next() * 2 ** 20 + this.#prng.int(2 ** 20));
  }

  #randomRoot(): Chunk {
    const some = (): Chunk => this.#prng.pick(this.#trees);
    const middle = (): Chunk => tree(some(), some(), leaf(this.#prng.int(20)));
    return tree(middle(), middle(), some());
  }
}
