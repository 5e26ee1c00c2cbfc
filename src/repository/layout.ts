/** Where things lie in a repository; docs/format.md describes it. */
export const DIRECTORIES = [
  'packs',
  'index',
  'snapshots',
  'condemned',
  'deleted',
  'manifests.bak',
  'filter',
  'quarantine',
  'locks',
  'tmp',
] as const;
export const CONFIG_NAME = 'config';
export const CONFIG_COPY_NAME = 'config.bak';
/** A few bytes that nobody needs, given up when the disk is full, so that a delete can still reclaim. */
export const RESERVE_NAME = 'reserve';
export const RESERVE_BYTES: number = 1024 * 1024;

export function segmentName(id: string): string {
  return `index/${id}`;
}

export function snapshotName(id: string): string {
  return `snapshots/${id}`;
}

/** A list of segments and packs that are about to be removed. */
export function condemnationName(id: string): string {
  return `condemned/${id}`;
}

export function deletedName(id: string): string {
  return `deleted/${id}`;
}

/** The second copy of a manifest, by which one that is gone is missed. */
export function manifestCopyName(id: string): string {
  return `manifests.bak/${id}`;
}

/** The last part of a name: the id for everything that is named by one. */
export function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

export function directoryOf(name: string): string {
  const slash = name.lastIndexOf('/');
  return slash < 0 ? '' : name.slice(0, slash);
}

const TEMPORARY_NAME = /^tmp\/[0-9a-f]{32}$/;

/** Whether a name is one that ldm gives to files on their way; anything else in `tmp/` is not ours. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

const ID = /^[0-9a-f]{64}$/;

/** Whether a name is an id (64 hex digits); anything else in a directory of ids is not ours. */
export function isId(name: string): boolean {
  return ID.test(name);
}
