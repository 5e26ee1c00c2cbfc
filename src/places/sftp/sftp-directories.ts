import { constants } from 'node:fs';
import type { FileEntry, Stats } from 'ssh2';
import {
  FSYNC,
  OPEN_MODE,
  STATUS,
  bothOf,
  closeLater,
  followedStatus,
  hasStatus,
  openFile,
  sizeIn,
  syncHandle,
  unlessStatus,
} from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';

const DIRECTORY_MODE = 0o700;

/**
 * Makes the names in a directory durable, where the server can do that.
 * @throws SftpStatusError with `NO_SUCH_FILE` if there is no directory
 */
export async function syncDirectory(connection: SftpConnection, path: string): Promise<void> {
  await syncAfter(connection, path, async () => undefined);
}

/** Makes the names in a directory durable after a change of them. The directory is opened beside the change. */
export async function syncAfter(
  connection: SftpConnection,
  path: string,
  change: () => Promise<unknown>,
): Promise<void> {
  // Other servers open only files.
  const opening = connection.has(FSYNC)
    ? openFile(connection, path, OPEN_MODE.READ)
    : connection.request<Stats>((protocol, done) => protocol.stat(path, done)).then(() => undefined);
  const [opened, changed] = await Promise.allSettled([opening, change()]);
  const handle = opened.status === 'fulfilled' ? opened.value : undefined;
  try {
    if (changed.status === 'rejected') throw changed.reason;
    if (opened.status === 'rejected') throw opened.reason;
    if (handle !== undefined) await syncHandle(connection, handle);
  } catch (error) {
    if (handle === undefined || changed.status === 'rejected') throw error;
    unlessNeedless(error);
  } finally {
    if (handle !== undefined) closeLater(connection, handle);
  }
}

/** EINVAL: the file system cannot sync a directory, and does not need to. */
export function unlessNeedless(error: unknown): void {
  if (!hasStatus(error, STATUS.BAD_MESSAGE)) throw error;
}

/** Directories that are opened before a file gets a name in them, which saves a wait. Each serves one name. */
export class ExpectedDirectories {
  readonly #opened = new Map<string, Promise<Opened | undefined>[]>();

  add(directory: string, opening: Promise<Opened | undefined>): void {
    this.#opened.set(directory, [...(this.#opened.get(directory) ?? []), opening.catch(() => undefined)]);
  }

  /** Returns the handle of a directory that is open on this connection. */
  async take(connection: SftpConnection, directory: string): Promise<Buffer | undefined> {
    const [first, ...others] = this.#opened.get(directory) ?? [];
    this.#opened.set(directory, others);
    const opened = await first;
    return opened?.connection === connection ? opened.handle : undefined;
  }
}

interface Opened {
  readonly connection: SftpConnection;
  readonly handle: Buffer;
}

/**
 * Lists a directory, without `.` and `..`. The last answer says that there is no more, so two are asked for at once: most
 * directories are one answer and the end. `onAsked`: called when these were sent.
 */
export async function listDirectory(
  connection: SftpConnection,
  path: string,
  onAsked?: () => void,
): Promise<readonly FileEntry[]> {
  const handle = await connection.request<Buffer>((protocol, done) => protocol.opendir(path, done));
  const entries: FileEntry[] = [];
  const readSome = async (): Promise<FileEntry[] | undefined> =>
    unlessStatus(STATUS.EOF, async () =>
      connection.request<FileEntry[]>((protocol, done) => protocol.readdir(handle, done)),
    );
  try {
    for (;;) {
      const asking = bothOf(readSome(), readSome());
      onAsked?.();
      const answers = await asking;
      for (const some of answers) for (const entry of some ?? []) entries.push(entry);
      if (answers.includes(undefined)) return entries;
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

interface ListOptions {
  readonly atOnce: number;
  /** Whether a directory must be readable. Another one may be closed to this user. */
  readonly isNeeded: (path: string) => boolean;
  /** Called when requests from now on take effect after the listing of a directory. */
  readonly onAsked?: (() => void) | undefined;
}

/**
 * Lists all files below a directory, with their paths from there. A server keeps a directory open while it is listed, and
 * may have few descriptors, so only some are listed at once.
 */
export async function listTree(
  connection: SftpConnection,
  top: string,
  { atOnce, isNeeded, onAsked }: ListOptions,
): Promise<TreeFile[]> {
  const files: TreeFile[] = [];
  const pending = [''];
  while (pending.length > 0) {
    const some = pending.splice(0, atOnce).map(async (directory) => {
      const listing = listDirectory(connection, top + directory, onAsked).catch((error: unknown) => {
        const isGone = hasStatus(error, STATUS.NO_SUCH_FILE);
        const isClosed = hasStatus(error, STATUS.PERMISSION_DENIED) || hasStatus(error, STATUS.FAILURE);
        if (directory === '' || !(isGone || (isClosed && !isNeeded(directory.slice(1))))) throw error;
        return [];
      });
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
  }
  return files;
}

/** Something that is not a directory has the name of one. */
export class NotDirectoryError extends Error {}

/** Creates a directory and those above it, and makes their names durable. Accepts what exists. */
export async function makeDirectories(connection: SftpConnection, path: string): Promise<void> {
  const make = async (): Promise<void> =>
    connection.request<void>((protocol, done) =>
      protocol.mkdir(path, { mode: DIRECTORY_MODE }, (error) => done(error, undefined)),
    );
  const outer = outerOf(path);
  try {
    await make();
  } catch (error) {
    if (hasStatus(error, STATUS.NO_SUCH_FILE) && outer !== '.' && outer !== '/') {
      await makeDirectories(connection, outer);
      await make();
    } else {
      // It has no number of its own if something exists already.
      const status = await followedStatus(connection, path);
      if (status?.isDirectory() !== true) throw status === undefined ? error : new NotDirectoryError();
    }
  }
  await syncDirectory(connection, outer).catch((error: unknown) => {
    // A directory of another user that is writable but not readable cannot be opened, and therefore not synced.
    if (!hasStatus(error, STATUS.PERMISSION_DENIED)) throw error;
  });
}

const PACK_DIRECTORIES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Creates the directories of a repository, with those of packs: to create one for a pack takes six waits. */
export async function makeRepository(connection: SftpConnection, top: string, names: readonly string[]): Promise<void> {
  await makeDirectories(connection, top);
  await makeInner(connection, top, names);
  if (names.includes('packs')) await makeInner(connection, `${top}/packs`, PACK_DIRECTORIES);
}

/** Creates directories in one that exists, all at once, and makes their names durable. Accepts what exists. */
async function makeInner(connection: SftpConnection, outer: string, names: readonly string[]): Promise<void> {
  const making = names.map(async (name) =>
    connection.request<void>((protocol, done) =>
      protocol.mkdir(`${outer}/${name}`, { mode: DIRECTORY_MODE }, (error) => done(error, undefined)),
    ),
  );
  const outcomes = await Promise.allSettled(making);
  for (const [index, outcome] of outcomes.entries()) {
    // It has no number of its own if something exists already.
    if (outcome.status === 'rejected') await makeDirectories(connection, `${outer}/${names[index]}`);
  }
  await syncDirectory(connection, outer);
}

/** Returns the path of the directory that has this name in it. */
export function outerOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end < 0 ? '.' : path.slice(0, Math.max(1, end));
}
