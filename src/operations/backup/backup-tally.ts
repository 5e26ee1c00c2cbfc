import type { TreeEntry } from '../../format/tree.ts';
import type { PathNode } from '../../util/path-node.ts';
import type { Progress } from '../context.ts';

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
  countFile(entry: TreeEntry, previous: TreeEntry | undefined, isReused: boolean): void {
    if (previous?.type !== 'file') this.filesNew += 1;
    else if (sameIds(entry.chunkIds, previous.chunkIds)) this.filesUnmodified += 1;
    else this.filesChanged += 1;
    this.totalBytesProcessed += entry.sizeBytes;
    if (this.#progress === undefined) return;
    this.#progress.filesDone += 1;
    if (isReused) this.#progress.bytesDone += entry.sizeBytes;
  }

  countDirectory(entry: TreeEntry, previous: TreeEntry | undefined): void {
    if (previous?.type !== 'directory') this.dirsNew += 1;
    else if (sameIds(entry.treeId!, previous.treeId!)) this.dirsUnmodified += 1;
    else this.dirsChanged += 1;
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

function sameIds(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || Buffer.compare(a, b) === 0;
}
