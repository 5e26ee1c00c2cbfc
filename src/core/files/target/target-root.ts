import { mkdirSync, realpathSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { TargetError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromBytes, fsPath, textOf } from '../../util/byte-string.ts';
import { makeDirectories } from '../../util/make-directories.ts';
import { errnoOf, targetError } from '../paths/path-failures.ts';
import { parentOf } from '../paths/root-paths.ts';

/**
 * Creates the directory to restore into, with its parents, and returns whether it is new. With `isPrivate`, only we can
 * access a new one for now. `path`: its real path. Symlinks in the path of the target are followed, symlinks inside the
 * target are not.
 */
export function makeTargetRoot(
  path: ByteString,
  { isPrivate }: { readonly isPrivate: boolean },
): { readonly path: ByteString; readonly isNew: boolean } {
  try {
    const lastMode = isPrivate ? 0o700 : 0o777;
    const made = makeDirectories(path, { mode: 0o777, lastMode, toFs: (inner) => fsPath(inner as ByteString) });
    return { path: byteStringFromBytes(realpathSync.native(fsPath(path), 'buffer')), isNew: made !== undefined };
  } catch (cause) {
    throw inTheWay(path, cause) ?? targetError({ operation: 'create the target directory', path, cause });
  }
}

/** Returns the error for a target that is a file, or is below one. */
function inTheWay(path: ByteString, cause: unknown): TargetError | undefined {
  if (!['EEXIST', 'ENOTDIR'].includes(errnoOf(cause) ?? '')) return undefined;
  for (let inner = path; inner !== '/'; inner = parentOf(inner)) {
    const stats = existingStats(path, inner);
    if (stats !== undefined) return stats.isDirectory() ? undefined : notDirectory(path, inner, stats);
  }
  return undefined;
}

function notDirectory(path: ByteString, inner: ByteString, stats: Stats): TargetError {
  const subject = inner === path ? 'it' : textOf(inner);
  const what = stats.isFile() ? 'is a file, not a directory' : 'is not a directory';
  return new TargetError(`cannot restore to ${textOf(path)}: ${subject} ${what}`, {
    path,
    errno: 'ENOTDIR',
    advice: { code: 'name-target-directory' },
  });
}

/**
 * Like `makeTargetRoot`, but creates nothing: returns whether the directory exists. Throws TargetError if it could not be
 * created.
 */
export function findTargetRoot(path: ByteString): boolean {
  for (let inner = path; ; inner = parentOf(inner)) {
    const stats = existingStats(path, inner);
    if (stats?.isDirectory() === true) return inner === path;
    if (stats !== undefined) throw notDirectory(path, inner, stats);
  }
}

function existingStats(path: ByteString, inner: ByteString): Stats | undefined {
  try {
    return statSync(fsPath(inner), { throwIfNoEntry: false });
  } catch (cause) {
    // Below a file.
    if (errnoOf(cause) === 'ENOTDIR') return undefined;
    throw targetError({ operation: 'create the target directory', path, cause });
  }
}

/**
 * Creates a directory above the one to restore into, which only we can access for now. Returns false if it exists, also
 * as a symlink to a directory. Throws TargetError.
 */
export function makeTargetParent(path: ByteString): boolean {
  try {
    mkdirSync(fsPath(path), 0o700);
    return true;
  } catch (cause) {
    if (statSync(fsPath(path), { throwIfNoEntry: false })?.isDirectory() === true) return false;
    throw targetError({ operation: 'create the target directory', path, cause });
  }
}
