import { closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs';
import { CorruptDataError } from '../errors.ts';
import { errnoOf } from './backend-failure.ts';

/** Opening a FIFO in the place of a file would wait for a writer. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Errors about a symlink that has no target. They do not go away by themselves. */
const NO_TARGET = new Set(['ENOENT', 'ELOOP', 'ENOTDIR', 'ENAMETOOLONG']);

/** Something has the name of a file that is a FIFO, a socket or a device. */
class NotRegularError extends Error {}

/** Opens a file for reading. Throws the errors of `node:fs`, or another one if it is not a file. */
export function openRegular(path: string): number {
  const descriptor = openSync(path, FLAGS);
  const stats = fstatSync(descriptor);
  // Reading a directory fails by itself.
  if (stats.isFile() || stats.isDirectory()) return descriptor;
  closeSync(descriptor);
  throw new NotRegularError();
}

/**
 * Returns an error if a file cannot be read because of what has its name, which is damage: it can never be read.
 * `subject` names the file.
 */
export function unreadableName(path: string, subject: string, cause: unknown): CorruptDataError | undefined {
  const errno = errnoOf(cause) ?? '';
  // That is what opening a socket says.
  if (cause instanceof NotRegularError || errno === 'ENXIO') return notRegular(subject, cause);
  return NO_TARGET.has(errno) && isSymlink(path) ? noTarget(subject, errno === 'ELOOP', cause) : undefined;
}

export function notRegular(subject: string, cause?: unknown): CorruptDataError {
  return new CorruptDataError(`${subject} is not a regular file`, { cause, advice: { code: 'check-and-repair' } });
}

/** A listing has such a name. It must not look like a file that another process has removed since. */
export function noTarget(subject: string, isLoop: boolean, cause?: unknown): CorruptDataError {
  const problem = isLoop ? 'a symlink that leads back to itself' : 'a symlink to nothing';
  return new CorruptDataError(`${subject} is ${problem}`, { cause, advice: { code: 'check-and-repair' } });
}

function isSymlink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}
