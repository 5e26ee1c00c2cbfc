import { isDamage } from '../../core/errors.ts';
import type { PathAutomaton, PathState } from '../../core/files/paths/path-automaton.ts';
import { TreeReader } from '../../core/format/tree/tree.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { StateReader } from '../../core/repository/state-reader.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { detachedEntry } from '../../core/snapshots/entry-changes.ts';

/** What matches in a directory and below it. Snapshots that have the same directory share it. */
export interface TreeHits {
  /** In byte order of the names: entries that match, and directories with something that does. */
  readonly items: readonly HitItem[];
  /** How many entries match. */
  readonly count: number;
}

interface HitItem {
  readonly name: ByteString;
  /** Undefined if only something below it matches. */
  readonly entry: TreeEntry | undefined;
  readonly below: TreeHits | undefined;
}

/** A directory to be searched, or that matches itself. */
interface Candidate {
  readonly name: ByteString;
  readonly entry: TreeEntry | undefined;
  readonly treeId: Uint8Array;
  readonly state: PathState;
}

interface CollectedHits {
  readonly items: HitItem[];
  count: number;
}

interface OpenDirectory extends Candidate, CollectedHits {
  readonly parent: CollectedHits;
  readonly number: number;
  readonly tree: TreeReader;
}

interface TreeSearchOptions {
  readonly reader: StateReader;
  readonly automaton: PathAutomaton;
  readonly pacer: Pacer;
  /** Called once for each tree that cannot be read, with the names of the directories on the way to it. */
  readonly onUnreadable: (error: Error, names: readonly ByteString[]) => void;
}

/**
 * Searches trees for entries that match patterns. Each tree is read once for each state of the patterns, which is once
 * for patterns without slashes: what is in it is remembered for all other snapshots that have it.
 */
export class TreeSearch {
  /** The number of trees that were read. */
  treesRead = 0;
  readonly #options: TreeSearchOptions;
  /** The hits in each tree by its number in the filter, for each set of positions in the patterns. */
  readonly #known = new Map<PathState['positions'], Map<number, TreeHits | undefined>>();
  /** Hex ids of trees that cannot be read. */
  readonly #unreadable = new Set<string>();

  constructor(options: TreeSearchOptions) {
    this.#options = options;
  }

  /** Returns what matches below a directory, or undefined if nothing does. `state`: that of the directory. */
  async search(treeId: Uint8Array, state: PathState): Promise<TreeHits | undefined> {
    const outside: CollectedHits = { items: [], count: 0 };
    const stack: OpenDirectory[] = [];
    let next: Candidate | undefined = { name: '' as ByteString, entry: undefined, treeId, state };
    for (;;) {
      if (next !== undefined) await this.#enter(stack, next, stack.at(-1) ?? outside);
      const directory = stack.at(-1);
      if (directory === undefined) return outside.items[0]?.below;
      next = this.#advance(directory);
      if (next === undefined) this.#leave(stack.pop()!);
      const pause = this.#options.pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  /** Collects matching entries up to the next directory that may contain others. */
  #advance(directory: OpenDirectory): Candidate | undefined {
    for (let entry = directory.tree.nextEncoded(); entry !== undefined; entry = directory.tree.nextEncoded()) {
      const { name, treeId } = entry;
      const state = this.#options.automaton.enter(directory.state, name);
      const found = state.isMatch ? detachedEntry(entry.decode()) : undefined;
      if (treeId !== undefined && !state.isDead) return { name, entry: found, treeId, state };
      addItem(directory, { name, entry: found, below: undefined });
    }
    return undefined;
  }

  async #enter(stack: OpenDirectory[], candidate: Candidate, parent: CollectedHits): Promise<void> {
    const { name, entry, treeId, state } = candidate;
    const hits = this.#known.get(state.positions) ?? new Map<number, TreeHits | undefined>();
    this.#known.set(state.positions, hits);
    const { reader, onUnreadable } = this.#options;
    try {
      const number = this.#isUnreadable(treeId) ? undefined : reader.entryOf(treeId, 0);
      if (number === undefined || hits.has(number)) {
        addItem(parent, { name, entry, below: number === undefined ? undefined : hits.get(number) });
        return;
      }
      const tree = new TreeReader(await reader.readEntry(number));
      this.treesRead += 1;
      stack.push({ ...candidate, parent, number, tree, items: [], count: 0 });
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#unreadable.add(Buffer.from(treeId).toString('hex'));
      onUnreadable(error, [...stack.map((open) => open.name), name]);
      addItem(parent, { name, entry, below: undefined });
    }
  }

  #leave({ name, entry, items, count, number, state, parent }: OpenDirectory): void {
    const below = items.length === 0 ? undefined : { items, count };
    this.#known.get(state.positions)!.set(number, below);
    addItem(parent, { name, entry, below });
  }

  #isUnreadable(treeId: Uint8Array): boolean {
    return this.#unreadable.size > 0 && this.#unreadable.has(Buffer.from(treeId).toString('hex'));
  }
}

function addItem(to: CollectedHits, item: HitItem): void {
  if (item.entry === undefined && item.below === undefined) return;
  to.items.push(item);
  to.count += (item.entry === undefined ? 0 : 1) + (item.below?.count ?? 0);
}
