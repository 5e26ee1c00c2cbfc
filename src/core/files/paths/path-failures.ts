import { getSystemErrorMap } from 'node:util';
import { SourceError, TargetError } from '../../errors.ts';
import type { PathErrorDetails } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { textOf } from '../../util/byte-string.ts';
import { logicalPathOf, unfollowedPath } from './held-directories.ts';
import { STATX_CURRENT_DIRECTORY, hasLockingFlag } from '../native/statx.ts';

const LOCKED = '; it, or the directory that contains it, is immutable or append-only, see lsattr(1) and chattr(1)';

interface PathFailure {
  /** The failed operation, worded to follow "cannot": "open", "read the metadata of". */
  readonly operation: string;
  readonly path: ByteString;
  /** The caught error, or the reason in words. */
  readonly cause: unknown;
}

/** Returns the system's name of a caught error, such as ENOENT. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = (error as NodeJS.ErrnoException).code;
  return typeof code === 'string' ? code : undefined;
}

export function sourceError(failure: PathFailure): SourceError {
  return new SourceError(messageOf(failure), detailsOf(failure));
}

export function targetError(failure: PathFailure): TargetError {
  const locked = errnoOf(failure.cause) === 'EPERM' && isLocked(failure.path) ? LOCKED : '';
  return new TargetError(messageOf(failure) + locked, detailsOf(failure));
}

function messageOf({ operation, path, cause }: PathFailure): string {
  return `cannot ${operation} ${textOf(logicalPathOf(path))}: ${reasonOf(cause)}`;
}

function detailsOf({ path, cause }: PathFailure): PathErrorDetails {
  return { path: logicalPathOf(path), errno: errnoOf(cause), cause };
}

/** Returns why a call failed, in words. Node's own message repeats the path, and damages one that is not UTF-8. */
export function reasonOf(cause: unknown): string {
  if (typeof cause === 'string') return cause;
  const errno = errnoOf(cause);
  if (errno === 'EISDIR') return 'it is a directory';
  const number = (cause as NodeJS.ErrnoException | undefined)?.errno;
  const text = number === undefined ? undefined : getSystemErrorMap().get(number)?.[1];
  if (errno !== undefined && text !== undefined) return `${text} (${errno})`;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Whether a flag keeps what is at the path, or its name, from being changed. */
function isLocked(path: ByteString): boolean {
  const parent = path.slice(0, Math.max(1, path.lastIndexOf('/'))) as ByteString;
  return [path, parent].some((place) => hasLockingFlag(STATX_CURRENT_DIRECTORY, unfollowedPath(place)));
}
