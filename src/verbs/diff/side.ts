import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { bareDirectory } from '../../core/format/tree/tree-entry.ts';
import type { StateReader } from '../../core/repository/state-reader.ts';
import { readTree } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';

/** An entry of one of the two things that are compared. */
export interface SideEntry {
  readonly name: ByteString;
  /** Undefined if it is there but cannot be examined, so nothing can be said about it. */
  readonly entry: TreeEntry | undefined;
  /** Of a directory. */
  readonly directory: SideDirectory | undefined;
}

/** A directory of one of the two things that are compared. */
export interface SideDirectory {
  /** Directories with the same id have the same contents. Undefined if it is not in a snapshot. */
  readonly treeId: Uint8Array | undefined;
  /** Returns the entries in byte order of their names. */
  open(): Promise<SideEntries>;
}

export interface SideEntries {
  next(): SideEntry | undefined;
}

/** A directory of a snapshot. */
export class SnapshotDirectory implements SideDirectory {
  readonly treeId: Uint8Array;
  readonly #reader: StateReader;

  constructor(reader: StateReader, treeId: Uint8Array) {
    this.#reader = reader;
    this.treeId = treeId;
  }

  async open(): Promise<SideEntries> {
    const tree = await readTree(this.#reader, this.treeId);
    return {
      next: () => {
        const entry = tree.nextEncoded();
        if (entry === undefined) return undefined;
        const { name, treeId } = entry;
        // A view of the tree would keep it in memory.
        const directory = treeId === undefined ? undefined : new SnapshotDirectory(this.#reader, treeId.slice());
        return { name, entry, directory };
      },
    };
  }
}

/** A directory above the root of a snapshot, of which only the way to the root is known. */
export class DirectoryAbove implements SideDirectory {
  readonly treeId: undefined = undefined;
  readonly #name: ByteString;
  readonly #child: SideDirectory;

  constructor(name: ByteString, child: SideDirectory) {
    this.#name = name;
    this.#child = child;
  }

  open(): Promise<SideEntries> {
    const name = this.#name;
    const entries: SideEntry[] = [{ name, entry: bareDirectory(name, new Uint8Array(0)), directory: this.#child }];
    return Promise.resolve({ next: () => entries.pop() });
  }
}

/** What is compared on a side if it is one entry: a directory with nothing else in it. */
export function singleEntry(entry: TreeEntry): SideDirectory {
  const open = (): Promise<SideEntries> => {
    const entries: SideEntry[] = [{ name: entry.name, entry, directory: undefined }];
    return Promise.resolve({ next: () => entries.pop() });
  };
  return { treeId: undefined, open };
}
