import { isUtcTime } from './json-reader.ts';
import type { JsonReader } from './json-reader.ts';

/** Members of a newer version of the program, with any values. */
export type UnknownMembers = Readonly<Record<string, unknown>>;

/** What a backup did. Part of the manifest of its snapshot. */
export interface SnapshotSummary {
  readonly filesNew: number;
  readonly filesChanged: number;
  readonly filesUnmodified: number;
  readonly dirsNew: number;
  readonly dirsChanged: number;
  readonly dirsUnmodified: number;
  readonly dataBlobs: number;
  readonly treeBlobs: number;
  readonly dataAdded: number;
  readonly dataAddedPacked: number;
  readonly totalFilesProcessed: number;
  readonly totalBytesProcessed: number;
  readonly backupStart: string;
  readonly backupEnd: string;
  readonly errorCount: number;
  readonly others?: UnknownMembers;
}

const SUMMARY_MEMBERS: ReadonlySet<string> = new Set([
  'files_new',
  'files_changed',
  'files_unmodified',
  'dirs_new',
  'dirs_changed',
  'dirs_unmodified',
  'data_blobs',
  'tree_blobs',
  'data_added',
  'data_added_packed',
  'total_files_processed',
  'total_bytes_processed',
  'backup_start',
  'backup_end',
  'error_count',
]);

export function encodeSummary(summary: SnapshotSummary): UnknownMembers {
  return {
    files_new: summary.filesNew,
    files_changed: summary.filesChanged,
    files_unmodified: summary.filesUnmodified,
    dirs_new: summary.dirsNew,
    dirs_changed: summary.dirsChanged,
    dirs_unmodified: summary.dirsUnmodified,
    data_blobs: summary.dataBlobs,
    tree_blobs: summary.treeBlobs,
    data_added: summary.dataAdded,
    data_added_packed: summary.dataAddedPacked,
    total_files_processed: summary.totalFilesProcessed,
    total_bytes_processed: summary.totalBytesProcessed,
    backup_start: summary.backupStart,
    backup_end: summary.backupEnd,
    error_count: summary.errorCount,
    ...summary.others,
  };
}

export function readSummary(reader: JsonReader): SnapshotSummary {
  const others = reader.others(SUMMARY_MEMBERS);
  return {
    filesNew: reader.count('files_new'),
    filesChanged: reader.count('files_changed'),
    filesUnmodified: reader.count('files_unmodified'),
    dirsNew: reader.count('dirs_new'),
    dirsChanged: reader.count('dirs_changed'),
    dirsUnmodified: reader.count('dirs_unmodified'),
    dataBlobs: reader.count('data_blobs'),
    treeBlobs: reader.count('tree_blobs'),
    dataAdded: reader.count('data_added'),
    dataAddedPacked: reader.count('data_added_packed'),
    totalFilesProcessed: reader.count('total_files_processed'),
    totalBytesProcessed: reader.count('total_bytes_processed'),
    backupStart: reader.string('backup_start', isUtcTime),
    backupEnd: reader.string('backup_end', isUtcTime),
    errorCount: reader.count('error_count'),
    ...(others === undefined ? {} : { others }),
  };
}
