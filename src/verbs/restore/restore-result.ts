import type { RestoreProblem } from '../../core/session/notices.ts';
import type { EntryType } from '../../core/format/tree/tree-entry.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { FetchedChunks } from '../../core/healing/domain-chunks.ts';
import type { UnsetCount } from './attribute-tally.ts';

/** What a restore did with an entry, in restic's words. A file that differs and was kept is `unchanged`. */
export type RestoreAction = 'restored' | 'updated' | 'unchanged' | 'deleted';

/** An entry of the snapshot, or one that was deleted from the target. */
export interface RestoredEntry {
  /** Relative to the target, shortened if it is very long. */
  readonly path: ByteString;
  readonly action: RestoreAction;
  readonly type: EntryType;
  /** 0 for anything but a file. */
  readonly sizeBytes: number;
}

export interface RestoreResult {
  readonly snapshotId: string;
  readonly target: ByteString;
  readonly filesRestored: number;
  /** They existed with the same size and time. */
  readonly filesUnchanged: number;
  /** They existed, differ, and were kept. */
  readonly filesKept: number;
  /** They could not be restored: they are damaged in the repository, or could not be written. */
  readonly filesFailed: number;
  readonly directoriesRestored: number;
  /** Nothing below them was restored either: they are damaged in the repository, or could not be created. */
  readonly directoriesFailed: number;
  /** Symlinks, FIFOs and devices. */
  readonly othersRestored: number;
  readonly othersFailed: number;
  /** Sockets are not restored: the programs that listen on them create them. */
  readonly socketsSkipped: number;
  /** What was not in the snapshot: anything but directories, and directories. */
  readonly filesDeleted: number;
  readonly directoriesDeleted: number;
  readonly deletesFailed: number;
  /** They were read back, and have the content of the snapshot. */
  readonly filesVerified: number;
  readonly bytesVerified: number;
  /** They have other content, or could not be read back. */
  readonly verifiesFailed: number;
  /** The sizes of all selected files, also of those that failed. */
  readonly bytesTotal: number;
  readonly bytesRestored: number;
  /** The bytes of the files that existed and were not written. */
  readonly bytesSkipped: number;
  /** How often a block with content of files was read. */
  readonly blocksRead: number;
  /** The number of different blocks among them. A restore that fits into the memory of one plan reads each once. */
  readonly blocksNeeded: number;
  /** The patterns that matched nothing, as the user typed them. */
  readonly includesUnmatched: readonly string[];
  readonly excludesUnmatched: readonly string[];
  /** Entries that lack attributes or flags. Not all of them are among the problems. */
  readonly attributesIncomplete: number;
  /** What they lack; and the owners, which only root can set. */
  readonly attributesUnset: readonly UnsetCount[];
  readonly problems: readonly RestoreProblem[];
  /** What other domains gave. Only with `fromDomains`. */
  readonly fetched?: FetchedChunks;
}
