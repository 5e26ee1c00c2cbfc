import { TreeReader } from '../format/tree/tree.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import { bareDirectory } from '../format/tree/tree-entry.ts';
import type { ByteString } from '../util/byte-string.ts';
import type { PathNode } from '../util/path-node.ts';
import type { StateReader } from './state-reader.ts';

/** Entries that can be read once, in order. */
type EntrySequence = Pick<TreeReader, 'next'>;

/**
 * One step of a walk. `enter` comes before the entries of a directory and `leave` after them; `entry` is anything but a
 * directory. `unreadable` comes instead of the entries of a directory whose tree cannot be read.
 */
export interface TreeStep extends PathNode {
  readonly kind: 'enter' | 'leave' | 'entry' | 'unreadable';
  readonly entry: TreeEntry;
  /** Why the directory cannot be read. */
  readonly error?: unknown;
}

interface OpenTree {
  readonly entries: EntrySequence;
  readonly directory: PathNode | undefined;
  /** Undefined for the top directory. */
  readonly step: TreeStep | undefined;
}

/** Opens a tree to read its entries. */
export async function readTree(reader: StateReader, treeId: Uint8Array): Promise<TreeReader> {
  return new TreeReader(await reader.read(treeId, 0));
}

/** Returns a sequence of one entry. */
export function onlyEntry(entry: TreeEntry): EntrySequence {
  const entries = [entry];
  return { next: () => entries.pop() };
}

/** Walks a whole snapshot. Its root has steps too, as a directory with an empty name. */
export function walkSnapshot(reader: StateReader, treeId: Uint8Array): TreeWalk {
  return new TreeWalk(reader, { entries: onlyEntry(bareDirectory('' as ByteString, treeId)) });
}

/**
 * Walks the trees of a snapshot in byte order. The paths of the steps start at `top`, which has no steps itself. Only
 * the current branch is in memory.
 */
export class TreeWalk {
  readonly #reader: StateReader;
  readonly #stack: OpenTree[];
  /** The directory entered last, until its tree is read. */
  #entered: TreeStep | undefined;

  constructor(reader: StateReader, place: Pick<SnapshotPlace, 'entries'>, top?: PathNode) {
    this.#reader = reader;
    this.#stack = [{ entries: place.entries, directory: top, step: undefined }];
  }

  /** Returns the next step, or undefined at the end. Returns a promise only if a tree has to be read. */
  next(): TreeStep | undefined | Promise<TreeStep | undefined> {
    const entered = this.#entered;
    if (entered === undefined) return this.#advance();
    this.#entered = undefined;
    return this.#open(entered);
  }

  /** Call after `enter` to leave out the entries of the directory. There will be no `leave` for it either. */
  skip(): void {
    this.#entered = undefined;
  }

  #advance(): TreeStep | undefined {
    const tree = this.#stack.at(-1);
    if (tree === undefined) return undefined;
    const entry = tree.entries.next();
    if (entry === undefined) {
      this.#stack.pop();
      return tree.step === undefined ? undefined : { ...tree.step, kind: 'leave' };
    }
    const place = { parent: tree.directory, name: entry.name };
    if (entry.treeId === undefined) return { kind: 'entry', ...place, entry };
    this.#entered = { kind: 'enter', ...place, entry };
    return this.#entered;
  }

  async #open(step: TreeStep): Promise<TreeStep | undefined> {
    try {
      this.#stack.push({ entries: await readTree(this.#reader, step.entry.treeId!), directory: step, step });
    } catch (error) {
      this.#stack.push({ entries: { next: () => undefined }, directory: step, step });
      return { ...step, kind: 'unreadable', error };
    }
    return this.#advance();
  }
}

/** The place that a selector names: a whole directory, or one entry in it. */
export interface SnapshotPlace {
  /** The path of the directory inside the snapshot; empty for the root. */
  readonly directory: ByteString;
  /** The entry of the directory, if all of it is selected. The root of a snapshot has none. */
  readonly directoryEntry: TreeEntry | undefined;
  /** See `FoundEntry`. */
  readonly parents: readonly TreeEntry[];
  /** The selected entries of the directory. */
  readonly entries: EntrySequence;
  /** Whether they are all entries of the directory. */
  readonly isWholeDirectory: boolean;
}
