import type { TreeEntry } from '../format/tree/tree.ts';
import type { PathNode } from '../util/path-node.ts';
import type { Progress } from '../session/progress.ts';
import type { EntryChange } from './entry-listing.ts';
import type { MovedFiles } from './moved-files.ts';

/** Counts what a backup saves, for its summary. */
export class BackupTally {
  filesNew = 0;
  filesChanged = 0;
  filesUnmodified = 0;
  dirsNew = 0;
  dirsChanged = 0;
  dirsUnmodified = 0;
  /** Sockets are saved but never restored: the programs that listen on them create them. */
  socketCount = 0;
  totalBytesProcessed = 0;
  /** Entries that are neither files nor directories. */
  othersCount = 0;
  /** Set if there is a snapshot to compare with. */
  moved: MovedFiles | undefined;
  readonly #progress: Progress | undefined;

  constructor(progress: Progress | undefined) {
    this.#progress = progress;
  }

  get filesCount(): number {
    return this.filesNew + this.filesChanged + this.filesUnmodified;
  }

  /** Call before a file is read. */
  begin(file: PathNode): void {
    if (this.#progress !== undefined) this.#progress.currentFile = file;
  }

  /** Counts bytes that were read from the current file. */
  addBytes(count: number): void {
    if (this.#progress !== undefined) this.#progress.bytesDone += count;
  }

  /** Counts a saved file. `isReused` means that the file was not read. */
  countFile(entry: TreeEntry, previous: TreeEntry | undefined, isReused: boolean): EntryChange {
    const change = compareEntries(entry, previous);
    if (change === 'new') {
      this.filesNew += 1;
      this.moved?.addNew(entry.chunkIds);
    } else if (change === 'unmodified') this.filesUnmodified += 1;
    else this.filesChanged += 1;
    this.totalBytesProcessed += entry.sizeBytes;
    if (this.#progress !== undefined) {
      this.#progress.filesDone += 1;
      if (isReused) this.#progress.bytesDone += entry.sizeBytes;
    }
    return change;
  }

  countDirectory(entry: TreeEntry, previous: TreeEntry | undefined): EntryChange {
    const change = compareEntries(entry, previous);
    if (change === 'new') this.dirsNew += 1;
    else if (change === 'unmodified') this.dirsUnmodified += 1;
    else this.dirsChanged += 1;
    return change;
  }

  /** Counts an entry that is neither a file nor a directory. */
  countOther(entry: TreeEntry, previous: TreeEntry | undefined): EntryChange {
    this.othersCount += 1;
    if (entry.type === 'socket') this.socketCount += 1;
    return compareEntries(entry, previous);
  }
}

/** Counts chunks that were already stored but that no snapshot needed, left by an interrupted backup or a delete. */
export class ReusedChunks {
  chunkCount = 0;
  bytes = 0;
  readonly #entries = new Set<number>();

  /** Counts each chunk once. `entry` is its number in the filter. */
  add(entry: number, lengthBytes: number): void {
    if (this.#entries.has(entry)) return;
    this.#entries.add(entry);
    this.chunkCount += 1;
    this.bytes += lengthBytes;
  }
}

function compareEntries(entry: TreeEntry, previous: TreeEntry | undefined): EntryChange {
  if (entry === previous) return 'unmodified';
  if (previous?.type !== entry.type) return 'new';
  return hasSameContents(entry, previous) ? 'unmodified' : 'changed';
}

/** Compares two entries of the same type. */
function hasSameContents(a: TreeEntry, b: TreeEntry): boolean {
  if (a.type === 'file') return sameIds(a.chunkIds, b.chunkIds);
  if (a.type === 'directory') return sameIds(a.treeId!, b.treeId!);
  return a.linkTarget === b.linkTarget && a.deviceMajor === b.deviceMajor && a.deviceMinor === b.deviceMinor;
}

function sameIds(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || Buffer.compare(a, b) === 0;
}
