import type { PathVersion } from '../../core/snapshots/path-versions.ts';
import type { HistoryResult } from './history.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { headOfTimes } from '../../core/util/format-time.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { pathFields } from '../../console/output/byte-fields.ts';
import { countNoun, formatCount, formatTime, shortId } from '../../console/output/words.ts';
import { formatEntryTime, nodeFields } from '../../console/reports/ls-report.ts';

/** Reports `history`: a line or JSON object for each version, oldest first. */
export function reportHistory(output: Output, result: HistoryResult): void {
  const { versions, snapshotCount, treesRead, unreadableTrees } = result;
  for (const version of versions) output.message('version', versionFields(version));
  output.message('summary', {
    versions: versions.length,
    snapshots: snapshotCount,
    trees_read: treesRead,
    unreadable_trees: unreadableTrees,
  });
  const hasHosts = new Set(versions.map(({ listing }) => listing.snapshot.hostname)).size > 1;
  const timeHead = headOfTimes(
    'Time',
    versions.map(({ listing }) => listing.snapshot.time),
  );
  const head = ['', 'Snapshot', timeHead, ...(hasHosts ? ['Host'] : []), 'Size', 'Modified', 'Snapshots'];
  const sizeColumn = head.indexOf('Size');
  const rows = versions.map((version) => rowOf(version, hasHosts));
  if (rows.length > 0) output.line(formatTable(rows, { head, rightAligned: [sizeColumn, head.length - 1] }));
  output.remark(`${describeCounts(versions)} in ${countNoun(snapshotCount, 'snapshot')}`);
}

/** `2 versions`, `1 version and 1 deletion` */
function describeCounts(versions: readonly PathVersion[]): string {
  const deletions = versions.filter(({ change }) => change === '-').length;
  const present = countNoun(versions.length - deletions, 'version');
  return deletions === 0 ? present : `${present} and ${countNoun(deletions, 'deletion')}`;
}

function rowOf({ listing, change, entry, snapshotCount }: PathVersion, hasHosts: boolean): string[] {
  const { time, hostname } = listing.snapshot;
  const size = entry === undefined ? 'absent' : entry.type === 'file' ? formatBytes(entry.sizeBytes) : entry.type;
  const modified = entry === undefined || isBare(entry) ? '' : formatEntryTime(entry);
  const host = hasHosts ? [escapeForTerminal(hostname)] : [];
  return [change, shortId(listing.id), formatTime(time), ...host, size, modified, formatCount(snapshotCount)];
}

/** Of the root of a snapshot only the tree is known. */
function isBare({ name }: NonNullable<PathVersion['entry']>): boolean {
  return name === '';
}

function versionFields({ listing, path, change, entry, snapshotCount }: PathVersion): Record<string, unknown> {
  return {
    snapshot: listing.id,
    time: listing.snapshot.time,
    hostname: listing.snapshot.hostname,
    modifier: change,
    snapshot_count: snapshotCount,
    ...pathFields(path),
    ...(entry === undefined || isBare(entry) ? {} : nodeFields(path, entry)),
  };
}
