import type { TreeEntry } from '../../format/tree.ts';
import type { PathNode } from '../../util/path-node.ts';
import type { Progress } from '../context.ts';
import type { ParentSnapshot } from './parent-snapshot.ts';

/** Counts what a backup saves, for its summary. */
export class BackupTally {
  filesNew = 0;
  filesChanged = 0;
  filesUnmodified = 0;
  dirsNew = 0;
  dirsChanged = 0;
  dirsUnmodified = 0;
  /** Saved, but never restored: the programs that listen on them create them. */
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

  /** A file is about to be read. */
  begin(file: PathNode): void {
    if (this.#progress !== undefined) this.#progress.currentFile = file;
  }

  /** Bytes of it were read. */
  addBytes(count: number): void {
    if (this.#progress !== undefined) this.#progress.bytesDone += count;
  }

  /** A file is saved; `isReused` if it was not read. */
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

/** What the parent snapshot has and this one does not. */
export interface RemovedCounts {
  readonly files: number;
  readonly directories: number;
}

/** Chunks that were stored already although no snapshot needed them: an interrupted backup or a delete left them. */
export class ReusedChunks {
  chunkCount = 0;
  bytes = 0;
  readonly #entries = new Set<number>();

  /** `entry`: the chunk's number in the filter. Each is counted once. */
  add(entry: number, lengthBytes: number): void {
    if (this.#entries.has(entry)) return;
    this.#entries.add(entry);
    this.chunkCount += 1;
    this.bytes += lengthBytes;
  }
}

/**
 * Everything in the parent snapshot that no file or directory was compared with. Undefined where some were compared
 * with older snapshots.
 */
export function countRemoved(tally: BackupTally, parent: ParentSnapshot | undefined): RemovedCounts | undefined {
  if (parent === undefined) return { files: 0, directories: 0 };
  if (parent.olderRoots.size > 0) return undefined;
  const { filesChanged, filesUnmodified, dirsChanged, dirsUnmodified } = tally;
  const { totalFilesProcessed, dirsNew, dirsChanged: changed, dirsUnmodified: unmodified } = parent.summary;
  return {
    files: totalFilesProcessed - filesChanged - filesUnmodified,
    directories: dirsNew + changed + unmodified - dirsChanged - dirsUnmodified,
  };
}

function sameIds(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || Buffer.compare(a, b) === 0;
}
