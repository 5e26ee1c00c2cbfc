import { displayPath, escapeForTerminal } from '../display-path.ts';
import type { SnapshotListing } from '../../operations/snapshots.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import type { Output } from '../output.ts';
import { formatTable } from '../tables.ts';
import { countNoun, formatTime, shortId } from '../words.ts';
import { snapshotFields } from './snapshot-fields.ts';

/** Reports `snapshots`: one line or JSON object per snapshot, oldest first. */
export function reportSnapshots(output: Output, listings: readonly SnapshotListing[], verbosity: number): void {
  if (output.json) {
    for (const listing of listings) output.message('snapshot', snapshotFields(listing));
    return;
  }
  if (listings.length > 0) {
    const rows = listings.map((listing) => rowOf(listing, verbosity > 0));
    output.line(formatTable(rows, { head: ['ID', 'Time', 'Host', 'Tags', 'Size', 'Paths'], rightAligned: [4] }));
  }
  output.remark(countNoun(listings.length, 'snapshot'));
}

/** Returns the newest snapshots of each host and set of paths. Keeps the order, oldest first. */
export function keepLatest(listings: readonly SnapshotListing[], count: number): SnapshotListing[] {
  const kept = new Map<string, number>();
  const newestFirst = listings.toReversed().filter(({ snapshot }) => {
    const group = JSON.stringify([snapshot.hostname, snapshot.paths]);
    const rank = (kept.get(group) ?? 0) + 1;
    kept.set(group, rank);
    return rank <= count;
  });
  return newestFirst.toReversed();
}

function rowOf({ id, snapshot }: SnapshotListing, full: boolean): string[] {
  return [
    full ? id : shortId(id),
    formatTime(snapshot.time),
    escapeForTerminal(snapshot.hostname),
    snapshot.tags.map(escapeForTerminal).join(','),
    formatBytes(snapshot.summary.totalBytesProcessed),
    snapshot.paths.map(displayPath).join(', '),
  ];
}
