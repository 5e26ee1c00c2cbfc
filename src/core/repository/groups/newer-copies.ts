import type { Seals } from '../../crypto/seals.ts';
import { isAbsent, isDamage } from '../../errors.ts';
import type { CommitRecord } from '../../format/commit-record.ts';
import { commitName, parseCommitName, snapshotName } from '../../format/layout.ts';
import type { Group } from '../../groups/group.ts';
import type { MetadataCopy } from '../../groups/metadata-copy.ts';
import type { FilePlace } from '../../store/pack-end.ts';
import { openCommitRecord, readCommit, readStart } from '../commit-log.ts';
import { openCopies, unlessItFails } from './opened-copies.ts';
import { readChangeable } from './own-metadata.ts';
import { assertSuccessor } from './succession.ts';

/*
 * If a program has put yesterday's state in the place of a repository, the copies in its groups are still of today. A group
 * that was offline for some time looks similar: it has snapshots that the repository has reclaimed since. The commit records
 * tell the two apart. What was reclaimed is in no record after the one that `index/commits` names.
 */

/**
 * Returns, by name of a group, the snapshots of a newer state than that in the repository's own place. Only groups with some.
 * @throws RefusedError if the groups are used by another place of the repository, which is why they have more
 */
export async function findNewerSnapshots(
  own: FilePlace,
  groups: readonly Group[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  const copies = await openCopies(groups);
  for (const copy of copies) {
    const ids = (await unlessItFails(copy.group, async () => newerSnapshotsIn(copy, own))) ?? [];
    if (ids.length > 0) found.set(copy.group.entry.name, ids);
  }
  if (found.size > 0) {
    const files = await readChangeable(own.backend);
    assertSuccessor(
      { location: own.backend.location, files },
      copies.flatMap(({ state }) => state ?? []),
    );
  }
  return found;
}

/**
 * Returns the snapshots that a copy has and the repository lacks, or has as deleted, although a commit record that only the
 * copy has names them. Both have the same records up to where their states part, so those before that are not read.
 */
export async function newerSnapshotsIn(copy: MetadataCopy, own: FilePlace): Promise<string[]> {
  const start = await unlessUnreadable(async () => readStart(own));
  // Without it, a record that the repository has removed looks newer. A compaction stops.
  if (start === undefined) return [];
  const numbers = [...copy.sizes.keys()].flatMap((name) => parseCommitName(name) ?? []);
  const ids = new Set<string>();
  for (const number of numbers.filter((each) => each > start).toSorted((a, b) => b - a)) {
    const copied = await readCopied(copy, number, own.seals);
    if (copied === undefined) continue;
    const known = await unlessUnreadable(async () => (await readCommit(own, number)) ?? 'absent');
    if (known === undefined) continue;
    if (known !== 'absent' && isSameRecord(known, copied)) break;
    for (const id of copied.snapshotIds) ids.add(id);
  }
  const names = [...ids].map((id) => snapshotName(id)).filter((name) => copy.sizes.has(name));
  if (names.length === 0) return [];
  const present = await own.backend.sizesOf(names);
  return [...ids].filter((id) => copy.sizes.has(snapshotName(id)) && !present.has(snapshotName(id)));
}

async function readCopied(copy: MetadataCopy, number: number, seals: Seals): Promise<CommitRecord | undefined> {
  return await unlessUnreadable(async () => copy.read(commitName(number), (bytes) => openCommitRecord(bytes, seals)));
}

async function unlessUnreadable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isAbsent(error) && !isDamage(error)) throw error;
    return undefined;
  }
}

function isSameRecord(a: CommitRecord, b: CommitRecord): boolean {
  return a.isWhole === b.isWhole && a.snapshotIds.join() === b.snapshotIds.join();
}
