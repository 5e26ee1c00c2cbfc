import { chmodSync, closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { fsPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { canHoldDirectories, heldDescriptorOf } from '../paths/held-directories.ts';
import { targetError } from '../paths/path-failures.ts';

/** Opens a directory only to refer to it, which needs no permission (Linux). Node does not have this constant. */
const O_PATH = 0o10000000;
const OPEN_FLAGS = constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** What is needed to list a directory and to change what is in it. */
const OWNER_ALL = 0o700;

/**
 * Allows us to list and change an existing directory of our own for now, as rsync and tar do: it may have been restored
 * as a directory that its owner may only read. Root needs no permission. Returns the mode to give back with
 * `setAccess`; undefined if nothing was changed. Ignores errors: whatever is done in the directory reports them.
 */
export function grantAccess(path: ByteString): number | undefined {
  const userId = process.geteuid?.();
  if (userId === undefined || userId === 0) return undefined;
  let previous: number | undefined;
  const isInNeed = ({ uid, mode }: Stats): boolean => uid === userId && (mode & OWNER_ALL) !== OWNER_ALL;
  changeMode(path, (stats) => {
    if (!isInNeed(stats)) return undefined;
    previous = stats.mode & 0o7777;
    return previous | OWNER_ALL;
  });
  return previous;
}

/**
 * For a dry run, which grants no access. Throws TargetError for a directory that cannot be examined before `grantAccess`
 * has opened it. `needed`: the permissions of its owner that are used.
 */
export function assertNotClosed(path: ByteString, needed: number): void {
  const userId = process.geteuid?.();
  const { uid, mode } = lstatSync(fsPath(path), { throwIfNoEntry: false }) ?? {};
  if (mode === undefined || userId === 0 || uid !== userId || (mode & needed) === needed) return;
  throw targetError({ operation: 'look into', path, cause: CLOSED });
}

/** Needed to reach what is in a directory, and to list it too. */
export const OWNER_SEARCH = 0o100;
export const OWNER_LIST = 0o500;

const CLOSED = 'its mode keeps its owner out. A restore allows access for its own time, but a dry run changes nothing';

/** Gives a directory its mode back. Ignores errors. */
export function setAccess(path: ByteString, mode: number): void {
  changeMode(path, () => mode);
}

/** Never follows a symlink: the directory may have been replaced. */
function changeMode(path: ByteString, modeFor: (stats: Stats) => number | undefined): void {
  try {
    const held = heldDescriptorOf(path);
    if (held !== undefined) {
      const mode = modeFor(fstatSync(held));
      if (mode !== undefined) fchmodSync(held, mode);
    } else changeUnheld(path, modeFor);
  } catch {
    // It belongs to another user, or is gone.
  }
}

function changeUnheld(path: ByteString, modeFor: (stats: Stats) => number | undefined): void {
  if (modeFor(lstatSync(fsPath(path))) === undefined) return;
  const usesPath = canHoldDirectories();
  const descriptor = openSync(fsPath(path), OPEN_FLAGS | (usesPath ? O_PATH : constants.O_RDONLY));
  try {
    const mode = modeFor(fstatSync(descriptor));
    if (mode === undefined) return;
    if (usesPath) chmodSync(`/proc/self/fd/${descriptor}`, mode);
    else fchmodSync(descriptor, mode);
  } finally {
    closeSync(descriptor);
  }
}
