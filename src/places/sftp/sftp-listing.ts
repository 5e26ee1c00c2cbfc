import { mapConcurrently } from '../../core/util/map-concurrently.ts';
import { constants } from 'node:fs';
import type { FileEntry } from 'ssh2';
import { OPEN_UNDER, onHandle, openUnder } from './own-requests.ts';
import { STATUS, closeLater, hasStatus, sizeIn, unlessStatus } from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';

/** OpenSSH answers with up to 100 names: 300 and the end, which is enough for the 256 directories of packs. */
const TOP_READS_AT_ONCE = 4;

export interface ListEvents {
  /** Called when requests from now on take effect after the listing of a directory. */
  readonly onAsked?: (() => void) | undefined;
  /** Called when the first requests were not enough, so that requests that were sent meanwhile are answered before the end. */
  readonly onMore?: (() => void) | undefined;
}

/**
 * Lists a directory, without `.` and `..`. The last answer says that there is no more, so several are asked for at once:
 * most directories are one answer and the end.
 */
export async function listDirectory(
  connection: SftpConnection,
  path: string,
  { onAsked, onMore }: ListEvents = {},
  readsAtOnce = 2,
): Promise<readonly FileEntry[]> {
  const handle = connection.has(OPEN_UNDER)
    ? openUnder(connection, path, 0)
    : await connection.request<Buffer>((protocol, done) => protocol.opendir(path, done));
  const entries: FileEntry[] = [];
  const readSome = async (): Promise<FileEntry[] | undefined> =>
    unlessStatus(STATUS.EOF, async () =>
      onHandle(handle, async () => connection.request<FileEntry[]>((protocol, done) => protocol.readdir(handle, done))),
    );
  try {
    for (;;) {
      const asking = mapConcurrently(Array.from({ length: readsAtOnce }), readsAtOnce, readSome);
      onAsked?.();
      const answers = await asking;
      for (const some of answers) for (const entry of some ?? []) entries.push(entry);
      if (answers.includes(undefined)) return entries;
      onMore?.();
    }
  } finally {
    closeLater(connection, handle);
  }
}

/** Anything that is not a directory. */
export interface TreeFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  /** Without the bits of the type if the server does not tell it. */
  readonly mode: number | undefined;
}

interface ListOptions extends ListEvents {
  readonly atOnce: number;
  /** Whether a directory must be readable. Another one may be closed to this user. */
  readonly isNeeded: (path: string) => boolean;
}

/**
 * Lists all files below a directory, with their paths from there. A server keeps a directory open while it is listed, and
 * may have few descriptors, so only some are listed at once.
 */
export async function listTree(
  connection: SftpConnection,
  top: string,
  { atOnce, isNeeded, onAsked, onMore }: ListOptions,
): Promise<TreeFile[]> {
  const files: TreeFile[] = [];
  const pending = [''];
  while (pending.length > 0) {
    const some = pending.splice(0, atOnce).map(async (directory) => {
      const readsAtOnce = directory === '' ? TOP_READS_AT_ONCE : 2;
      const listing = listDirectory(connection, top + directory, { onAsked, onMore }, readsAtOnce).catch(
        (error: unknown) => {
          const isGone = hasStatus(error, STATUS.NO_SUCH_FILE);
          const isClosed = hasStatus(error, STATUS.PERMISSION_DENIED) || hasStatus(error, STATUS.FAILURE);
          if (directory === '' || !(isGone || (isClosed && !isNeeded(directory.slice(1))))) throw error;
          return [];
        },
      );
      for (const { filename, attrs } of await listing) {
        const path = `${directory}/${filename}`;
        if ((attrs.mode & constants.S_IFMT) === constants.S_IFDIR) pending.push(path);
        else {
          const { mode, mtime } = attrs;
          files.push({ path: path.slice(1), sizeBytes: sizeIn(attrs), modifiedMs: mtime * 1000, mode });
        }
      }
    });
    await Promise.all(some);
    if (pending.length > 0) onMore?.();
  }
  return files;
}

/**
 * Lists directories of a server that does one thing after the other, as if each was asked for after the answer to the one
 * before it. All are asked for at once; those behind one that took more requests were read before its end, and are listed
 * again. `list`: sends its first requests before it returns.
 */
export function listInOrder<T>(
  directories: readonly string[],
  list: (directory: string, onMore: () => void) => Promise<T>,
): Promise<T>[] {
  const outcomes = outcomesInOrder(directories, list);
  return directories.map(async (_, index) => {
    const outcome = (await outcomes)[index]!;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

async function outcomesInOrder<T>(
  directories: readonly string[],
  list: (directory: string, onMore: () => void) => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  const longIndexes: number[] = [];
  const asked = directories.map(async (directory, index) => list(directory, () => longIndexes.push(index)));
  const outcomes = await Promise.allSettled(asked);
  const end = Math.min(...longIndexes, directories.length - 1) + 1;
  return [
    ...outcomes.slice(0, end),
    ...(end < directories.length ? await outcomesInOrder(directories.slice(end), list) : []),
  ];
}
