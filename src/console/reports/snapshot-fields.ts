import type { NamedDomain } from '../../core/format/snapshot-marks.ts';
import type { SnapshotSummary } from '../../core/format/snapshot.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { ListedSnapshot } from '../../core/removing/remove-snapshots.ts';
import { byteListFields } from '../output/byte-fields.ts';
import { shortId } from '../output/words.ts';

/** Returns a snapshot as JSON fields with the names that restic uses. */
export function snapshotFields({ id, snapshot }: SnapshotListing): Record<string, unknown> {
  const { hold, reliesOn } = snapshot;
  return {
    time: snapshot.time,
    parent: snapshot.parent,
    original: snapshot.original,
    tree: snapshot.tree,
    ...byteListFields('paths', snapshot.paths),
    hostname: snapshot.hostname,
    username: snapshot.username,
    uid: snapshot.uid,
    gid: snapshot.gid,
    tags: snapshot.tags,
    excludes: snapshot.excludes,
    iexcludes: snapshot.iexcludes,
    comment: snapshot.comment,
    pinned: snapshot.pinned,
    hold: hold && { ...domainFields(hold), hold_id: hold.holdId },
    relies_on: reliesOn?.map(domainFields),
    keep_until: snapshot.keepUntil,
    deleted_until: snapshot.deletedUntil,
    utc_offset_minutes: snapshot.utcOffsetMinutes,
    program_version: snapshot.programVersion,
    summary: summaryFields(snapshot.summary),
    id,
    short_id: shortId(id),
  };
}

function domainFields({ domainId, name }: NamedDomain): Record<string, unknown> {
  return { domain_id: domainId, name };
}

/** What only one snapshot needs, if it was measured. */
export function costFields({ onlyHere }: ListedSnapshot): Record<string, unknown> {
  return { only_here_bytes: onlyHere?.rawBytes, only_here_stored_bytes: onlyHere?.storedBytes };
}

export function summaryFields(summary: SnapshotSummary): Record<string, unknown> {
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
  };
}
