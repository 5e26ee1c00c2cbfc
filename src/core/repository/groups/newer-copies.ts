import type { Seals } from '../../crypto/seals.ts';
import { BackendError, CorruptDataError, isAbsent, isDamage } from '../../errors.ts';
import type { CommitRecord } from '../../format/commit-record.ts';
import { baseName, commitName, directoryOf, parseCommitName } from '../../format/layout.ts';
import type { Group } from '../../groups/group.ts';
import { MetadataCopy } from '../../groups/metadata-copy.ts';
import type { FilePlace } from '../../store/pack-end.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';
import { openCommitRecord, readCommit, readCommitLog, readStart } from '../commit-log.ts';
import { commitNumbersOf } from '../listing.ts';
import { optionalNames } from '../own-listing.ts';
import { epochIn, readChangeable } from './own-metadata.ts';
import { assertSuccessor } from './succession.ts';

/*
 * If a program has put yesterday's state in the place of a repository, the copies in its groups are still of today. A group
 * that was offline for some time looks similar: it has snapshots that the repository has reclaimed since. The commit records
 * tell the two apart. What was reclaimed is in no record after the one that `index/commits` names. A rotation of the master
 * key shows in the configuration: what was stored since cannot be opened with the keys of the older one.
 *
 * A group that is offline is left out, since nothing is removed there. One that can be reached and whose copies cannot be
 * read may have a newer state, so that is not known.
 */

/** The snapshots of a newer state in a copy. */
interface NewerSnapshots {
  readonly snapshotIds: readonly string[];
  /** Why there may be others. Undefined if there are none. */
  readonly unknown?: string | undefined;
}

/** Something in a group that cannot be read. */
interface Unreadable extends NewerSnapshots {
  readonly unknown: string;
}

/** What the copies in a group have of a newer state than that in the repository's own place. */
export interface NewerState extends NewerSnapshots {
  /** Epoch of the master key there, if it was rotated since. */
  readonly epoch?: number | undefined;
}

/**
 * Returns what is newer, or may be, by name of a group. Only groups with something.
 * @throws RefusedError if the groups are used by another place of the repository, which is why they have more
 */
export async function findNewerStates(
  own: FilePlace,
  groups: readonly Group[],
): Promise<ReadonlyMap<string, NewerState>> {
  const found = new Map<string, NewerState>();
  const copies = await mapConcurrently(groups, Math.max(1, groups.length), async (group) =>
    unlessUnreadable(group, async () => MetadataCopy.open(group)),
  );
  for (const [index, copy] of copies.entries()) {
    const newer = copy instanceof MetadataCopy ? await newerStateIn(copy, own) : copy;
    if (newer !== undefined) found.set(groups[index]!.entry.name, newer);
  }
  if (found.size > 0) {
    const files = await readChangeable(own.backend);
    const states = copies.flatMap((copy) => (copy instanceof MetadataCopy ? (copy.state ?? []) : []));
    assertSuccessor({ location: own.backend.location, files }, states);
  }
  return found;
}

async function newerStateIn(copy: MetadataCopy, own: FilePlace): Promise<NewerState | undefined> {
  const { snapshotIds, unknown = copy.stateProblem } = await newerSnapshotsIn(copy, own);
  const epochs = own.seals.keys?.masterKeys.map(({ epoch }) => epoch) ?? [];
  const found = copy.state === undefined ? 0 : epochIn(copy.state.files);
  const epoch = found > Math.max(0, ...epochs) ? found : undefined;
  if (snapshotIds.length === 0 && epoch === undefined && unknown === undefined) return undefined;
  return { snapshotIds, epoch, unknown };
}

/**
 * Returns the snapshots that a copy has and the repository lacks, or has as deleted, although a commit record that only the
 * copy has names them. Both states may have gone on since they parted, so records with the same number may differ, and
 * equal ones may follow.
 */
export async function newerSnapshotsIn(copy: MetadataCopy, own: FilePlace): Promise<NewerSnapshots> {
  const lacking = await lackingSnapshots(copy, own);
  if (lacking.length === 0) return { snapshotIds: [] };
  const start = await startOf(own);
  const numbers = [...copy.sizes.keys()].flatMap((name) => parseCommitName(name) ?? []);
  const ids = new Set<string>();
  let unknown: string | undefined;
  for (const number of numbers.filter((each) => each > start)) {
    const copied = await readCopied(copy, number, own.seals);
    if (copied === undefined) continue;
    if ('unknown' in copied) {
      unknown ??= copied.unknown;
      continue;
    }
    const known = await unlessDamaged(async () => (await readCommit(own, number)) ?? 'absent');
    // Damage of the repository itself is reported as such.
    if (known === undefined) continue;
    if (known !== 'absent' && isSameRecord(known, copied)) continue;
    for (const id of copied.snapshotIds) ids.add(id);
  }
  return { snapshotIds: lacking.filter((id) => ids.has(id)), unknown };
}

/** Mostly none, and then no record is read. A listing may lack some, so those are asked for. */
async function lackingSnapshots(copy: MetadataCopy, { backend }: FilePlace): Promise<string[]> {
  const listed = new Set((await optionalNames(backend, 'snapshots')).map(({ name }) => name));
  const names = [...copy.sizes.keys()].filter((name) => directoryOf(name) === 'snapshots' && !listed.has(name));
  if (names.length === 0) return [];
  const present = await backend.sizesOf(names);
  return names.filter((name) => !present.has(name)).map((name) => baseName(name));
}

/**
 * Returns the number of the record that took the place of all before it. If `index/commits` is lost or damaged, that is the
 * last one that says so: a record that the repository has removed must not look newer, or a repair could not go on.
 */
async function startOf(own: FilePlace): Promise<number> {
  const start = (await unlessDamaged(async () => readStart(own))) ?? 0;
  if (start > 0) return start;
  return (await readCommitLog(own, commitNumbersOf(await optionalNames(own.backend, 'index')))).start;
}

async function readCopied(
  copy: MetadataCopy,
  number: number,
  seals: Seals,
): Promise<CommitRecord | Unreadable | undefined> {
  const name = commitName(number);
  return await unlessUnreadable(copy.group, async () => copy.read(name, (bytes) => openCommitRecord(bytes, seals)));
}

/** Returns why something in a group cannot be read. Undefined if it is gone, or the group is offline. */
async function unlessUnreadable<T>(group: Group, read: () => Promise<T>): Promise<T | Unreadable | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof BackendError) && !(error instanceof CorruptDataError)) throw error;
    if (isAbsent(error) || !group.isOnline) return undefined;
    return { snapshotIds: [], unknown: error.message };
  }
}

async function unlessDamaged<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}

function isSameRecord(a: CommitRecord, b: CommitRecord): boolean {
  return a.isWhole === b.isWhole && a.snapshotIds.join() === b.snapshotIds.join();
}
