import type { Stats } from 'ssh2';
import { bothOf } from '../../core/util/map-concurrently.ts';
import { OPEN_UNDER, isOpened, onHandle, openUnder } from './own-requests.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { SftpStatusError, WrongAnswerError } from './sftp-connection.ts';

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
  // Of later versions of the protocol, which some servers use all the same.
  WRITE_PROTECT: 12,
  NO_SPACE_ON_FILESYSTEM: 14,
  QUOTA_EXCEEDED: 15,
} as const;

export const FSYNC = 'fsync@openssh.com';
export const POSIX_RENAME = 'posix-rename@openssh.com';
export const HARD_LINK = 'hardlink@openssh.com';

/**
 * Whether the server does one thing after the other, and syncs directories and renames as those of OpenSSH and of
 * `ldm serve` do, which have all of these.
 */
export function keepsOrder(connection: SftpConnection): boolean {
  return [FSYNC, POSIX_RENAME, HARD_LINK].every((extension) => connection.has(extension));
}

const FILE_MODE = 0o600;
/** Every server accepts packets of 34,000 bytes; those with the extension `limits` more than 256 KiB. */
const TRANSFER_BYTES = 32 * 1024;
const LARGE_TRANSFER_BYTES = 255_000;
/** No file that is read as a whole is larger. */
const WHOLE_BYTES_MAX = 2 ** 31;
/** Requests of one transfer that may be under way. With small requests, 4 MiB: enough for 100 MB/s at 40 ms. */
const TRANSFERS_AT_ONCE = 128;
/** All requests for a transfer of up to this size are sent before the first answer. */
export const SENT_AT_ONCE_BYTES: number = TRANSFERS_AT_ONCE * TRANSFER_BYTES;

export async function openFile(connection: SftpConnection, path: string, flags: number): Promise<Buffer> {
  return await connection.request<Buffer>((protocol, done) =>
    // The types know only the names of combinations of flags.
    protocol.open(path, flags, { mode: FILE_MODE }, done),
  );
}

/**
 * The same for what is used at once. Where we can choose the handle, that goes out without a wait, and fails with the reason
 * why the file is not open.
 */
export async function openToUse(connection: SftpConnection, path: string, flags: number): Promise<Buffer> {
  if (connection.has(OPEN_UNDER)) return openUnder(connection, path, flags);
  return await openFile(connection, path, flags);
}

export async function closeHandle(connection: SftpConnection, handle: Buffer): Promise<void> {
  await connection.request((protocol, done) => protocol.close(handle, (error) => done(error, undefined)));
}

/** Closes a file of which nothing matters any more, without a wait for the answer. */
export function closeLater(connection: SftpConnection, handle: Buffer): void {
  connection.sendLater(() => {
    closeHandle(connection, handle).catch(() => undefined);
  });
}

export async function sizeOfHandle(connection: SftpConnection, handle: Buffer): Promise<number> {
  return sizeIn(
    await onHandle(handle, async () => connection.request<Stats>((protocol, done) => protocol.fstat(handle, done))),
  );
}

/**
 * Returns a size that can be right.
 * @throws WrongAnswerError
 */
export function sizeIn({ size }: { readonly size: number }): number {
  if (Number.isSafeInteger(size)) return size;
  throw new WrongAnswerError('the server says that it has an impossible size');
}

/** Makes the content of a file durable, where the server can do that. */
export async function syncHandle(connection: SftpConnection, handle: Buffer): Promise<void> {
  if (!connection.has(FSYNC)) return;
  await onHandle(handle, async () =>
    connection.request((protocol, done) => protocol.ext_openssh_fsync(handle, (error) => done(error, undefined))),
  );
}

/** Writes all the bytes at a position, with many requests under way. */
export async function writeAt(
  connection: SftpConnection,
  handle: Buffer,
  bytes: Buffer,
  offset: number,
): Promise<void> {
  await inPieces(connection, bytes.length, async (start, lengthBytes) =>
    onHandle(handle, async () =>
      connection.request((protocol, done) =>
        protocol.write(handle, bytes, start, lengthBytes, offset + start, (error) => done(error, undefined)),
      ),
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

/** Reads a whole file, and closes it. Most are small: the first bytes are asked for together with the size. */
export async function readOpened(connection: SftpConnection, handle: Buffer): Promise<Buffer> {
  try {
    const first = Buffer.alloc(TRANSFER_BYTES);
    const [sizeBytes, firstBytes] = await bothOf(
      sizeOfHandle(connection, handle),
      readOnce(connection, handle, first, 0),
    );
    if (sizeBytes > WHOLE_BYTES_MAX) throw new WrongAnswerError(`the server says that it is ${sizeBytes} bytes long`);
    if (firstBytes >= sizeBytes) return first.subarray(0, firstBytes);
    const bytes = Buffer.alloc(sizeBytes);
    first.copy(bytes, 0, 0, firstBytes);
    return bytes.subarray(0, firstBytes + (await readAt(connection, handle, bytes.subarray(firstBytes), firstBytes)));
  } finally {
    closeLater(connection, handle);
  }
}

export async function statusOf(connection: SftpConnection, path: string): Promise<Stats | undefined> {
  return await unlessAbsent(async () => connection.request<Stats>((protocol, done) => protocol.lstat(path, done)));
}

/** As `statusOf`, for what a symlink leads to. */
export async function followedStatus(connection: SftpConnection, path: string): Promise<Stats | undefined> {
  return await unlessAbsent(async () => connection.request<Stats>((protocol, done) => protocol.stat(path, done)));
}

/**
 * Sets the time of the last change to now, in whole seconds, but later than it was: two heartbeats in one second must
 * differ. Returns false if the file does not exist.
 */
export async function touch(connection: SftpConnection, path: string): Promise<boolean> {
  const status = await statusOf(connection, path);
  if (status === undefined) return false;
  const nowSeconds = Math.floor((performance.timeOrigin + performance.now()) / 1000);
  const mtime = Math.max(nowSeconds, status.mtime + 1);
  const set = async (): Promise<true> => {
    await connection.request((protocol, done) =>
      protocol.setstat(path, { atime: mtime, mtime }, (error) => done(error, undefined)),
    );
    return true;
  };
  return (await unlessAbsent(set)) === true;
}

export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof SftpStatusError && error.status === status;
}

/** Returns undefined if the file does not exist. */
export async function unlessAbsent<T>(action: () => Promise<T>): Promise<T | undefined> {
  return await unlessStatus(STATUS.NO_SUCH_FILE, action);
}

export async function unlessStatus<T>(status: number, action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (hasStatus(error, status)) return undefined;
    throw error;
  }
}

/** The server cannot read a file that it has opened. It has no number of its own for a bad disk. */
export class UnreadableError extends Error {}

/** Returns 0 at the end of the file. */
async function readOnce(connection: SftpConnection, handle: Buffer, target: Buffer, offset: number): Promise<number> {
  const read = async (): Promise<number> =>
    connection.request<number>((protocol, done) => protocol.read(handle, target, 0, target.length, offset, done));
  try {
    return (await unlessStatus(STATUS.EOF, read)) ?? 0;
  } catch (error) {
    await isOpened(handle);
    throw hasStatus(error, STATUS.FAILURE) ? new UnreadableError('', { cause: error }) : error;
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
