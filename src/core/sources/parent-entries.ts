import { isWithin, parentOf } from '../files/paths/root-paths.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { encodeTree } from '../format/tree/tree.ts';
import { bareDirectory } from '../format/tree/tree-entry.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import { joinPath } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';
import type { ParentTree, ParentTrees } from './parent-tree.ts';
import type { PlannedName, SourcePlan } from './source-plan.ts';

/** Reads the entries of absolute paths from one snapshot. */
export class ParentEntries {
  readonly #snapshot: Snapshot;
  readonly #trees: ParentTrees;
  readonly #directories = new Map<ByteString, ParentTree | undefined>();

  constructor(snapshot: Snapshot, trees: ParentTrees) {
    this.#snapshot = snapshot;
    this.#trees = trees;
  }

  /** Returns undefined if the snapshot has no entry for the path, or if it cannot be read. */
  async read(path: ByteString): Promise<TreeEntry | undefined> {
    const directory = parentOf(path);
    if (!isWithin(directory, this.#snapshot.base)) return undefined;
    const name = path.slice(path.lastIndexOf('/') + 1) as ByteString;
    return (await this.#directory(directory))?.entries.find(name)?.decode();
  }

  /** Several roots may be in the same directory, which is decoded once. */
  async #directory(path: ByteString): Promise<ParentTree | undefined> {
    if (this.#directories.has(path)) return this.#directories.get(path);
    const { base, tree } = this.#snapshot;
    const id = path === base ? Buffer.from(tree, 'hex') : (await this.read(path))?.treeId;
    const directory = await this.#trees.read(id);
    this.#directories.set(path, directory);
    return directory;
  }
}

interface Composition {
  readonly entryOf: (root: ByteString) => TreeEntry | undefined;
  /** Keeps an encoded tree for the walk, and returns its id. */
  readonly hold: (bytes: Buffer) => Uint8Array;
}

/**
 * Composes the tree that a snapshot of exactly these roots would have, so that the walk and the counts need not know
 * that roots are compared with different snapshots. Returns undefined if `/` is the root: its tree is a snapshot's own.
 * `newest`: the snapshot that describes the directories above the roots.
 */
export async function composeParentTree(
  { base, names, isBaseRoot }: SourcePlan,
  newest: ParentEntries,
  { entryOf, hold }: Composition,
): Promise<Uint8Array | undefined> {
  const compose = async (
    directory: ByteString,
    children: ReadonlyMap<ByteString, PlannedName>,
  ): Promise<Uint8Array | undefined> => {
    const entries: TreeEntry[] = [];
    for (const name of [...children.keys()].toSorted()) {
      const path = joinPath(directory, name);
      const planned = children.get(name)!;
      const entry = planned.isRoot ? entryOf(path) : await describe(path, name, await compose(path, planned.children));
      if (entry !== undefined) entries.push(entry);
    }
    return entries.length === 0 ? undefined : hold(encodeTree(entries));
  };
  // A directory above a root may be in no snapshot in use. Only its type and tree matter.
  const describe = async (
    path: ByteString,
    name: ByteString,
    treeId: Uint8Array | undefined,
  ): Promise<TreeEntry | undefined> => {
    if (treeId === undefined) return undefined;
    const found = await newest.read(path);
    return found?.type === 'directory' ? { ...found, treeId } : bareDirectory(name, treeId);
  };
  return isBaseRoot ? undefined : await compose(base, names);
}
