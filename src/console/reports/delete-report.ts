import { displayPath, escapeForTerminal } from '../output/display-path.ts';
import type { DeleteResult } from '../../core/removing/delete.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Output } from '../output/output.ts';
import { formatTable } from '../output/tables.ts';
import { countNoun, formatTime, shortId } from '../output/words.ts';
import { compactFields, describePacks, describeReclaimed } from './compact-report.ts';
import { snapshotFields } from './snapshot-fields.ts';

/** Reports the result of `delete`: bytes that no other snapshot needs, their stored size, and the space returned. */
export function reportDelete(output: Output, result: DeleteResult): void {
  if (!result.dryRun) output.complete(`Deleted: ${result.snapshots.map(({ id }) => shortId(id)).join(', ')}.`);
  output.message('summary', freedFields(result, result.snapshots));
  for (const listing of result.snapshots)
    output.remark(`${result.dryRun ? 'would delete' : 'deleted'} ${describeSnapshot(listing)}`);
  output.remark(formatTable(figuresOf(result)));
  if (result.dryRun) output.remark('dry run: nothing was deleted');
  const notReclaimed = describeNotReclaimed(result);
  if (notReclaimed !== undefined) output.remark(`not reclaimed: ${escapeForTerminal(notReclaimed)}`);
}

/** What a delete frees and has reclaimed, as rows of a table. `label`: of the first row. */
export function figuresOf(
  { freed, compaction }: Pick<DeleteResult, 'freed' | 'compaction'>,
  label: 'freed' | 'would free' = 'freed',
): string[][] {
  const contents = `${countNoun(freed.chunkCount, 'chunk')}, ${countNoun(freed.treeCount, 'tree')}`;
  const figures = [
    [label, `${formatBytes(freed.rawBytes)} that no other snapshot uses (${contents})`],
    ['stored', `${formatBytes(freed.storedBytes)} on disk`],
  ];
  if (compaction === undefined) return figures;
  return [...figures, ['reclaimed', describeReclaimed(compaction)], ['packs', describePacks(compaction)]];
}

/** Reports the snapshots that `undelete` restored. */
export function reportUndelete(output: Output, snapshots: readonly SnapshotListing[]): void {
  output.complete(`Restored to the list of snapshots: ${snapshots.map(({ id }) => shortId(id)).join(', ')}.`);
  for (const listing of snapshots) {
    output.message('snapshot', snapshotFields(listing));
    output.remark(`brought back ${describeSnapshot(listing)}`);
  }
}

export function describeNotReclaimed({ notReclaimed }: Pick<DeleteResult, 'notReclaimed'>): string | undefined {
  if (notReclaimed === undefined) return undefined;
  const { error, until } = notReclaimed;
  if (until !== undefined) return `the space is kept until ${formatTime(until)}; until then \`ldm undelete\` works`;
  return error === undefined
    ? '--no-reclaim was given; `ldm compact` reclaims the space'
    : `${error.message}; \`ldm compact\` reclaims the space later`;
}

export function freedFields(
  result: Omit<DeleteResult, 'snapshots'>,
  snapshots: readonly SnapshotListing[],
): Record<string, unknown> {
  const { freed, dryRun, compaction } = result;
  return {
    dry_run: dryRun,
    snapshot_ids: snapshots.map(({ id }) => id),
    freed_chunks: freed.chunkCount,
    freed_trees: freed.treeCount,
    freed_bytes: freed.rawBytes,
    freed_stored_bytes: freed.storedBytes,
    reclaimed_bytes: compaction?.reclaimedBytes ?? 0,
    not_reclaimed: describeNotReclaimed(result),
    compaction: compaction === undefined ? undefined : compactFields(compaction),
  };
}

function describeSnapshot({ id, snapshot }: SnapshotListing): string {
  return `snapshot ${shortId(id)} of ${formatTime(snapshot.time)}, ${snapshot.paths.map(displayPath).join(', ')}`;
}
