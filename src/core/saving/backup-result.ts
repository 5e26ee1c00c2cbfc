import type { SkippedRepository } from '../sources/own-repository.ts';
import type { SourceProblem } from '../session/notices.ts';
import type { VerifiedReuse } from './reused-sample.ts';
import type { ReusedChunks } from './backup-tally.ts';
import type { RemovedCounts } from './removed-entries.ts';
import type { SnapshotSummary } from '../format/snapshot-summary.ts';
import type { Snapshot } from '../format/snapshot.ts';

/** What a backup took over from an interrupted one. */
export interface Continued {
  /** When the interrupted backup began, in RFC 3339. */
  readonly startedAt: string;
  /** Files that were not read again, and their total size. */
  readonly filesCount: number;
  readonly bytes: number;
}

export interface BackupResult {
  /** Undefined for a dry run, and if nothing has changed and that was asked for. */
  readonly snapshotId: string | undefined;
  readonly isDryRun: boolean;
  readonly snapshot: Snapshot;
  /** The snapshot that this one was compared with. */
  readonly parentId: string | undefined;
  readonly isEncrypted: boolean;
  readonly summary: SnapshotSummary;
  /** Undefined if some directories of the parent snapshot could not be read. */
  readonly removed: RemovedCounts | undefined;
  /** Of the new files, those with the content of a file that was removed. Undefined if that cannot be counted. */
  readonly filesMoved: number | undefined;
  readonly reused: ReusedChunks;
  /** Undefined if no interrupted backup was continued. */
  readonly continued: Continued | undefined;
  /** New chunks that another domain keeps, and their bytes. */
  readonly borrowed: { readonly chunks: number; readonly bytes: number };
  /** The reused chunks that were read; undefined if that was not asked for. */
  readonly verified: VerifiedReuse | undefined;
  /** Bytes of chunks that the snapshot needs and that are in groups that are offline. */
  readonly offlineBytes: number;
  /** Sockets, which a restore leaves out. */
  readonly socketCount: number;
  /** Entries of which some attributes could not be read. Only the first of them are among the problems. */
  readonly attributesIncomplete: number;
  /** Sources that are missing from the snapshot or incomplete in it. */
  readonly problems: readonly SourceProblem[];
  /** The exclude patterns that matched nothing. */
  readonly excludesUnmatched: readonly string[];
  /** Directories that were left out because they hold this repository. */
  readonly skippedRepositories: readonly SkippedRepository[];
}
