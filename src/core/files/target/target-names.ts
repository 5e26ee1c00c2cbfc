import { closeSync, futimesSync, linkSync, openSync, renameSync, unlinkSync } from 'node:fs';
import type { TargetError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { errnoOf, targetError } from '../paths/path-failures.ts';
import { STATX_CURRENT_DIRECTORY, hasLockingFlag } from '../native/statx.ts';
import { temporaryName } from './work-names.ts';

/** The path at which to create a file. */
export interface FilePlace {
  /** Full path of the file. Below a held directory it may change between two uses. */
  readonly path: ByteString;
  /** Whether it may replace an existing file. */
  readonly replaces: boolean;
}

/**
 * Links a complete file to a new name, which fails if the name exists. Another program may have created it since the
 * last look, or another thread of this restore, on a file system that does not distinguish `A` from `a`.
 */
export function placeTarget(source: ByteString, target: ByteString): void {
  try {
    linkSync(fsPath(source), fsPath(target));
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') throw taken(target);
    placeOverClaim(source, target);
    return;
  }
  removeWorkName(source, target);
}

/** For file systems without hard links: exclusively creates an empty file with the name, then replaces it. */
export function placeOverClaim(source: ByteString, target: ByteString): void {
  claimName(target);
  try {
    replaceTarget(source, target);
  } catch (error) {
    removeIfPossible(() => target);
    throw error;
  }
}

/** The empty file gets the oldest possible time. If a killed restore leaves only that, any other file is newer. */
function claimName(path: ByteString): void {
  try {
    const descriptor = openSync(fsPath(path), 'wx', 0o600);
    try {
      futimesSync(descriptor, 0, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') throw taken(path);
    throw targetError({ operation: 'create', path, cause });
  }
}

function removeWorkName(source: ByteString, target: ByteString): void {
  try {
    unlinkSync(fsPath(source));
  } catch (cause) {
    throw targetError({ operation: 'remove the temporary file of', path: target, cause });
  }
}

function taken(path: ByteString): TargetError {
  return targetError({ operation: 'write', path, cause: 'another file has taken this name' });
}

/** Replaces an existing file by a finished one. Removes the new file if that fails. */
export function replaceTarget(source: ByteString, target: ByteString): void {
  try {
    renameSync(fsPath(source), fsPath(target));
  } catch (cause) {
    removeIfPossible(() => source);
    throw targetError({ operation: 'replace', path: target, cause });
  }
}

/** Gives a file or directory another name in its directory. */
export function renameTarget(source: ByteString, target: ByteString): void {
  try {
    renameSync(fsPath(source), fsPath(target));
  } catch (cause) {
    throw targetError({ operation: 'rename', path: source, cause });
  }
}

/** Ignores errors, since an earlier error is reported. */
export function removeIfPossible(path: () => ByteString): void {
  try {
    unlinkSync(fsPath(path()));
  } catch {
    // The permissions or the directory have changed.
  }
}

export function beside(path: ByteString, name: string): ByteString {
  return (path.slice(0, path.lastIndexOf('/') + 1) + name) as ByteString;
}

export function temporaryPathBeside(path: ByteString): ByteString {
  return beside(path, temporaryNameBeside(path));
}

/**
 * Returns a new temporary name in the directory of a file. Throws TargetError if the directory is append-only: names
 * can be added to it, but the temporary one could never be removed.
 */
export function temporaryNameBeside(path: ByteString): string {
  if (hasLockingFlag(STATX_CURRENT_DIRECTORY, beside(path, '.')))
    throw targetError({ operation: 'create a temporary file beside', path, cause: LOCKED_DIRECTORY });
  return temporaryName();
}

const LOCKED_DIRECTORY = 'the directory is immutable or append-only, see lsattr(1) and chattr(1)';
