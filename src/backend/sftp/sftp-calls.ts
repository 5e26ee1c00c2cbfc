import { constants } from 'node:fs';
import type { FileEntry, Stats } from 'ssh2';
import type { SftpConnection } from './sftp-connection.ts';
import { SftpStatusError } from './sftp-connection.ts';

/** Flags of SSH_FXP_OPEN (draft-ietf-secsh-filexfer-02, section 6.3). */
export const OPEN_MODE = { READ: 1, WRITE: 2, CREAT: 8, EXCL: 32 } as const;

/** Numbers of SSH_FXP_STATUS (section 7). `FAILURE` stands for everything that has no number of its own. */
export const STATUS = {
  EOF: 1,
  NO_SUCH_FILE: 2,
  PERMISSION_DENIED: 3,
  FAILURE: 4,
  BAD_MESSAGE: 5,
  UNSUPPORTED: 8,
} as const;

const FSYNC = 'fsync@openssh.com';

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
/** Every server accepts packets of 34,000 bytes; those with the extension `limits` more than 256 KiB. */
const TRANSFER_BYTES = 32 * 1024;
const LARGE_TRANSFER_BYTES = 255_000;
/** Requests of one transfer that may be under way. With small requests, 4 MiB: enough for 100 MB/s at 40 ms. */
const TRANSFERS_AT_ONCE = 128;

export async function openFile(connection: SftpConnection, path: string, flags: number): Promise<Buffer> {
  return await connection.request<Buffer>((protocol, done) =>
    // The types know only the names of combinations of flags.
    protocol.open(path, flags, { mode: FILE_MODE }, done),
  );
}

export async function closeHandle(connection: SftpConnection, handle: Buffer): Promise<void> {
  await connection.request((protocol, done) => protocol.close(handle, (error) => done(error, undefined)));
}

export async function sizeOfHandle(connection: SftpConnection, handle: Buffer): Promise<number> {
  return (await connection.request<Stats>((protocol, done) => protocol.fstat(handle, done))).size;
}

/** Makes the content of a file durable, where the server can do that. */
export async function syncHandle(connection: SftpConnection, handle: Buffer): Promise<void> {
  if (!connection.has(FSYNC)) return;
  await connection.request((protocol, done) => protocol.ext_openssh_fsync(handle, (error) => done(error, undefined)));
}

/**
 * Makes the names in a directory durable, where the server can do that.
 * @throws SftpStatusError with `NO_SUCH_FILE` if there is no directory
 */
export async function syncDirectory(connection: SftpConnection, path: string): Promise<void> {
  if (!connection.has(FSYNC)) {
    // Other servers open only files.
    await connection.request((protocol, done) => protocol.stat(path, done));
    return;
  }
  const handle = await openFile(connection, path, OPEN_MODE.READ);
  try {
    await syncHandle(connection, handle);
  } catch (error) {
    // EINVAL: the file system cannot sync a directory and does not need to.
    if (!hasStatus(error, STATUS.BAD_MESSAGE)) throw error;
  } finally {
    await closeHandle(connection, handle);
  }
}

/** Writes all the bytes at a position, with many requests under way. */
export async function writeAt(
  connection: SftpConnection,
  handle: Buffer,
  bytes: Buffer,
  offset: number,
): Promise<void> {
  await inPieces(connection, bytes.length, async (start, lengthBytes) =>
    connection.request((protocol, done) =>
      protocol.write(handle, bytes, start, lengthBytes, offset + start, (error) => done(error, undefined)),
    ),
  );
}

/** Fills the buffer from a position; returns how many bytes there were. */
export async function readAt(
  connection: SftpConnection,
  handle: Buffer,
  target: Buffer,
  offset: number,
): Promise<number> {
  let endBytes = target.length;
  await inPieces(connection, target.length, async (start, lengthBytes) => {
    for (let doneBytes = 0; doneBytes < lengthBytes;) {
      const at = start + doneBytes;
      const readBytes = await readOnce(connection, handle, target.subarray(at, start + lengthBytes), offset + at);
      if (readBytes === 0) {
        endBytes = Math.min(endBytes, at);
        return;
      }
      doneBytes += readBytes;
    }
  });
  return endBytes;
}

/** Reads a whole file. */
export async function readWhole(connection: SftpConnection, path: string): Promise<Buffer> {
  const handle = await openFile(connection, path, OPEN_MODE.READ);
  try {
    const bytes = Buffer.alloc(await sizeOfHandle(connection, handle));
    return bytes.subarray(0, await readAt(connection, handle, bytes, 0));
  } finally {
    await closeHandle(connection, handle);
  }
}

export async function statusOf(connection: SftpConnection, path: string): Promise<Stats | undefined> {
  return await unlessAbsent(async () => connection.request<Stats>((protocol, done) => protocol.lstat(path, done)));
}

/** Sets the time of the last change, in whole seconds. Returns false if the file does not exist. */
export async function setTime(connection: SftpConnection, path: string, mtime: number): Promise<boolean> {
  const set = async (): Promise<true> => {
    await connection.request((protocol, done) =>
      protocol.setstat(path, { atime: mtime, mtime }, (error) => done(error, undefined)),
    );
    return true;
  };
  return (await unlessAbsent(set)) === true;
}

/** Lists a directory, without `.` and `..`. */
export async function listDirectory(connection: SftpConnection, path: string): Promise<readonly FileEntry[]> {
  return await connection.request<FileEntry[]>((protocol, done) => protocol.readdir(path, done));
}

/**
 * Lists all files below a directory, with their paths from there. A server keeps a directory open while it is listed, and
 * may have few descriptors, so only some are listed at once.
 */
export async function listTree(
  connection: SftpConnection,
  top: string,
  atOnce: number,
): Promise<{ readonly path: string; readonly sizeBytes: number }[]> {
  const files: { path: string; sizeBytes: number }[] = [];
  const pending = [''];
  while (pending.length > 0) {
    const some = pending.splice(0, atOnce).map(async (directory) => {
      for (const { filename, attrs } of await listDirectory(connection, top + directory)) {
        const path = `${directory}/${filename}`;
        if ((attrs.mode & constants.S_IFMT) === constants.S_IFDIR) pending.push(path);
        else files.push({ path: path.slice(1), sizeBytes: attrs.size });
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

/** Returns the path of the directory that has this name in it. */
export function outerOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end < 0 ? '.' : path.slice(0, Math.max(1, end));
}

async function followedStatus(connection: SftpConnection, path: string): Promise<Stats | undefined> {
  return await unlessAbsent(async () => connection.request<Stats>((protocol, done) => protocol.stat(path, done)));
}

export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof SftpStatusError && error.status === status;
}

/** Returns undefined if the file does not exist. */
export async function unlessAbsent<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (hasStatus(error, STATUS.NO_SUCH_FILE)) return undefined;
    throw error;
  }
}

/** Returns 0 at the end of the file. */
async function readOnce(connection: SftpConnection, handle: Buffer, target: Buffer, offset: number): Promise<number> {
  try {
    return await connection.request<number>((protocol, done) =>
      protocol.read(handle, target, 0, target.length, offset, done),
    );
  } catch (error) {
    if (hasStatus(error, STATUS.EOF)) return 0;
    throw error;
  }
}

/** Calls `transfer` for each piece, for several at a time. Resolves when all are done, also if one fails. */
async function inPieces(
  connection: SftpConnection,
  lengthBytes: number,
  transfer: (start: number, lengthBytes: number) => Promise<unknown>,
): Promise<void> {
  const pieceBytes = connection.has('limits@openssh.com') ? LARGE_TRANSFER_BYTES : TRANSFER_BYTES;
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < lengthBytes) {
      const start = next;
      next += pieceBytes;
      await transfer(start, Math.min(pieceBytes, lengthBytes - start));
    }
  };
  const workerCount = Math.min(TRANSFERS_AT_ONCE, Math.ceil(lengthBytes / pieceBytes));
  const outcomes = await Promise.allSettled(Array.from({ length: workerCount }, worker));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
