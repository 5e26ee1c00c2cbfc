import type { Seals } from '../../crypto/seals.ts';
import { isAbsent, isDamage } from '../../errors.ts';
import type { CommitRecord } from '../../format/commit-record.ts';
import { baseName, commitName, directoryOf, parseCommitName } from '../../format/layout.ts';
import type { Group } from '../../groups/group.ts';
import type { MetadataCopy } from '../../groups/metadata-copy.ts';
import type { FilePlace } from '../../store/pack-end.ts';
import { openCommitRecord, readCommit, readStart } from '../commit-log.ts';
import { optionalNames } from '../own-listing.ts';
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
 * copy has names them. Both states may have gone on since they parted, so records with the same number may differ, and
 * equal ones may follow.
 */
export async function newerSnapshotsIn(copy: MetadataCopy, own: FilePlace): Promise<string[]> {
  const lacking = await lackingSnapshots(copy, own);
  if (lacking.length === 0) return [];
  const start = await unlessUnreadable(async () => readStart(own));
  // Without it, a record that the repository has removed looks newer. A compaction stops.
  if (start === undefined) return [];
  const numbers = [...copy.sizes.keys()].flatMap((name) => parseCommitName(name) ?? []);
  const ids = new Set<string>();
  for (const number of numbers.filter((each) => each > start)) {
    const copied = await readCopied(copy, number, own.seals);
    if (copied === undefined) continue;
    const known = await unlessUnreadable(async () => (await readCommit(own, number)) ?? 'absent');
    if (known === undefined) continue;
    if (known !== 'absent' && isSameRecord(known, copied)) continue;
    for (const id of copied.snapshotIds) ids.add(id);
  }
  return lacking.filter((id) => ids.has(id));
}

/** Mostly none, and then no record is read. A listing may lack some, so those are asked for. */
async function lackingSnapshots(copy: MetadataCopy, { backend }: FilePlace): Promise<string[]> {
  const listed = new Set((await optionalNames(backend, 'snapshots')).map(({ name }) => name));
  const names = [...copy.sizes.keys()].filter((name) => directoryOf(name) === 'snapshots' && !listed.has(name));
  if (names.length === 0) return [];
  const present = await backend.sizesOf(names);
  return names.filter((name) => !present.has(name)).map((name) => baseName(name));
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
