import type { Backend, BackendFile, ListedName, ObjectReader } from '../backend/backend.ts';
import { isAbsent } from '../errors.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, snapshotName } from '../format/layout.ts';
import { isOwnName } from '../format/own-names.ts';

/**
 * Lists the files of ldm in a directory of an existing repository, and adds the names of others to `foreignNames`. Returns
 * undefined if the repository has no such directory.
 */
export async function listUnlessMissing(
  backend: ObjectReader,
  directory: string,
  foreignNames: string[] = [],
): Promise<BackendFile[] | undefined> {
  return await unlessMissing(backend, async () => ownFilesOf(await backend.list(directory), foreignNames));
}

/** The same without sizes. */
export async function namesUnlessMissing(
  backend: ObjectReader,
  directory: string,
  foreignNames: string[] = [],
): Promise<ListedName[] | undefined> {
  return await unlessMissing(backend, async () => ownFilesOf(await namesIn(backend, directory), foreignNames));
}

async function unlessMissing<T>(backend: ObjectReader, list: () => Promise<T>): Promise<T | undefined> {
  try {
    return await list();
  } catch (error) {
    // If the configuration is missing too, the repository was moved away or unmounted; it is not empty.
    const hasConfig = async (name: string): Promise<boolean> => (await backend.sizeOf(name)) !== undefined;
    if (!isAbsent(error) || !((await hasConfig(CONFIG_NAME)) || (await hasConfig(CONFIG_COPY_NAME)))) throw error;
    return undefined;
  }
}

/**
 * Lists the files of ldm in a directory that may be missing without any loss of data, and adds the names of others to
 * `foreignNames`.
 */
export async function listOptional(
  backend: ObjectReader,
  directory: string,
  foreignNames: string[] = [],
): Promise<BackendFile[]> {
  return ownFilesOf(await unlessAbsent(backend.list(directory)), foreignNames);
}

/** The same without sizes. */
export async function optionalNames(
  backend: ObjectReader,
  directory: string,
  foreignNames: string[] = [],
): Promise<ListedName[]> {
  return ownFilesOf(await listEverything(backend, directory), foreignNames);
}

/** The same with what other programs have left there. */
export async function listEverything(backend: ObjectReader, directory: string): Promise<ListedName[]> {
  return await unlessAbsent(namesIn(backend, directory));
}

/**
 * Returns those of the listed snapshots that exist. Another place than a directory of this machine is asked for each name:
 * its listing may still have what was deleted, and a manifest may come from a cache.
 */
export async function existingSnapshots(backend: Backend, listedIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (backend.localDirectory !== undefined || listedIds.length === 0) return new Set(listedIds);
  const sizes = await backend.sizesOf(listedIds.map((id) => snapshotName(id)));
  return new Set(listedIds.filter((id) => sizes.has(snapshotName(id))));
}

async function namesIn(backend: ObjectReader, directory: string): Promise<ListedName[]> {
  return (await backend.listNames?.(directory)) ?? (await backend.list(directory));
}

async function unlessAbsent<T>(listing: Promise<T[]>): Promise<T[]> {
  try {
    return await listing;
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function ownFilesOf<T extends ListedName>(files: readonly T[], foreignNames: string[]): T[] {
  return files.filter(({ name, isForeign }) => {
    const isOwn = isForeign !== true && isOwnName(name);
    if (!isOwn) foreignNames.push(name);
    return isOwn;
  });
}
