import type { Backend } from '../backend/backend.ts';
import { isNothingThere } from '../backend/repository-exists.ts';
import { LdmError, RefusedError, isAbsent } from '../errors.ts';
import type { GroupIdentity } from '../format/group-list.ts';
import { GROUP_ID_NAME, METADATA_DIRECTORY } from '../format/layout.ts';
import { readGroupIdentity } from '../groups/offline-reason.ts';

/** What may be in the place of a new group besides its own files: file systems create it. */
const IGNORED = /^(lost\+found|\.Trash-\d+)$/;
/** What is in the place of a group. */
export const OWN_DIRECTORIES: readonly string[] = ['packs', 'tmp', 'quarantine'];
const OWN_NAMES: readonly string[] = [GROUP_ID_NAME, METADATA_DIRECTORY, ...OWN_DIRECTORIES];

/** Returns undefined if there is no file that says which group this is. */
export async function identityAt(backend: Backend): Promise<GroupIdentity | undefined> {
  try {
    return await readGroupIdentity(backend);
  } catch (error) {
    if (isNothingThere(error)) return undefined;
    throw error;
  }
}

/** @throws RefusedError unless an empty place or a group without data is there */
export async function assertEmpty(backend: Backend): Promise<void> {
  const { location } = backend;
  const place = await backend.examine();
  if (place?.file !== undefined) throw refused(location, `${place.file} is a file`);
  const names = place === undefined ? await namesIn(backend) : place.names;
  const foreign = names.find((name) => !IGNORED.test(name) && !OWN_NAMES.includes(name));
  if (foreign !== undefined) throw refused(location, `it is not empty: it has ${foreign}`);
  for (const directory of [...OWN_DIRECTORIES, METADATA_DIRECTORY]) {
    const [file] = await backend.list(directory).catch((error: unknown) => {
      if (isAbsent(error)) return [];
      throw error;
    });
    if (file !== undefined && directory !== 'tmp') throw refused(location, `it is not empty: it has ${file.name}`);
  }
}

export async function isEmpty(backend: Backend): Promise<boolean> {
  try {
    await assertEmpty(backend);
    return true;
  } catch (error) {
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

async function namesIn(backend: Backend): Promise<string[]> {
  try {
    return (await backend.list('')).map(({ name }) => name.split('/')[0]!);
  } catch (error) {
    if (isNothingThere(error)) return [];
    throw error;
  }
}

export function refused(
  place: string,
  reason: string,
  code?: 'recover-or-choose-place' | 'remove-empty-group',
): LdmError {
  const advice = code && { code, subject: place };
  return new RefusedError(`${place} cannot be used for this group: ${reason}`, { advice });
}
