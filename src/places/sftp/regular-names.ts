import { constants } from 'node:fs';
import { mayBeDamaged } from '../../core/format/own-names.ts';
import { mapConcurrently } from '../../core/util/map-concurrently.ts';
import type { BackendFile } from '../../core/backend/backend.ts';
import { noTarget, notRegular } from '../../core/backend/regular-file.ts';
import { OPEN_UNDER } from './own-requests.ts';
import { OPEN_MODE, STATUS, followedStatus, hasStatus, openFile, openToUse, statusOf } from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';
import type { TreeFile } from './sftp-listing.ts';

const LOOKS_AT_ONCE = 16;

interface NamedPath {
  readonly name: string;
  /** Where the server has it. */
  readonly path: string;
  /** The repository, for messages. */
  readonly location: string;
}

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
   * Opens a file for reading. The question what it is goes ahead of that without a wait, so a server that is caught in a
   * FIFO has answered it: the connection to that server is abandoned.
   * @throws CorruptDataError if it never can be opened, as a symlink that leads nowhere
   */
  async open(connection: SftpConnection, { name, path, location }: NamedPath): Promise<Buffer> {
    // A server that has our own requests opens only files.
    if (this.#known.has(name) || connection.has(OPEN_UNDER)) return await openToUse(connection, path, OPEN_MODE.READ);
    const following = followedStatus(connection, path);
    const looking = statusOf(connection, path);
    const opening = openFile(connection, path, OPEN_MODE.READ);
    for (const each of [looking, opening]) each.catch(() => undefined);
    const status = await following.catch(unlessFailure);
    const found = kindOf(status?.mode);
    if (status !== undefined && found === 'other') {
      connection.abandon(`${name} is not a file`);
      throw notRegular(`repository ${location}: ${name}`);
    }
    if (status === undefined && kindOf((await looking)?.mode) === 'symlink')
      throw noTarget(`repository ${location}: ${name}`, false);
    const handle = await opening;
    if (status !== undefined && found === 'file') this.#known.add(name);
    return handle;
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

async function targetOf(connection: SftpConnection, path: string): Promise<'file' | 'other' | 'nothing'> {
  const status = await followedStatus(connection, path).catch(unlessFailure);
  if (status === undefined) return 'nothing';
  return kindOf(status.mode) === 'file' ? 'file' : 'other';
}

/** A server has no number of its own for a symlink that leads back to itself. */
function unlessFailure(error: unknown): undefined {
  if (!hasStatus(error, STATUS.FAILURE)) throw error;
}
