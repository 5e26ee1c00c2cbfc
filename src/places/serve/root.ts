import { lstatSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { posix } from 'node:path';

import { errnoOf } from '../../core/backend/backend-failure.ts';
import { RequestError, STATUS } from './request-error.ts';

/** Something at a path below the root. */
export interface Located {
  /** Relative to the root, without `.` and `..`; empty for the root. */
  readonly name: string;
  /** On this machine. */
  readonly path: string;
  /** Undefined if there is nothing; never of a symlink. */
  readonly stats: Stats | undefined;
}

/** The directory that is `/` for a client. No path leaves it, because no symlink is followed. */
export class Root {
  readonly directory: string;

  /** @param directory - absolute, without symlinks */
  constructor(directory: string) {
    this.directory = directory;
  }

  /** Resolves a path of the client. `..` does not lead above the root. */
  nameOf(path: string): string {
    if (path.includes('\0')) throw new RequestError(STATUS.NO_SUCH_FILE, 'No such file or directory');
    return posix.resolve('/', path).slice(1);
  }

  /**
   * Looks up a path of the client, part by part.
   * @throws RequestError if a part is a symlink, or no directory leads there
   */
  locate(path: string): Located {
    const name = this.nameOf(path);
    let current = this.directory;
    let stats: Stats | undefined = lstatSync(current);
    for (const part of name === '' ? [] : name.split('/')) {
      // Fails with ENOENT or ENOTDIR, as the system does.
      if (stats === undefined) throw new RequestError(STATUS.NO_SUCH_FILE, 'No such file or directory');
      current += `/${part}`;
      stats = lstatUnlessAbsent(current);
      if (stats?.isSymbolicLink() === true) {
        throw new RequestError(STATUS.PERMISSION_DENIED, `the server follows no symlinks, such as ${part}`);
      }
    }
    return { name, path: current, stats };
  }

  /** As `locate`, for something that must exist. */
  locateExisting(path: string): Located & { readonly stats: Stats } {
    const { name, path: found, stats } = this.locate(path);
    if (stats === undefined) throw new RequestError(STATUS.NO_SUCH_FILE, 'No such file or directory');
    return { name, path: found, stats };
  }
}

/** Returns what is at a path; undefined if there is nothing. */
export function lstatUnlessAbsent(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
