import { randomBytes } from 'node:crypto';

/** Records of backups that have not ended. Missing until there is one. */
export const UNFINISHED_DIRECTORY = 'unfinished';
/** Says when packs were verified. Missing until a check has recorded that. */
export const VERIFIED_DIRECTORY = 'verified';
/** Only encrypted repositories have it. */
export const KEYS_DIRECTORY = 'keys';
/** What a repository tells the other ones of its realm about its chunks. Only repositories of a realm have it. */
const PLANES_DIRECTORY = 'planes';
/** Which holds of this repository are in which other repositories of its realm. Only repositories of a realm have it. */
export const HOLDS_DIRECTORY = 'holds';
/** The names in a repository, as described in docs/format.md. */
export const DIRECTORIES = [
  'keys',
  'packs',
  'index',
  'snapshots',
  'condemned',
  'deleted',
  'manifests.bak',
  'filter',
  'unfinished',
  'verified',
  'planes',
  'holds',
  'quarantine',
  'locks',
  'tmp',
] as const;

/** Decides which files there are. */
export interface RepositoryKind {
  readonly isEncrypted: boolean;
  readonly isInRealm: boolean;
}

/** Returns the directories that a repository of this kind has. */
export function directoriesOf(kind: RepositoryKind): string[] {
  const absent = [
    ...(kind.isEncrypted ? [] : [KEYS_DIRECTORY]),
    ...(kind.isInRealm ? [] : [PLANES_DIRECTORY, HOLDS_DIRECTORY]),
  ];
  return DIRECTORIES.filter((directory) => !absent.includes(directory));
}

export const CONFIG_NAME = 'config';
export const CONFIG_COPY_NAME = 'config.bak';
/** The groups of a repository whose packs are in storage groups. */
export const GROUPS_NAME = 'groups';
export const GROUPS_COPY_NAME = 'groups.bak';
/** The membership in a realm. Missing in a repository that is no member now. */
export const REALM_NAME = 'realm';
/** Says when the repository was made again from its groups. Missing if it never was. */
export const RECOVERIES_NAME = 'recoveries';
/** In the place of a group: which group of which repository it is. */
export const GROUP_ID_NAME = 'group-id';
/** In the place of a group: copies of what is small in the repository, under the same names. */
export const METADATA_DIRECTORY = 'metadata';
/** A file of random bytes. It is removed when the disk is full, so that a delete can still reclaim space. */
export const RESERVE_NAME = 'reserve';
export const RESERVE_BYTES: number = 1024 * 1024;

/** Files at the top of a repository, or of the place of a group. */
export const TOP_FILES: ReadonlySet<string> = new Set([
  CONFIG_NAME,
  CONFIG_COPY_NAME,
  GROUPS_NAME,
  GROUPS_COPY_NAME,
  REALM_NAME,
  RECOVERIES_NAME,
  GROUP_ID_NAME,
  RESERVE_NAME,
]);

/** Returns the files at the top of a repository of this kind, without those about groups. */
export function topFilesOf({ isInRealm }: Pick<RepositoryKind, 'isInRealm'>): string[] {
  return [CONFIG_NAME, CONFIG_COPY_NAME, RESERVE_NAME, ...(isInRealm ? [REALM_NAME] : [])];
}

/** `packs/ab/abcdef...` */
export function packName(id: string): string {
  return `packs/${id.slice(0, 2)}/${id}`;
}

const PACK_COPY_NAME = /^packs\/([0-9a-f]{2})\/(\1[0-9a-f]{62})(?:\.([1-9]\d{0,8})-[0-9a-f]{8})?$/;

/**
 * A new name for a copy of a pack that is moved to a storage group: `packs/ab/abcdef...`, `.`, the generation, `-` and
 * random digits. So no process ever uses a name again that another one may be about to remove.
 */
export function packCopyName(id: string, generation: number): string {
  return `${packName(id)}.${generation}-${randomBytes(4).toString('hex')}`;
}

/** Returns undefined if a name is not that of a pack in a storage group. A pack that was never moved has generation 0. */
export function parsePackCopyName(name: string): { readonly id: string; readonly generation: number } | undefined {
  const [, , id, generation = '0'] = PACK_COPY_NAME.exec(name) ?? [];
  return id === undefined ? undefined : { id, generation: Number(generation) };
}

const COPY_ADDRESS = /^(packs\/.+)@([0-9a-f]*)$/;

/**
 * The name under which a program addresses one certain copy of a pack: that of the file, `@` and the id of its group. No
 * file has such a name.
 */
export function copyAddress(name: string, groupId: string): string {
  return `${name}@${groupId}`;
}

/** Returns undefined if a name does not address a certain copy. */
export function parseCopyAddress(name: string): { readonly name: string; readonly groupId: string } | undefined {
  const [, file, groupId] = COPY_ADDRESS.exec(name) ?? [];
  return file === undefined ? undefined : { name: file, groupId: groupId! };
}

export function segmentName(id: string): string {
  return `index/${id}`;
}

/** Has the number of the commit record that took the place of all before it. Missing until there is one. */
export const COMMITS_NAME = 'index/commits';
const COMMIT_DIGITS = 12;
const COMMIT_NAME = /^index\/commit-(\d{12})$/;

/** A record of committed snapshots, beside the segments that were written for them. The numbers begin with 1. */
export function commitName(number: number): string {
  return `index/commit-${String(number).padStart(COMMIT_DIGITS, '0')}`;
}

/** Returns the number of a commit record; undefined if a name is not that of one. */
export function parseCommitName(name: string): number | undefined {
  const [, digits] = COMMIT_NAME.exec(name) ?? [];
  return digits === undefined || Number(digits) === 0 ? undefined : Number(digits);
}

const STATE_DIGITS = 15;
const STATE_NAME = /^index\/state-(\d{15})-[0-9a-f]{8}$/;

/** Says what the copies of the small files in a group are: see `MetadataState`. Later ones have larger numbers. */
export function stateName(number: number): string {
  return `index/state-${String(number).padStart(STATE_DIGITS, '0')}-${randomBytes(4).toString('hex')}`;
}

/** Returns the number of a state of the copies in a group; undefined if a name is not that of one. */
export function parseStateName(name: string): number | undefined {
  const [, digits] = STATE_NAME.exec(name) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Whether a file in `index` is no segment. */
export function isCommitName(name: string): boolean {
  return name === COMMITS_NAME || parseCommitName(name) !== undefined;
}

export function snapshotName(id: string): string {
  return `snapshots/${id}`;
}

/** A list of segments and packs that are about to be removed. */
export function condemnationName(id: string): string {
  return `condemned/${id}`;
}

const CONDEMNATION_MARK = /^locks\/condemned-([0-9a-f]{64})$/;

/** Says that a condemnation may be in force, in the one directory whose listings are never old. */
export function condemnationMark(id: string): string {
  return `locks/condemned-${id}`;
}

/** Returns the id of the condemnation; undefined if a name is not that of a mark. */
export function parseCondemnationMark(name: string): string | undefined {
  return CONDEMNATION_MARK.exec(name)?.[1];
}

/** A file with a master key, sealed under a password. */
export function keyName(id: string): string {
  return `${KEYS_DIRECTORY}/${id}`;
}

export function deletedName(id: string): string {
  return `deleted/${id}`;
}

/** The second copy of a manifest. It reveals that a manifest is lost. */
export function manifestCopyName(id: string): string {
  return `manifests.bak/${id}`;
}

/** Returns the last part of a name: the id, for files named by their id. */
export function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

export function directoryOf(name: string): string {
  const slash = name.lastIndexOf('/');
  return slash < 0 ? '' : name.slice(0, slash);
}

const TEMPORARY_NAME = /^tmp\/[0-9a-f]{32}$/;

/** Returns whether a name is that of a temporary file. Other files in `tmp/` do not belong to ldm. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

const ID = /^[0-9a-f]{64}$/;

/** Returns whether a name is an id (64 hex digits). */
export function isId(name: string): boolean {
  return ID.test(name);
}

/**
 * Returns the largest of the numbers, or `least` if none is larger. `Math.max(...numbers)` fails with more numbers than
 * there can be arguments, which are about 100,000.
 */
export function largestOf(numbers: Iterable<number>, least = 0): number {
  let largest = least;
  for (const number of numbers) if (number > largest) largest = number;
  return largest;
}
