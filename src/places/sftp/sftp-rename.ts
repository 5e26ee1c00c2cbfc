import type { AskedAlong } from '../../core/backend/publication.ts';
import {
  HARD_LINK,
  OPEN_MODE,
  POSIX_RENAME,
  STATUS,
  hasStatus,
  openFile,
  readOpened,
  statusOf,
  syncHandle,
} from './sftp-calls.ts';
import { SftpStatusError } from './sftp-connection.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { unlessNeedless } from './sftp-directories.ts';

export interface Naming {
  readonly source: string;
  readonly target: string;
  /** Whether another file must not have the name. */
  readonly isNew: boolean;
  readonly isRepeated: boolean;
  /** What is sent behind the requests for the name, where they take effect in their order. */
  readonly along: AskedAlong | undefined;
}

/** The paths of a rename; `isRepeated` if an attempt before may have succeeded without an answer. */
interface Rename {
  readonly source: string;
  readonly target: string;
  readonly isRepeated: boolean;
}

/** Gives a file another name, and replaces a file that has it. */
export async function replaceByRename(connection: SftpConnection, rename: Rename): Promise<void> {
  const { source, target } = rename;
  await unlessDoneBefore(connection, rename, async () => {
    if (!connection.has(POSIX_RENAME)) {
      await replaceInSteps(connection, rename);
      return;
    }
    await posixRename(connection, source, target);
  });
}

/**
 * Gives a file a name that no file has. The plain rename of the protocol replaces nothing; OpenSSH uses a hard link for
 * it, so that of several processes one succeeds.
 * @throws SftpStatusError with `FAILURE` if there is a target
 */
export async function renameIfNew(connection: SftpConnection, rename: Rename): Promise<void> {
  const { source, target, isRepeated } = rename;
  await unlessDoneBefore(connection, rename, async () => {
    try {
      // Other servers may replace the target.
      const mayReplace = !connection.has(HARD_LINK);
      if (mayReplace && (await statusOf(connection, target)) !== undefined)
        throw new SftpStatusError(STATUS.FAILURE, 'exists');
      await plainRename(connection, source, target);
    } catch (error) {
      // The server may have been killed after the hard link, before it removed the other name.
      if (!isRepeated || !hasStatus(error, STATUS.FAILURE)) throw error;
      if (!(await haveSameBytes(connection, source, target))) throw error;
      await unlinkPath(connection, source);
    }
  });
}

export async function unlinkPath(connection: SftpConnection, path: string): Promise<void> {
  await connection.request((protocol, done) => protocol.unlink(path, (error) => done(error, undefined)));
}

async function unlessDoneBefore(
  connection: SftpConnection,
  { source, target, isRepeated }: Rename,
  rename: () => Promise<void>,
): Promise<void> {
  const isDone = async (): Promise<boolean> =>
    isRepeated &&
    (await statusOf(connection, source)) === undefined &&
    (await statusOf(connection, target)) !== undefined;
  if (await isDone()) return;
  try {
    await rename();
  } catch (error) {
    // The server of the lost connection may have been at work until now.
    if (!hasStatus(error, STATUS.NO_SUCH_FILE) || !(await isDone())) throw error;
  }
}

/** Keeps the old file until the new one has its name. */
async function replaceInSteps(
  connection: SftpConnection,
  { source, target }: Pick<Rename, 'source' | 'target'>,
): Promise<void> {
  if ((await statusOf(connection, target)) === undefined) {
    await plainRename(connection, source, target);
    return;
  }
  const aside = `${source}.replaced`;
  await plainRename(connection, target, aside);
  try {
    await plainRename(connection, source, target);
  } catch (error) {
    await plainRename(connection, aside, target);
    throw error;
  }
  await unlinkPath(connection, aside);
}

export async function posixRename(connection: SftpConnection, source: string, target: string): Promise<void> {
  await connection.request((protocol, done) =>
    protocol.ext_openssh_rename(source, target, (error) => done(error, undefined)),
  );
}

export async function plainRename(connection: SftpConnection, source: string, target: string): Promise<void> {
  await connection.request((protocol, done) => protocol.rename(source, target, (error) => done(error, undefined)));
}

async function haveSameBytes(connection: SftpConnection, one: string, other: string): Promise<boolean> {
  try {
    const [oneBytes, otherBytes] = [await readPath(connection, one), await readPath(connection, other)];
    return oneBytes.equals(otherBytes);
  } catch (error) {
    if (error instanceof SftpStatusError) return false;
    throw error;
  }
}

export async function readPath(connection: SftpConnection, path: string): Promise<Buffer> {
  return await readOpened(connection, await openFile(connection, path, OPEN_MODE.READ));
}

/**
 * The same for a name that nothing has asked for before, in one wait: the sync of its directory is sent with the rename.
 * The answers are as if each request had waited for the one before it (draft-ietf-secsh-filexfer-02, section 6.1).
 * @param directory - the directory of the target, which is open
 * @param isNew - fails with `FAILURE` if there is a target
 */
export async function renameAndSync(
  connection: SftpConnection,
  { source, target }: Pick<Rename, 'source' | 'target'>,
  { directory, isNew, along }: { readonly directory: Buffer } & Pick<Naming, 'isNew' | 'along'>,
): Promise<void> {
  const renaming = isNew ? plainRename(connection, source, target) : posixRename(connection, source, target);
  const syncing = syncHandle(connection, directory);
  along?.send();
  const [renamed, synced] = await Promise.allSettled([renaming, syncing]);
  if (renamed.status === 'rejected') throw renamed.reason;
  if (synced.status === 'rejected') unlessNeedless(synced.reason);
}
