import { constants } from 'node:fs';
import { mayBeDamaged } from '../../core/format/own-names.ts';
import { mapConcurrently } from '../../core/util/map-concurrently.ts';
import type { BackendFile } from '../../core/backend/backend.ts';
import { noTarget, notRegular } from '../../core/backend/regular-file.ts';
import { STATUS, followedStatus, hasStatus, statusOf } from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';
import type { TreeFile } from './sftp-directories.ts';

const LOOKS_AT_ONCE = 16;

/** What a name leads to. A server that does not tell the type of files has only files. */
type Found = 'file' | 'symlink' | 'directory' | 'other';

/**
 * Knows which names are regular files. A server that opens a FIFO waits for a writer and answers nothing more. The type
 * comes with each name of a listing, so only names that were not listed cost another request.
 */
export class RegularNames {
  readonly #known = new Set<string>();

  /** Marks what is not a file in the listing of the directory `top`, whose names begin with `prefix`. Sorts it. */
  async mark(
    connection: SftpConnection,
    listed: readonly TreeFile[],
    { prefix, top }: { readonly prefix: string; readonly top: string },
  ): Promise<BackendFile[]> {
    const files = await mapConcurrently(listed, LOOKS_AT_ONCE, async ({ path, sizeBytes, modifiedMs, mode }) => {
      const name = prefix + path;
      const file = { name, sizeBytes, modifiedMs };
      const found = kindOf(mode);
      const target = found === 'symlink' ? await targetOf(connection, `${top}/${path}`) : found;
      if (target === 'file') this.#known.add(name);
      const isFile = target === 'file' || (target === 'nothing' && mayBeDamaged(name));
      return isFile ? file : { ...file, isForeign: true };
    });
    return files.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Finds out whether a name may be opened.
   * @throws CorruptDataError if it never can be
   */
  async check(connection: SftpConnection, name: string, path: string, location: string): Promise<void> {
    if (this.#known.has(name)) return;
    const status = await statusOf(connection, path);
    const subject = `repository ${location}: ${name}`;
    const found = kindOf(status?.mode);
    const target = found === 'symlink' ? await targetOf(connection, path) : found;
    if (target === 'nothing') throw noTarget(subject, false);
    if (target === 'other') throw notRegular(subject);
    // Reading a directory fails by itself.
    if (target === 'file' && status !== undefined) this.#known.add(name);
  }
}

/** Whether this is the mode of a file, or of a symlink, which may lead to one. */
export function mayBeFile(mode: number | undefined): boolean {
  return ['file', 'symlink'].includes(kindOf(mode));
}

function kindOf(mode: number | undefined): Found {
  switch ((mode ?? 0) & constants.S_IFMT) {
    case 0:
    case constants.S_IFREG:
      return 'file';
    case constants.S_IFLNK:
      return 'symlink';
    case constants.S_IFDIR:
      return 'directory';
    default:
      return 'other';
  }
}

/** A server has no number of its own for a symlink that leads back to itself. */
async function targetOf(connection: SftpConnection, path: string): Promise<'file' | 'other' | 'nothing'> {
  try {
    const status = await followedStatus(connection, path);
    if (status === undefined) return 'nothing';
    return kindOf(status.mode) === 'file' ? 'file' : 'other';
  } catch (error) {
    if (!hasStatus(error, STATUS.FAILURE)) throw error;
    return 'nothing';
  }
}
