import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { formatTime } from '../../core/util/format-time.ts';
import { textOf } from '../../core/util/byte-string.ts';
import { shortId } from '../../console/output/words.ts';
import type { Candidate } from './candidates.ts';

/** Snapshots by id, the newest first. */
export async function snapshotCandidates(context: OperationContext, deleted: boolean): Promise<Candidate[]> {
  const { withRepository } = await import('../../core/session/session.ts');
  const found = await withRepository(context, 'list', async ({ files }) => files.readSnapshots({ deleted }));
  const listings = found.listings.toReversed();
  const newest = listings[0] === undefined || deleted ? [] : [{ value: 'latest', description: describe(listings[0]) }];
  return [...newest, ...listings.map((listing) => ({ value: shortId(listing.id), description: describe(listing) }))];
}

function describe({ snapshot: { time, hostname, paths } }: SnapshotListing): string {
  return `${formatTime(time)} ${hostname} ${paths.map(textOf).join(' ')}`;
}

/**
 * Snapshots, or once there is a colon, what is in the directory of the snapshot.
 * @param current - such as `latest:docs/no`
 */
export async function snapshotPathCandidates(context: OperationContext, current: string): Promise<Candidate[]> {
  const colon = current.indexOf(':');
  if (colon < 0) return await snapshotCandidates(context, false);
  const { openSnapshot } = await import('../../core/snapshots/open-snapshot.ts');
  const directory = current.slice(colon + 1, current.lastIndexOf('/') + 1);
  const opened = await openSnapshot(context, { selector: current.slice(0, colon) });
  try {
    const candidates: Candidate[] = [];
    for await (const entry of opened.entries(directory)) {
      const slash = entry.type === 'directory' ? '/' : '';
      candidates.push({
        value: `${current.slice(0, colon + 1)}${directory}${textOf(entry.name)}${slash}`,
        description: '',
      });
    }
    return candidates;
  } finally {
    await opened.close();
  }
}
