import type { ListedName } from '../backend/backend.ts';
import { RefusedError } from '../errors.ts';
import {
  baseName,
  deletedName,
  isCommitName,
  parseCommitName,
  parseCondemnationMark,
  snapshotName,
} from '../format/layout.ts';
import type { FilePlace } from '../store/pack-end.ts';
import { readCondemnations } from './condemned.ts';
import { type CommitLog, endOfRun, readCommitLog } from './commit-log.ts';
import type { Condemnations } from './condemned.ts';
import { listUnlessMissing, namesUnlessMissing, optionalNames } from './own-listing.ts';

/** The names of everything in a repository. */
export interface Listing {
  readonly snapshotIds: readonly string[];
  readonly deletedIds: readonly string[];
  /** Ids of snapshots whose manifest has a second copy, including deleted snapshots. */
  readonly manifestCopyIds: readonly string[];
  readonly condemned: Condemnations;
  readonly segmentIds: readonly string[];
  /** Size in bytes by pack id; those that were looked up by name if not `arePacksListed`. */
  readonly packs: ReadonlyMap<string, number>;
  /** If not, each pack that a segment lists counts as whole until it is read. */
  readonly arePacksListed: boolean;
  /** Packs that count as removed, listed or not. */
  readonly removedPackIds: ReadonlySet<string>;
  /** The size of all further copies of a pack in groups, by pack id. Only packs that have some. */
  readonly copyBytes: ReadonlyMap<string, number>;
  /** Names of the checkpoints, newest first. */
  readonly checkpoints: readonly string[];
  /** Those of `snapshots`, `index` and `packs` that do not exist, and therefore count as empty. */
  readonly missingDirectories: readonly string[];
  /** The highest number of a commit record that is known; 0 if there is none. */
  readonly lastCommit: number;
  /** Only in an exact listing, which lacks no snapshot that was committed. */
  readonly commits?: CommitLog | undefined;
  /** Snapshots that a commit record has, and that are in no place. Only in an exact listing. */
  readonly lostCommitIds: readonly string[];
  /** Files in the directories that were listed that do not belong to ldm. They are ignored. */
  readonly foreignNames: readonly string[];
  /** Names of the groups whose packs are not in `packs`, because they cannot be reached. */
  readonly offlineGroups: readonly string[];
}

/** What `listRepository` lists, with the packs behind it. The order within a group does not matter. */
const LISTED_IN_TURN = [
  ['locks', 'condemned', 'manifests.bak'],
  ['snapshots', 'filter'],
  ['deleted', 'index'],
];

interface ListingPlace extends FilePlace {
  readonly offlineIsAbsent?: boolean | undefined;
  /** Looks up committed snapshots that are not listed. Required before unused data is removed. */
  readonly isExact?: boolean | undefined;
  /**
   * Whether packs are listed: 3 million of them take 3,000 requests. Otherwise those that segments list count as whole
   * until they are read, or looked up by name before something relies on them. They are listed all the same where that
   * costs little, and where it tells in which group a pack is. Default: `isExact`
   */
  readonly listsPacks?: boolean | undefined;
  /** Whether one directory is listed after the other, as for what removes something. Default: whether one of these two is set */
  readonly isOrdered?: boolean | undefined;
  /** Lists deleted snapshots only if there seem to be any: their references do not matter to who only reads. */
  readonly isForReading?: boolean;
}

/**
 * Lists a repository in the reverse order of writing: a listed manifest copy belongs to a committed snapshot, the
 * segments of a listed snapshot exist, and so do the packs of a listed segment. Condemnations are listed first, so that
 * nothing removed during the listing looks safe to rely on. A failed listing is an error, never an empty repository.
 * Only a missing directory counts as empty: git and object stores do not keep empty ones.
 */
export async function listRepository(place: ListingPlace): Promise<Listing> {
  const { backend } = place;
  const { isExact = false, listsPacks = isExact, isOrdered = isExact || listsPacks } = place;
  const packsInTurn = listsPacks && backend.offlineParts === undefined ? [['packs']] : [];
  if (isOrdered) backend.readAhead?.({ inTurn: [...LISTED_IN_TURN, ...packsInTurn] }, true);
  else if (place.isForReading !== true) backend.readAhead?.({ directories: LISTED_IN_TURN.flat() });
  const foreignNames: string[] = [];
  const listed = async (directory: string): Promise<ListedName[]> => optionalNames(backend, directory, foreignNames);
  const marked = place.isForReading === true ? [] : markedIn(await optionalNames(backend, 'locks'));
  const condemned = await readCondemnations(place, [...new Set([...idsOf(await listed('condemned')), ...marked])]);
  const manifestCopyIds = idsOf(await listed('manifests.bak'));
  const missingDirectories: string[] = [];
  const orMissing = <T>(directory: string, files: T[] | undefined): T[] => {
    if (files === undefined) missingDirectories.push(directory);
    return files ?? [];
  };
  const listNames = async (directory: string): Promise<ListedName[]> =>
    orMissing(directory, await namesUnlessMissing(backend, directory, foreignNames));
  const snapshotIds = idsOf(await listNames('snapshots'));
  const present = new Set(snapshotIds);
  const listsDeleted = place.isForReading !== true || manifestCopyIds.some((id) => !present.has(id));
  const deletedIds = listsDeleted ? idsOf(await listed('deleted')) : [];
  const checkpoints = (await listed('filter')).map((file) => file.name).toReversed();
  const index = await listNames('index');
  const segmentIds = segmentIdsOf(index);
  const commitNumbers = commitNumbersOf(index);
  const packs = new Map<string, number>();
  const copyBytes = new Map<string, number>();
  const arePacksListed = listsPacks || backend.readsAtOnce === 1 || backend.offlineParts !== undefined;
  const packFiles = arePacksListed ? await listUnlessMissing(backend, 'packs', foreignNames) : [];
  for (const file of orMissing('packs', packFiles)) {
    const id = baseName(file.name);
    packs.set(id, file.sizeBytes);
    if (file.copyBytes !== undefined) copyBytes.set(id, file.copyBytes);
  }
  const offlineGroups = place.offlineIsAbsent === true ? [] : (backend.offlineParts ?? []);
  const listing: Listing = {
    lastCommit: lastCommitOf(commitNumbers),
    lostCommitIds: [],
    offlineGroups,
    condemned,
    snapshotIds,
    deletedIds,
    manifestCopyIds,
    segmentIds,
    packs,
    arePacksListed,
    removedPackIds: new Set(),
    copyBytes,
    checkpoints,
    foreignNames,
    missingDirectories,
  };
  if (!isExact) return listing;
  return await completeListing(place, listing, commitNumbers);
}

/**
 * Looks by name for the snapshots that were committed and that a listing lacks, as listings may be old. Those of `deleted`
 * are looked for too: they may have been brought back since. So are those that an old listing may still have, except in a
 * directory of this machine: a cache may have their manifests. `commitNumbers`: of the listed commit records.
 */
async function completeListing(place: FilePlace, listing: Listing, commitNumbers: readonly number[]): Promise<Listing> {
  const { backend } = place;
  const commits = await readCommitLog(place, commitNumbers);
  const deleted = new Set(listing.deletedIds);
  const isOutdated = (id: string): boolean => deleted.has(id) || (commits.start > 0 && !commits.snapshotIds.has(id));
  const isSure = (id: string): boolean => backend.localDirectory !== undefined || !isOutdated(id);
  const snapshots = new Set(listing.snapshotIds.filter((id) => isSure(id)));
  const all = new Set([...listing.snapshotIds, ...commits.snapshotIds, ...deleted]);
  const unsure = [...all].filter((id) => !snapshots.has(id));
  const lostIds: string[] = [];
  const names = unsure.flatMap((id) => [snapshotName(id), deletedName(id)]);
  const found = unsure.length === 0 ? new Map<string, number>() : await backend.sizesOf(names);
  for (const id of unsure) {
    if (found.has(snapshotName(id))) snapshots.add(id);
    else if (found.has(deletedName(id))) deleted.add(id);
    else if (commits.snapshotIds.has(id)) lostIds.push(id);
  }
  return {
    ...listing,
    snapshotIds: [...snapshots],
    deletedIds: [...deleted],
    lastCommit: commits.end,
    lostCommitIds: lostIds,
    commits,
  };
}

/** Returns whether any condemned segment or pack has not been removed yet. */
export function hasCondemned({ condemned, segmentIds, packs, arePacksListed }: Listing): boolean {
  const isSegmentLeft = segmentIds.some((id) => condemned.segmentIds.has(id));
  return isSegmentLeft || [...condemned.packIds].some((id) => packs.has(id) || !arePacksListed);
}

/** Returns the size of a pack; -1 if it is gone. One that was not listed, or may be in an offline group, counts as whole. */
export function listedBytes({ packs, offlineGroups, arePacksListed, removedPackIds }: Listing, packId: string): number {
  if (removedPackIds.has(packId)) return -1;
  return packs.get(packId) ?? (offlineGroups.length > 0 || !arePacksListed ? Infinity : -1);
}

/**
 * Throws if a group cannot be reached. To remove packs, or to judge what is lost, all packs must be known.
 * @throws RefusedError
 */
export function assertAllOnline({ offlineGroups }: Listing): void {
  if (offlineGroups.length === 0) return;
  const names = offlineGroups.join(', ');
  const subject = offlineGroups.length === 1 ? `the group ${names} is` : `the groups ${names} are`;
  throw new RefusedError(`${subject} offline`, {
    advice: { code: 'list-groups' },
  });
}

/** Returns the listing as it will be after all condemned files have been removed. */
export function withoutCondemned(listing: Listing): Listing {
  const { condemned } = listing;
  const segmentIds = listing.segmentIds.filter((id) => !condemned.segmentIds.has(id));
  const packs = new Map([...listing.packs].filter(([id]) => !condemned.packIds.has(id)));
  return { ...listing, segmentIds, packs, removedPackIds: condemned.packIds };
}

/**
 * Ids of the condemnations that have a mark in `locks`, which include all that are in force. A listing of `condemned` may lack
 * one, and what that one lists must not be relied on: a process that was suspended may be about to remove it.
 */
export function markedIn(locks: readonly ListedName[]): string[] {
  return locks.map(({ name }) => parseCondemnationMark(name)).filter((id) => id !== undefined);
}

/** Numbers of the commit records among the files in `index`. */
export function commitNumbersOf(files: readonly ListedName[]): number[] {
  return files.map(({ name }) => parseCommitName(name)).filter((number) => number !== undefined);
}

/** The highest number that belongs to the others. Anybody may have added a file with a higher one. */
export function lastCommitOf(numbers: readonly number[]): number {
  return numbers.length === 0
    ? 0
    : endOfRun(
        numbers,
        numbers.reduce((least, each) => Math.min(least, each)),
      );
}

/** Ids of the segments among the files in `index`. */
export function segmentIdsOf(files: readonly ListedName[]): string[] {
  return idsOf(files.filter(({ name }) => !isCommitName(name)));
}

/** Returns the ids that are the names of files. */
export function idsOf(files: readonly ListedName[]): string[] {
  return files.map((file) => baseName(file.name));
}
