import type { PathVersion } from '../../../index.ts';
import type { VersionRow, VersionsAnswer } from '../../api/browse.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { entryRowOf } from '../entry-row.ts';
import { absoluteParameter, snapshotParameter } from '../parameters.ts';

const VERSIONS_MAX = 500;

/** Gives the versions of a path on the host of a snapshot. */
export async function answerVersions(
  repository: CurrentRepository,
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<VersionsAnswer> {
  return await repository.read(async (reader) => {
    const listing = snapshotParameter(reader, parameters);
    const filter = { hosts: [listing.snapshot.hostname] };
    const found: PathVersion[] = [];
    for await (const version of reader.versions(absoluteParameter(listing, parameters), { filter, signal }))
      found.push(version);
    const numbers = new Map(reader.snapshots.map(({ id }, index) => [id, index]));
    const number = numbers.get(listing.id)!;
    const shown = found.findLast((version) => numbers.get(version.listing.id)! <= number);
    const versions = found.slice(-VERSIONS_MAX).reverse();
    return { versions: versions.map((version) => rowOf(version, version === shown)), total: found.length };
  });
}

function rowOf({ listing: { id, snapshot }, entry, snapshotCount }: PathVersion, isShown: boolean): VersionRow {
  return {
    snapshot: id,
    time: snapshot.time,
    ...(entry === undefined ? {} : { entry: entryRowOf(entry) }),
    snapshots: snapshotCount,
    isShown,
  };
}
