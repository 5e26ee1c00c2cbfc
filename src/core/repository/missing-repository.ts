import type { Backend, Place } from '../backend/backend.ts';
import { BackendError, RepositoryNotFoundError } from '../errors.ts';
import { GROUP_ID_NAME } from '../format/layout.ts';
import type { Advice } from '../util/advice.ts';

const ELSEWHERE: Advice = { code: 'choose-other-place' };
const MOUNT: Advice = { code: 'mount-or-create-repository' };

/** Where disks are mounted. A missing directory there is more often a missing disk than a typing error. */
const MOUNT_POINT = /^\/(?:mnt|media|media\/[^/]+|run\/media\/[^/]+|Volumes)\/[^/]+$/;

/** Describes a place that has no repository: the cause may be a typing error or a disk that is not mounted. */
export async function missingRepository(backend: Backend): Promise<RepositoryNotFoundError> {
  const { location } = backend;
  const absent = `there is no repository at ${location}`;
  const create: Advice = { code: 'create-repository', subject: location };
  const place = await examine(backend);
  if (place === undefined) return (await isGroup(backend)) ? groupThere(location) : notFound(absent, create);
  const { missing, file, names, target, emptyParent } = place;
  if (names.includes(GROUP_ID_NAME)) return groupThere(location);
  if (file === location) return notFound(`${location} is a file, not a repository`, ELSEWHERE);
  if (file !== undefined) return notFound(`${absent}: ${file} is a file, not a directory`, ELSEWHERE);
  if (target !== undefined) {
    return notFound(
      `${absent}: ${missing} is a symlink to ${target}, which does not exist; is the disk mounted?`,
      MOUNT,
    );
  }
  if (missing !== undefined && (missing !== location || MOUNT_POINT.test(location))) {
    return notFound(`${absent}: ${missing} does not exist; is the disk mounted?`, MOUNT);
  }
  // The usual state of a mount point without its disk. Advice to create a repository would put one on the wrong disk.
  if (missing !== undefined && emptyParent !== undefined)
    return notFound(`${absent}: ${emptyParent} is empty; is the disk mounted?`, MOUNT);
  if (missing !== undefined) return notFound(`${absent}: the directory does not exist`, create);
  return names.length === 0
    ? notFound(`${absent}: the directory is empty; is the disk mounted?`, create)
    : notFound(`${location} is a directory, but not a repository`, ELSEWHERE);
}

function groupThere(location: string): RepositoryNotFoundError {
  return notFound(`${location} is a group of a repository, not the place of the repository itself`, {
    code: 'recover-from-group',
    subject: location,
  });
}

/** False also if the place cannot be read. */
async function isGroup(backend: Backend): Promise<boolean> {
  return await backend.sizeOf(GROUP_ID_NAME).then(
    (sizeBytes) => sizeBytes !== undefined,
    () => false,
  );
}

function notFound(message: string, advice: Advice): RepositoryNotFoundError {
  return new RepositoryNotFoundError(message, { advice });
}

/** Returns undefined also if the place cannot be read. */
async function examine(backend: Backend): Promise<Place | undefined> {
  try {
    return await backend.examine();
  } catch (error) {
    if (error instanceof BackendError) return undefined;
    throw error;
  }
}
