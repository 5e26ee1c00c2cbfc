import { getSystemErrorMap } from 'node:util';

import { BackendError } from '../errors.ts';
import type { BackendErrorKind } from '../errors.ts';

/** A phrase for each step on a file system, to follow "cannot". */
const WORDS = {
  connect: 'connect to',
  makeDirectory: 'create the directory',
  list: 'list',
  sizeOf: 'get the size of',
  read: 'read',
  readRange: 'read',
  create: 'create',
  append: 'write',
  sync: 'flush to disk',
  close: 'close',
  rename: 'rename',
  remove: 'remove',
  syncDirectory: 'flush to disk the directory',
  touch: 'set the modification time of',
  heartbeatOf: 'get the time of',
} as const;

export type BackendOperation = keyof typeof WORDS;

/** All other errors are of the kind `other`: only an error that surely says so means that something is lost. */
const KINDS: Readonly<Record<string, BackendErrorKind>> = {
  ENOENT: 'absent',
  ENOTDIR: 'no-directory',
  EEXIST: 'exists',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'read-only',
  EIO: 'damaged',
  EAGAIN: 'transient',
  ETIMEDOUT: 'transient',
  ECONNREFUSED: 'transient',
  ECONNRESET: 'transient',
  EPIPE: 'transient',
  EHOSTDOWN: 'transient',
  EHOSTUNREACH: 'transient',
  ENETDOWN: 'transient',
  ENETUNREACH: 'transient',
};

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: 'Free some space on the disk of the repository, or delete snapshots; then run the command again.',
  EDQUOT: 'The disk quota is used up: free some space or get a larger quota, then run the command again.',
  EFBIG: 'The repository needs larger files than this process or file system allows (see `ulimit -f`).',
  EACCES: 'Run ldm as the user who owns the repository.',
  EPERM: 'Run ldm as the user who owns the repository.',
  EROFS: 'The file system of the repository is mounted read-only.',
  EMFILE: 'Too many files are open: raise the limit (`ulimit -n`).',
};

export interface BackendFailure {
  readonly location: string;
  readonly operation: BackendOperation;
  /** The file or directory; empty for the root of the repository. */
  readonly name: string;
  readonly errno: string | undefined;
  readonly cause?: unknown;
  /** Describes the problem if errno does not. */
  readonly reason?: string;
  /** What the failure means, if it has no errno. */
  readonly kind?: BackendErrorKind | undefined;
  /** What to do about it, if errno does not say it. */
  readonly hint?: string | undefined;
}

/**
 * Creates the error for a failure of any backend, which says what was attempted, on which file, in which repository,
 * and why it failed.
 */
export function backendFailure(failure: BackendFailure): BackendError {
  const { location, operation, name, errno, cause } = failure;
  const reason = failure.reason ?? describeErrno(errno, cause);
  const code = errno === undefined ? '' : ` (${errno})`;
  const hint = failure.hint ?? (errno === undefined ? undefined : HINTS[errno]);
  const subject = name === '' ? 'it' : name;
  return new BackendError(`repository ${location}: cannot ${WORDS[operation]} ${subject}: ${reason}${code}`, {
    kind: failure.kind ?? KINDS[errno ?? ''] ?? 'other',
    errno,
    cause,
    hint,
    advice: errno === 'EIO' ? { code: 'copy-and-check' } : undefined,
  });
}

/** Returns the name of a system error, such as ENOENT. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** By name. Node makes a new map for each call, which would take longer than to notice that a file is missing. */
let messages: ReadonlyMap<string, string> | undefined;

function describeErrno(errno: string | undefined, cause: unknown): string {
  messages ??= new Map(getSystemErrorMap().values());
  return messages.get(errno ?? '') ?? (cause instanceof Error ? cause.message : 'unknown error');
}
