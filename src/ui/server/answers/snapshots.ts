import type { SnapshotListing } from '../../../index.ts';
import type { FreedAnswer, SnapshotRow, SnapshotsAnswer } from '../../api.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { namedOf, snapshotsParameter } from '../parameters.ts';

/** Lists all snapshots, the newest first. */
export async function answerSnapshots(repository: CurrentRepository): Promise<SnapshotsAnswer> {
  return await repository.read(async (reader) => ({ snapshots: reader.snapshots.map(rowOf).reverse() }));
}

/** Measures what deleting the snapshots of `ids` frees. */
export async function answerFreed(repository: CurrentRepository, parameters: URLSearchParams): Promise<FreedAnswer> {
  return await repository.read(async (reader) => reader.measureDeletion(snapshotsParameter(reader, parameters)));
}

function rowOf({ id, snapshot }: SnapshotListing): SnapshotRow {
  const { summary } = snapshot;
  return {
    id,
    time: snapshot.time,
    host: snapshot.hostname,
    user: snapshot.username,
    base: namedOf(snapshot.base),
    paths: snapshot.paths.map((path) => namedOf(path)),
    tags: snapshot.tags,
    comment: snapshot.comment ?? '',
    files: summary.totalFilesProcessed,
    bytes: summary.totalBytesProcessed,
    addedBytes: summary.dataAddedPacked,
    problems: summary.errorCount,
    isPinned: snapshot.pinned === true,
  };
}
