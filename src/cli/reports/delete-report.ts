import { displayPath, escapeForTerminal } from '../../files/display-path.ts';
import type { DeleteResult } from '../../operations/delete.ts';
import type { SnapshotListing } from '../../operations/snapshots.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import type { Output } from '../output.ts';
import { countNoun, formatTime, shortId } from '../words.ts';
import { compactFields, describeReclaimed } from './compact-report.ts';
import { snapshotFields } from './snapshot-fields.ts';

/** `delete`: the bytes that no other snapshot needs, what they occupy stored, and what the file system got back. */
export function reportDelete(output: Output, result: DeleteResult): void {
  output.message('summary', deleteFields(result));
  for (const listing of result.snapshots)
    output.remark(`${result.dryRun ? 'would delete' : 'deleted'} ${describeSnapshot(listing)}`);
  const { freed } = result;
  output.remark(
    `${formatBytes(freed.rawBytes)} that no other snapshot needs (${countNoun(freed.chunkCount, 'chunk')}, ${countNoun(freed.treeCount, 'tree')})`,
  );
  output.remark(`${formatBytes(freed.storedBytes)} is what they occupy stored`);
  if (result.compaction !== undefined) output.remark(describeReclaimed(result.compaction));
  if (result.dryRun) output.remark('dry run: nothing was deleted');
  else if (result.notReclaimed !== undefined)
    output.remark(`not reclaimed yet: ${escapeForTerminal(result.notReclaimed)}`);
}

/** `undelete`: what is back. */
export function reportUndelete(output: Output, snapshots: readonly SnapshotListing[]): void {
  for (const listing of snapshots) {
    output.message('snapshot', snapshotFields(listing));
    output.remark(`brought back ${describeSnapshot(listing)}`);
  }
}

function deleteFields({ snapshots, freed, dryRun, compaction, notReclaimed }: DeleteResult): Record<string, unknown> {
  return {
    dry_run: dryRun,
    snapshot_ids: snapshots.map(({ id }) => id),
    freed_chunks: freed.chunkCount,
    freed_trees: freed.treeCount,
    freed_bytes: freed.rawBytes,
    freed_stored_bytes: freed.storedBytes,
    reclaimed_bytes: compaction?.reclaimedBytes ?? 0,
    not_reclaimed: notReclaimed,
    compaction: compaction === undefined ? undefined : compactFields(compaction),
  };
}

function describeSnapshot({ id, snapshot }: SnapshotListing): string {
  return `snapshot ${shortId(id)} of ${formatTime(snapshot.time)}, ${snapshot.paths.map(displayPath).join(', ')}`;
}
