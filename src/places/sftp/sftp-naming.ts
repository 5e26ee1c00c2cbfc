import { directoryOf } from '../../core/format/layout.ts';
import { OPEN_MODE, closeLater, keepsOrder, openFile, openToUse, unlessAbsent } from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { syncAfter } from './sftp-directories.ts';
import { existsOr } from './sftp-failure.ts';
import type { Naming } from './sftp-rename.ts';
import { renameAndSync, renameIfNew, replaceByRename, unlinkPath } from './sftp-rename.ts';

/** How many directories are kept open for a sync to come. */
const OPENED_MAX = 32;

/** Changes the names in a repository and makes them durable, each operation on the connection that it gets. */
export class SftpNaming {
  readonly #pathOf: (name: string) => string;
  readonly #expected = new ExpectedDirectories();
  /** Names that were removed and come back if the server loses its memory, with the connection that removed them. */
  readonly #removed = new Map<string, SftpConnection>();

  /** @param pathOf - returns where the server has a file */
  constructor(pathOf: (name: string) => string) {
    this.#pathOf = pathOf;
  }

  /** Call this before a name is used again. */
  forget(name: string): void {
    this.#removed.delete(name);
  }

  /** Opens the directory of a name that is to appear, where the server can sync one and renames as OpenSSH does. */
  expect(name: string, connect: () => Promise<SftpConnection>): void {
    const directory = directoryOf(name);
    const open = async (connection: SftpConnection): Promise<Opened | undefined> =>
      keepsOrder(connection)
        ? { connection, handle: await openToUse(connection, this.#pathOf(directory), OPEN_MODE.READ) }
        : undefined;
    this.#expected.add(directory, connect().then(open));
  }

  /** The same for a name that is to go. One handle serves all removals until the next sync. */
  expectRemoval(name: string, connect: () => Promise<SftpConnection>): void {
    if (!this.#expected.has(directoryOf(name)) && this.#expected.size < OPENED_MAX) this.expect(name, connect);
  }

  /** Renames durably. Temporary files need not survive anything, so their directory is not synced. */
  async rename(connection: SftpConnection, naming: Naming): Promise<void> {
    const { source, target, isNew, isRepeated, along } = naming;
    const paths = { source: this.#pathOf(source), target: this.#pathOf(target) };
    const unlessTaken = async (renaming: Promise<void>): Promise<void> =>
      renaming.catch(async (error: unknown) => {
        throw isNew ? await existsOr(connection, paths.target, error) : error;
      });
    const [from, to] = [directoryOf(source), directoryOf(target)];
    const directory = isRepeated ? undefined : await this.#expected.take(connection, to);
    if (directory !== undefined && (from === to || from === 'tmp')) {
      const renaming = renameAndSync(connection, paths, { directory, isNew, along });
      await unlessTaken(renaming).finally(() => closeLater(connection, directory));
      return;
    }
    // After a move, the directory with the new name comes first.
    const changed = [to, ...(from === to || from === 'tmp' ? [] : [from])].map((name) => this.#pathOf(name));
    const opened = new Map(directory && [[this.#pathOf(to), directory]]);
    const rename = isNew ? renameIfNew : replaceByRename;
    await syncAfter(connection, changed, async () => unlessTaken(rename(connection, { ...paths, isRepeated })), {
      opened,
    });
  }

  /** Without the answer of a lost request, the file counts as removed. */
  async unlink(connection: SftpConnection, name: string, isRepeated: boolean): Promise<boolean> {
    const wasThere = await this.#unlinkOne(connection, name);
    this.#removed.set(name, connection);
    return wasThere || isRepeated;
  }

  /** Makes the names in directories durable, one directory after the other. */
  async sync(connection: SftpConnection, directories: readonly string[], mayBeAbsent = false): Promise<void> {
    const atOnce = Math.max(1, Math.min(OPENED_MAX, Math.floor(connection.handlesMax / 4)));
    for (let start = 0; start < directories.length; start += atOnce) {
      await this.#sync(connection, directories.slice(start, start + atOnce), mayBeAbsent);
    }
  }

  async #sync(connection: SftpConnection, directories: readonly string[], mayBeAbsent: boolean): Promise<void> {
    const own = [...this.#removed].filter(([name]) => directories.includes(directoryOf(name)));
    for (const [name, remover] of own) if (remover !== connection) await this.#unlinkOne(connection, name);
    const opened = new Map<string, Buffer>();
    for (const directory of new Set(directories)) {
      const handle = await this.#expected.take(connection, directory);
      if (handle !== undefined) opened.set(this.#pathOf(directory), handle);
    }
    const paths = directories.map((directory) => this.#pathOf(directory));
    await syncAfter(connection, paths, async () => undefined, { opened, mayBeAbsent });
    for (const [name] of own) this.#removed.delete(name);
  }

  async #unlinkOne(connection: SftpConnection, name: string): Promise<boolean> {
    const unlink = async (): Promise<true> => {
      await unlinkPath(connection, this.#pathOf(name));
      return true;
    };
    return (await unlessAbsent(unlink)) === true;
  }
}

/** Opens a new file. `flag`: whether it may exist. */
export async function openNew(connection: SftpConnection, path: string, flag: number): Promise<Buffer> {
  try {
    return await openFile(connection, path, OPEN_MODE.WRITE | OPEN_MODE.CREAT | flag);
  } catch (error) {
    throw await existsOr(connection, path, error);
  }
}

/** Directories that are opened before a file gets a name in them, which saves a wait. Each serves one name. */
class ExpectedDirectories {
  readonly #opened = new Map<string, Promise<Opened | undefined>[]>();

  add(directory: string, opening: Promise<Opened | undefined>): void {
    this.#opened.set(directory, [...(this.#opened.get(directory) ?? []), opening.catch(() => undefined)]);
  }

  /** How many directories have a handle. */
  get size(): number {
    return this.#opened.size;
  }

  has(directory: string): boolean {
    return this.#opened.has(directory);
  }

  /** Returns the handle of a directory that is open on this connection. */
  async take(connection: SftpConnection, directory: string): Promise<Buffer | undefined> {
    const [first, ...others] = this.#opened.get(directory) ?? [];
    if (others.length > 0) this.#opened.set(directory, others);
    else this.#opened.delete(directory);
    const opened = await first;
    return opened?.connection === connection ? opened.handle : undefined;
  }
}

interface Opened {
  readonly connection: SftpConnection;
  readonly handle: Buffer;
}
