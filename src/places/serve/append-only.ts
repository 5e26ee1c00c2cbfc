import { DIRECTORIES, METADATA_DIRECTORY, TOP_FILES, isTemporaryName } from '../../core/format/layout.ts';
import { RequestError, STATUS } from './request-error.ts';

/**
 * Files that are no part of what is stored: they may be written, replaced and removed at any time. Planes are among them:
 * other repositories of a realm store more if one is wrong, and nothing is lost.
 */
const TRANSIENT =
  /^(?:tmp\/[0-9a-f]{32}|planes\/\d{12}\/(?:base-\d{12}|delta-\d{12}-\d{12})|(?:unfinished|verified)\/[0-9a-f]{32}|locks\/(?:shared|exclusive)-[\w.~-]+)$/;
/**
 * Files that a backup, `init` or `group add` adds. Missing are those that begin a removal, in `deleted/`, `condemned/` and
 * `quarantine/`.
 */
const ADDABLE =
  /^(?:config|config\.bak|group-id|reserve|realm|planes\/\d{12}\/(?:base-\d{12}|delta-\d{12}-\d{12})|packs\/[0-9a-f]{2}\/[0-9a-f]{64}(?:\.\d{1,9}-[0-9a-f]{8})?|holds\/[0-9a-f]{64}-[0-9a-f]{64}|(?:keys|index|snapshots|manifests\.bak)\/[0-9a-f]{64}|index\/(?:commit-(?!0{12})\d{12}|state-\d{15}-[0-9a-f]{8})|filter\/\d{12}-[0-9a-f]{8}|(?:unfinished|verified)\/[0-9a-f]{32})$/;
/** Directories below those of a repository. */
const INNER_DIRECTORY = /^(?:packs\/[0-9a-f]{2}|planes\/\d{12})$/;
const OWN_DIRECTORIES = new Set<string>(DIRECTORIES);

/** Returns the name in its repository, which may be in a directory below the one that is served. */
function innerName(name: string): string {
  const parts = name.split('/');
  const first = parts.findIndex((part) => OWN_DIRECTORIES.has(part));
  return first < 0 ? parts.at(-1)! : parts.slice(first).join('/');
}

/** A repository has certain directories. Where none is yet, any name may lead to the place of a new one. */
function mayBeDirectory(name: string, isInRepository: boolean): boolean {
  const inner = innerName(name);
  if (OWN_DIRECTORIES.has(inner) || inner === METADATA_DIRECTORY || INNER_DIRECTORY.test(inner)) return true;
  // A directory with the name of such a file would stay for ever.
  return !inner.includes('/') && !TOP_FILES.has(inner) && !isInRepository;
}

function assertTransient(name: string, what: string): void {
  if (!TRANSIENT.test(innerName(name))) refuse(what);
}

function refuse(what: string): never {
  throw new RequestError(
    STATUS.PERMISSION_DENIED,
    `the server is append-only: it lets clients add, and not ${what} what is stored`,
  );
}

/**
 * The rules of an append-only directory. Every file gets its name from a temporary file, and from then on it can only be
 * read. Locks, temporary files, and the records of unfinished backups and of verified packs are exempt: nothing that is stored
 * relies on them.
 */
export const APPEND_ONLY = {
  assertMayWrite: (name: string): void => assertTransient(name, 'change'),
  assertMayRemove: (name: string): void => assertTransient(name, 'remove'),
  assertMayTouch: (name: string): void => assertTransient(name, 'change'),
  assertMayRename: (source: string, target: string): void => {
    if (!isTemporaryName(innerName(source))) refuse('rename');
    if (!ADDABLE.test(innerName(target))) refuse('remove');
  },
  assertMayMakeDirectory: (name: string, isInRepository: boolean): void => {
    if (!mayBeDirectory(name, isInRepository)) {
      const message = 'the server is append-only: it lets clients make only directories of repositories';
      throw new RequestError(STATUS.PERMISSION_DENIED, message);
    }
  },
  refuseReplacement: (): never => refuse('replace'),
  refuseLink: (): never => refuse('link'),
};
