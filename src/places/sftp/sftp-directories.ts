import { mapConcurrently } from '../../core/util/map-concurrently.ts';
import type { Stats } from 'ssh2';
import {
  FSYNC,
  OPEN_MODE,
  STATUS,
  closeLater,
  followedStatus,
  hasStatus,
  keepsOrder,
  openToUse,
  syncHandle,
  unlessAbsent,
} from './sftp-calls.ts';
import { SftpStatusError } from './sftp-connection.ts';
import type { SftpConnection } from './sftp-connection.ts';

const DIRECTORY_MODE = 0o700;

/**
 * Makes the names in a directory durable, where the server can do that.
 * @throws SftpStatusError with `NO_SUCH_FILE` if there is no directory
 */
export async function syncDirectory(connection: SftpConnection, path: string): Promise<void> {
  await syncAfter(connection, [path], async () => undefined);
}

/**
 * Makes the names in directories durable after a change of them, one directory after the other. They are opened beside the
 * change, which saves waits.
 */
export async function syncAfter(
  connection: SftpConnection,
  paths: readonly string[],
  change: () => Promise<unknown>,
  { opened = new Map(), mayBeAbsent = false }: SyncOptions = {},
): Promise<void> {
  const different = [...new Set(paths)];
  const opening = different.map(async (path) => opened.get(path) ?? openDirectory(connection, path, mayBeAbsent));
  const [[changed], openings] = await Promise.all([Promise.allSettled([change()]), Promise.allSettled(opening)]);
  const handles = new Map<string, Buffer>();
  for (const [index, each] of openings.entries()) {
    if (each.status === 'fulfilled' && each.value !== undefined) handles.set(different[index]!, each.value);
  }
  try {
    if (changed.status === 'rejected') throw changed.reason;
    for (const each of openings) if (each.status === 'rejected') throw each.reason;
    await syncInTurn(
      connection,
      paths.map((path) => handles.get(path)).filter((handle) => handle !== undefined),
      mayBeAbsent,
    );
  } finally {
    for (const handle of handles.values()) closeLater(connection, handle);
  }
}

interface SyncOptions {
  /** Handles of directories that are open already, by their paths. */
  readonly opened?: ReadonlyMap<string, Buffer>;
  /** Whether a directory that does not exist is skipped. */
  readonly mayBeAbsent?: boolean;
}

/** Returns undefined where nothing can be synced: other servers open only files. */
async function openDirectory(
  connection: SftpConnection,
  path: string,
  mayBeAbsent: boolean,
): Promise<Buffer | undefined> {
  const open = async (): Promise<Buffer | undefined> => {
    if (connection.has(FSYNC)) return await openToUse(connection, path, OPEN_MODE.READ);
    await connection.request<Stats>((protocol, done) => protocol.stat(path, done));
    return undefined;
  };
  return await (mayBeAbsent ? unlessAbsent(open) : open());
}

/** A server that does one thing after the other gets all requests at once. */
async function syncInTurn(connection: SftpConnection, handles: readonly Buffer[], mayBeAbsent: boolean): Promise<void> {
  const sync = async (handle: Buffer): Promise<void> => {
    const syncing = async (): Promise<void> => syncHandle(connection, handle).catch(unlessNeedless);
    await (mayBeAbsent ? unlessAbsent(syncing) : syncing());
  };
  await mapConcurrently(handles, keepsOrder(connection) ? handles.length : 1, sync);
}

/** EINVAL: the file system cannot sync a directory, and does not need to. */
export function unlessNeedless(error: unknown): void {
  if (!hasStatus(error, STATUS.BAD_MESSAGE)) throw error;
}

/** Something that is not a directory has the name of one. */
export class NotDirectoryError extends Error {}

/** Creates a directory and those above it, and makes their names durable. Accepts what exists. */
export async function makeDirectories(connection: SftpConnection, path: string): Promise<void> {
  const make = async (): Promise<void> => makeOne(connection, path);
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
  await syncDirectory(connection, outer).catch(unlessUnreadable);
}

/** A directory of another user that is writable but not readable cannot be opened, and therefore not synced. */
function unlessUnreadable(error: unknown): void {
  if (!hasStatus(error, STATUS.PERMISSION_DENIED)) throw error;
}

async function makeOne(connection: SftpConnection, path: string): Promise<void> {
  await connection.request<void>((protocol, done) =>
    protocol.mkdir(path, { mode: DIRECTORY_MODE }, (error) => done(error, undefined)),
  );
}

const PACK_DIRECTORIES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Creates the directories of a repository, with those of packs: to create one for a pack takes six waits. */
export async function makeRepository(connection: SftpConnection, top: string, names: readonly string[]): Promise<void> {
  const packs = names.includes('packs') ? [PACK_DIRECTORIES.map((name) => `packs/${name}`)] : [];
  const paths = [names, ...packs].map((all) => all.map((name) => `${top}/${name}`));
  const synced = [top, ...packs.map(() => `${top}/packs`)];
  if (keepsOrder(connection) && (await makeInOrder(connection, { top, paths: paths.flat(), synced }))) return;
  await makeDirectories(connection, top);
  for (const some of paths) await makeAll(connection, some);
  await syncAfter(connection, synced, async () => undefined);
}

/**
 * Where requests take effect in their order, a directory and those in it can be asked for at once. Returns false if they
 * must be created step by step, because the directory above does not exist, or there is something already.
 */
async function makeInOrder(
  connection: SftpConnection,
  {
    top,
    paths,
    synced,
  }: { readonly top: string; readonly paths: readonly string[]; readonly synced: readonly string[] },
): Promise<boolean> {
  const [first, ...others] = [top, ...paths].map(async (path) => makeOne(connection, path));
  const making = Promise.all(others);
  // If others could be created in it, the first one is a directory that was there before.
  const syncing = [
    syncAfter(connection, synced, async () => making),
    syncAfter(connection, [outerOf(top)], async () => making).catch(unlessUnreadable),
  ];
  const outcomes = await Promise.allSettled([...syncing, first]);
  const failed = outcomes.slice(0, syncing.length).find((each) => each.status === 'rejected');
  if (failed === undefined) return true;
  if (failed.reason instanceof SftpStatusError) return false;
  throw failed.reason;
}

/** Creates directories in those that exist, all at once. Accepts what exists. */
async function makeAll(connection: SftpConnection, paths: readonly string[]): Promise<void> {
  const making = paths.map(async (path) => makeOne(connection, path));
  const outcomes = await Promise.allSettled(making);
  for (const [index, outcome] of outcomes.entries()) {
    // It has no number of its own if something exists already.
    if (outcome.status === 'rejected') await makeDirectories(connection, paths[index]!);
  }
}

/** Returns the path of the directory that has this name in it. */
export function outerOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end < 0 ? '.' : path.slice(0, Math.max(1, end));
}
