import { getSystemErrorMap } from 'node:util';

import { BackendError } from '../errors.ts';

/** Every call of `Backend` and `BackendWriter`, as it reads after "cannot". */
const WORDS = {
  makeDirectory: 'make the directory',
  list: 'list',
  sizeOf: 'look at',
  read: 'read',
  readRange: 'read',
  create: 'create',
  append: 'write',
  sync: 'force to the disk',
  close: 'close',
  rename: 'rename',
  remove: 'remove',
  syncDirectory: 'force to the disk the directory',
  touch: 'set the time of',
  heartbeatOf: 'look at',
} as const;

export type BackendOperation = keyof typeof WORDS;

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC:
    'Free some space on the disk of the repository, or delete snapshots and run compact; then run the command again.',
  EDQUOT: 'The disk quota is used up: free some space, or ask for a larger quota; then run the command again.',
  EFBIG: 'The largest file that this process or file system allows is too small for the repository (see ulimit -f).',
  EACCES: 'Run ldm as the user who owns the repository.',
  EPERM: 'Run ldm as the user who owns the repository.',
  EROFS: 'The file system of the repository is mounted read-only.',
  EIO: 'The disk reports damage: look at the system log, and run check when the disk is sound again.',
  EMFILE: 'Too many files are open: raise the limit (ulimit -n).',
};

export interface BackendFailure {
  readonly location: string;
  readonly operation: BackendOperation;
  /** The file or directory; empty for the top of the repository. */
  readonly name: string;
  readonly errno: string | undefined;
  readonly cause?: unknown;
  /** What is wrong, where the errno does not say it. */
  readonly reason?: string;
}

/** The one form that every failure of a backend takes: what was tried, on what, where, and why it failed. */
export function backendFailure(failure: BackendFailure): BackendError {
  const { location, operation, name, errno, cause } = failure;
  const reason = failure.reason ?? describeErrno(errno, cause);
  const code = errno === undefined ? '' : ` (${errno})`;
  const hint = errno === undefined ? undefined : HINTS[errno];
  const subject = name === '' ? 'it' : name;
  return new BackendError(`repository ${location}: cannot ${WORDS[operation]} ${subject}: ${reason}${code}`, {
    errno,
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** The name of a system error, such as ENOENT. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function describeErrno(errno: string | undefined, cause: unknown): string {
  for (const [name, message] of getSystemErrorMap().values()) {
    if (name === errno) return message;
  }
  return cause instanceof Error ? cause.message : 'it failed';
}
