import type { DiskUsage, UsageRow } from './du.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { displayPath } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { pathFields } from '../../console/output/byte-fields.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, formatTime, shortId } from '../../console/output/words.ts';

const SHOWN_SNAPSHOTS_MAX = 10;

/** Reports `du`: a table, or one JSON object for each directory. */
export function reportUsage(output: Output, usages: readonly DiskUsage[]): void {
  for (const [index, usage] of usages.entries()) {
    for (const row of usage.rows) output.message('usage', rowFields(usage, row));
    if (index > 0) output.line('');
    output.remark(describeSet(usage));
    const head = ['Apparent', 'Referenced', 'Only here', 'Path'];
    const rows = usage.rows.map(({ apparentBytes, referencedBytes, onlyHere, path }) => [
      formatBytes(apparentBytes),
      formatBytes(referencedBytes),
      formatBytes(onlyHere.storedBytes),
      displayPath(path),
    ]);
    output.line(formatTable(rows, { head, rightAligned: [0, 1, 2], shortened: [{ column: 3, keeps: 'end' }] }));
  }
}

function describeSet({ snapshots }: DiskUsage): string {
  if (snapshots.length > SHOWN_SNAPSHOTS_MAX) return `${countNoun(snapshots.length, 'snapshot')} as one`;
  const names = snapshots.map(({ id, snapshot }) => `${shortId(id)} of ${formatTime(snapshot.time)}`);
  return `${snapshots.length === 1 ? 'snapshot' : 'snapshots'} ${names.join(', ')}`;
}

function rowFields(
  { snapshots }: DiskUsage,
  { path, apparentBytes, referencedBytes, onlyHere }: UsageRow,
): Record<string, unknown> {
  return {
    snapshot_ids: snapshots.map(({ id }) => id),
    ...pathFields(path),
    apparent_bytes: apparentBytes,
    referenced_bytes: referencedBytes,
    only_here_stored_bytes: onlyHere.storedBytes,
    only_here_bytes: onlyHere.rawBytes,
    only_here_chunks: onlyHere.chunkCount,
    only_here_trees: onlyHere.treeCount,
  };
}
