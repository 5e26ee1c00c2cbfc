import { opendirSync, realpathSync, statSync } from 'node:fs';
import { sep } from 'node:path';
import { MountError } from '../../core/errors.ts';
import type { PathInput } from '../../core/util/byte-string.ts';
import { byteStringOf, fsPath, isUtf8, textOf } from '../../core/util/byte-string.ts';

/**
 * Returns the absolute path of a directory that something can be mounted at.
 * @throws MountError if it is missing, not an empty directory, in the repository, or a mount point without a program
 */
export function checkMountDirectory(path: PathInput, repositoryDirectory: string | undefined): string {
  const bytes = byteStringOf(path);
  const shown = textOf(bytes);
  // Programs are started with text.
  if (!isUtf8(bytes)) throw new MountError(`cannot mount at ${shown}: the path is not valid UTF-8`);
  const directory = examine(fsPath(bytes), shown);
  const inside = repositoryDirectory === undefined ? undefined : realpathSync(repositoryDirectory);
  if (inside !== undefined && `${directory}${sep}`.startsWith(`${inside}${sep}`))
    throw new MountError(`cannot mount at ${shown}: it is in the repository`, {
      hint: 'Name an empty directory elsewhere.',
    });
  return directory;
}

function examine(path: string | Buffer, shown: string): string {
  let directory: string;
  let isEmpty: boolean;
  try {
    if (!statSync(path).isDirectory()) throw new MountError(`cannot mount at ${shown}: it is not a directory`);
    directory = realpathSync(path);
    const opened = opendirSync(path);
    isEmpty = opened.readSync() === null;
    opened.closeSync();
  } catch (error) {
    throw error instanceof MountError ? error : describe(error as NodeJS.ErrnoException, shown);
  }
  if (isEmpty) return directory;
  throw new MountError(`cannot mount at ${shown}: the directory is not empty`, {
    hint: 'A mount would hide what is in it. Name an empty directory.',
  });
}

function describe(cause: NodeJS.ErrnoException, shown: string): MountError {
  if (cause.code === 'ENOENT')
    return new MountError(`cannot mount at ${shown}: there is no such directory`, {
      hint: 'Create it first.',
      cause,
    });
  if (cause.code === 'ENOTCONN')
    return new MountError(`cannot mount at ${shown}: a file system is still mounted there whose program has ended`, {
      advice: { code: 'unmount-stale', subject: shown },
      cause,
    });
  return new MountError(`cannot mount at ${shown}: ${cause.message}`, { cause });
}
