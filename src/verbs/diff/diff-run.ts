import type { EntryType, TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { EntryChange } from '../../core/snapshots/entry-changes.ts';
import { Comparison } from './comparison.ts';
import type { ComparisonOptions, LoneEntry } from './comparison.ts';
import { countEntry, newStatistics } from './diff-result.ts';
import type { DiffChange, DiffStatistics } from './diff-result.ts';
import { contentKeyOf, pairMoves } from './moves.ts';
import type { Movable } from './moves.ts';
import type { SideDirectory } from './side.ts';

interface DiffRunOptions extends Pick<ComparisonOptions, 'pacer' | 'changeOf' | 'onRead' | 'onUnreadable'> {
  /** Prepended to all paths; empty for relative paths. */
  readonly base: ByteString;
  readonly metadata: boolean;
  /** The tree of an empty directory: directories that are only empty are not the same. */
  readonly emptyTreeId: Uint8Array;
  /** Computes the chunk ids of a file on the new side that is not in a snapshot; undefined if it cannot be read. */
  readonly cut?: ((path: PathNode) => Promise<Uint8Array | undefined>) | undefined;
  /** Returns whether to ignore what is only in the snapshot. */
  readonly excludes?: ((path: PathNode) => boolean) | undefined;
}

interface LoneEntries {
  readonly before: LoneEntry[];
  readonly after: LoneEntry[];
}

/** Compares two directories, and finds out what was moved. */
export class DiffRun {
  readonly statistics: DiffStatistics = newStatistics();
  readonly #options: DiffRunOptions;
  readonly #comparison: Comparison;
  readonly #changes: DiffChange[] = [];
  /** Directories of one side that were not entered yet. */
  #directories: LoneEntries = { before: [], after: [] };
  readonly #others: LoneEntries = { before: [], after: [] };

  constructor(options: DiffRunOptions) {
    this.#options = options;
    this.#comparison = new Comparison({
      ...options,
      onChange: (path, change, before, after) => this.#onChange(path, change, before, after),
      onLone: (side, lone) => {
        if (side === 'before' && options.excludes?.(lone.path) === true) return;
        (lone.directory === undefined ? this.#others : this.#directories)[side].push(detach(lone));
      },
    });
  }

  /** Returns the changes in the order of their paths. */
  async run(before: SideDirectory, after: SideDirectory): Promise<readonly DiffChange[]> {
    await this.#comparison.run(before, after);
    while (this.#directories.before.length + this.#directories.after.length > 0) await this.#enterDirectories();
    await this.#pairFiles();
    return sortByPath(this.#changes);
  }

  /** Pairs the directories that were moved as they are, and enters the others. */
  async #enterDirectories(): Promise<void> {
    const keyOf = ({ directory }: LoneEntry): string | undefined => {
      const treeId = directory?.treeId;
      if (treeId === undefined || Buffer.compare(treeId, this.#options.emptyTreeId) === 0) return undefined;
      return Buffer.from(treeId).toString('hex');
    };
    const movable = (lone: LoneEntry): Movable => ({ lone, key: keyOf(lone) });
    const { before, after } = this.#directories;
    this.#directories = { before: [], after: [] };
    const { moves, removed, added } = pairMoves(before.map(movable), after.map(movable));
    for (const { from, to } of moves) this.#move(from, to);
    for (const lone of removed) {
      this.#lone('-', lone);
      await this.#comparison.list('before', lone);
    }
    for (const lone of added) {
      this.#lone('+', lone);
      await this.#comparison.list('after', lone);
    }
  }

  async #pairFiles(): Promise<void> {
    const removed = this.#others.before.map((lone) => ({ lone, key: keyOfFile(lone.entry, lone.entry.chunkIds) }));
    const sizes = new Set(removed.filter(({ key }) => key !== undefined).map(({ lone }) => lone.entry.sizeBytes));
    const added: Movable[] = [];
    for (const lone of this.#others.after) {
      const ids = sizes.has(lone.entry.sizeBytes) ? await this.#idsOf(lone) : undefined;
      added.push({ lone, key: ids === undefined ? undefined : keyOfFile(lone.entry, ids) });
    }
    const pairs = pairMoves(removed, added);
    for (const { from, to } of pairs.moves) this.#move(from, to);
    for (const lone of pairs.removed) this.#lone('-', lone);
    for (const lone of pairs.added) this.#lone('+', lone);
  }

  async #idsOf({ path, entry }: LoneEntry): Promise<Uint8Array | undefined> {
    const { cut } = this.#options;
    return cut === undefined || entry.type !== 'file' ? entry.chunkIds : await cut(path);
  }

  #onChange(path: PathNode, change: EntryChange, before: TreeEntry, after: TreeEntry): void {
    const { statistics } = this;
    if (change === 'U' && !this.#options.metadata) return;
    if (change === 'U') statistics.changedMetadata += 1;
    else if (change === 'T') statistics.changedTypes += 1;
    else if (after.type === 'file') statistics.changedFiles += 1;
    if (this.#options.cut !== undefined && change !== 'U') {
      statistics.added.bytes += after.sizeBytes;
      statistics.removed.bytes += before.sizeBytes;
    }
    this.#add(path, change, after.type);
  }

  #lone(modifier: '+' | '-', { path, entry }: LoneEntry): void {
    const counts = modifier === '+' ? this.statistics.added : this.statistics.removed;
    countEntry(counts, entry.type);
    if (this.#options.cut !== undefined) counts.bytes += entry.sizeBytes;
    this.#add(path, modifier, entry.type);
  }

  #move(from: LoneEntry, to: LoneEntry): void {
    if (to.entry.type === 'directory') this.statistics.movedDirectories += 1;
    else this.statistics.movedFiles += 1;
    this.#add(to.path, 'R', to.entry.type, from.path);
  }

  #add(path: PathNode, modifier: DiffChange['modifier'], type: EntryType, source?: PathNode): void {
    const { base } = this.#options;
    const shown = (node: PathNode): ByteString => (base === '' ? pathOf(node) : joinPath(base, pathOf(node)));
    this.#changes.push({ path: shown(path), modifier, type, sourcePath: source && shown(source) });
  }
}

function keyOfFile({ type, sizeBytes }: LoneEntry['entry'], chunkIds: Uint8Array): string | undefined {
  return type === 'file' ? contentKeyOf(sizeBytes, chunkIds) : undefined;
}

/** Keeps what is needed of an entry. The tree that it is a view of could otherwise not leave the memory. */
function detach({ path, entry, directory }: LoneEntry): LoneEntry {
  const { type, sizeBytes } = entry;
  return { path, directory, entry: { type, sizeBytes, chunkIds: entry.chunkIds.slice() } };
}

/** In the order of a walk: a directory, then what is in it. */
function sortByPath(changes: readonly DiffChange[]): readonly DiffChange[] {
  const keyed = changes.map((change) => ({ change, key: change.path.replaceAll('/', '\0') }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  return keyed.map(({ change }) => change);
}
