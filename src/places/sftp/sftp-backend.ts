import { CorruptDataError } from '../../core/errors.ts';
import { directoryOf } from '../../core/format/layout.ts';
import { isOwnDirectory } from '../../core/format/own-names.ts';
import { mapConcurrently } from '../../core/util/map-concurrently.ts';
import type { BackendOperation } from '../../core/backend/backend-failure.ts';
import type { BackendFile, Place } from '../../core/backend/backend.ts';
import { FileSystemBackend, assertInside } from '../../core/backend/file-system-backend.ts';
import type { FileWriter } from '../../core/backend/file-system-backend.ts';
import type { RetryOptions } from '../../core/backend/retry.ts';
import * as calls from './sftp-calls.ts';
import * as directories from './sftp-directories.ts';
import { OPEN_MODE } from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { ReadHandles } from './read-handles.ts';
import { RegularNames, mayBeFile } from './regular-names.ts';
import { existsOr, fullOr, sftpFailure } from './sftp-failure.ts';
import { renameIfNew, replaceByRename, unlinkPath } from './sftp-rename.ts';
import { SftpSession } from './sftp-session.ts';
import { SftpWriter } from './sftp-writer.ts';

const READS_AT_ONCE = 16;
/** These requests are small: this number takes hardly longer than one. */
const SIZES_AT_ONCE = 512;
/** What needs space on the server. */
const WRITING: ReadonlySet<BackendOperation> = new Set(['makeDirectory', 'create', 'append', 'sync', 'rename']);

interface SftpPlace {
  /** As the user named it. */
  readonly location: string;
  /** The program that speaks SFTP on its standard streams, mostly ssh, with its arguments. */
  readonly command: readonly string[];
  /** On the server, absolute or below the home directory. */
  readonly path: string;
}

/**
 * A directory on an SFTP server. Names become durable with `fsync@openssh.com` right after a rename, since the server may
 * be restarted between two steps of a command without the command noticing more than a lost connection.
 */
export class SftpBackend extends FileSystemBackend {
  readonly location: string;
  override readonly readsAtOnce: number = READS_AT_ONCE;
  protected override readonly areRenamesDurable: boolean = true;
  readonly #path: string;
  readonly #session: SftpSession;
  readonly #handles = new ReadHandles();
  readonly #regularNames = new RegularNames();
  /** Names that were removed and come back if the server loses its memory, with the connection that removed them. */
  readonly #removed = new Map<string, SftpConnection>();

  constructor({ location, command, path }: SftpPlace, retry: RetryOptions) {
    super();
    this.location = location;
    this.#path = path;
    this.#session = new SftpSession(command, retry);
  }

  get isAppendOnly(): boolean {
    return this.#session.isAppendOnly;
  }

  override async examine(): Promise<Place> {
    return await this.#run('list', '', async (connection) => {
      const place = { missing: undefined, file: undefined, names: [] };
      const status = await calls.statusOf(connection, this.#path);
      if (status === undefined) return { ...place, missing: this.location };
      if (status.isFile()) return { ...place, file: this.location };
      const entries = await directories.listDirectory(connection, this.#path);
      return { ...place, names: entries.map(({ filename }) => filename).toSorted() };
    });
  }

  async makeDirectory(name: string): Promise<void> {
    await this.#run('makeDirectory', name, async (connection) =>
      directories.makeDirectories(connection, this.#pathOf(name)),
    );
  }

  async list(directory: string): Promise<BackendFile[]> {
    const prefix = directory === '' ? '' : `${directory}/`;
    const isNeeded = (path: string): boolean => isOwnDirectory(prefix + path);
    return await this.#run('list', directory, async (connection) => {
      const listed = await directories.listTree(connection, this.#pathOf(directory), READS_AT_ONCE, isNeeded);
      for (const { path, modifiedMs } of listed) this.observeTime(prefix + path, modifiedMs);
      return await this.#regularNames.mark(connection, listed, { prefix, top: this.#pathOf(directory) });
    });
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return await this.#run('sizeOf', name, async (connection) => {
      const status = await calls.statusOf(connection, this.#pathOf(name));
      return status !== undefined && mayBeFile(status.mode) ? calls.sizeIn(status) : undefined;
    });
  }

  override async sizesOf(names: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    await mapConcurrently(names, SIZES_AT_ONCE, async (name) => {
      const sizeBytes = await this.sizeOf(name);
      if (sizeBytes !== undefined) found.set(name, sizeBytes);
    });
    return found;
  }

  async read(name: string): Promise<Uint8Array> {
    const path = this.#pathOf(name);
    return await this.#run('read', name, async (connection) => {
      await this.#regularNames.check(connection, name, path, this.location);
      return await calls.readWhole(connection, path);
    });
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    const bytes = Buffer.from(target.buffer, target.byteOffset, target.byteLength);
    const path = this.#pathOf(name);
    const readBytes = await this.#run('readRange', name, async (connection) => {
      await this.#regularNames.check(connection, name, path, this.location);
      return await this.#handles.reading(connection, path, async (handle) =>
        calls.readAt(connection, handle, bytes, offset),
      );
    });
    if (readBytes === target.length) return;
    throw new CorruptDataError(
      `repository ${this.location}: ${name} ends at byte ${offset + readBytes}, but ${target.length} bytes were expected from byte ${offset}`,
      { advice: { code: 'check-data' } },
    );
  }

  async create(name: string): Promise<FileWriter> {
    this.#removed.delete(name);
    const path = this.#pathOf(name);
    const opened = await this.#run('create', name, async (connection, isRepeated) => {
      // Names of new files and locks are random: if it exists now, the lost request has created it.
      const ifNew = isRepeated ? 0 : OPEN_MODE.EXCL;
      return { connection, handle: await this.#openNew(connection, path, ifNew) };
    });
    return new SftpWriter({ name, path, opened }, async (operation, file, action) =>
      this.#run(operation, file, action),
    );
  }

  async rename(source: string, target: string): Promise<void> {
    await this.#rename(replaceByRename, source, target);
  }

  async renameNew(source: string, target: string): Promise<void> {
    await this.#rename(renameIfNew, source, target);
  }

  async unlink(name: string): Promise<boolean> {
    return await this.#run('remove', name, async (connection, isRepeated) => {
      this.#handles.forget(connection, this.#pathOf(name));
      const wasThere = await this.#unlinkOne(connection, name);
      this.#removed.set(name, connection);
      // Without the answer of the lost request, it counts as removed.
      return wasThere || isRepeated;
    });
  }

  async syncDirectory(directory: string): Promise<void> {
    await this.#run('syncDirectory', directory, async (connection) => {
      const own = [...this.#removed].filter(([name]) => directoryOf(name) === directory);
      for (const [name, remover] of own) {
        if (remover !== connection) await this.#unlinkOne(connection, name);
      }
      await directories.syncDirectory(connection, this.#pathOf(directory));
      for (const [name] of own) this.#removed.delete(name);
    });
  }

  async touch(name: string): Promise<boolean> {
    return await this.#run('touch', name, async (connection) => {
      const status = await calls.statusOf(connection, this.#pathOf(name));
      if (status === undefined) return false;
      // Times have only whole seconds here, but two heartbeats in one second must differ.
      const nowSeconds = Math.floor((performance.timeOrigin + performance.now()) / 1000);
      return await calls.setTime(connection, this.#pathOf(name), Math.max(nowSeconds, status.mtime + 1));
    });
  }

  async heartbeatOf(name: string): Promise<string | undefined> {
    return await this.#run('heartbeatOf', name, async (connection) =>
      (await calls.statusOf(connection, this.#pathOf(name)))?.mtime.toString(),
    );
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #rename(rename: typeof replaceByRename, source: string, target: string): Promise<void> {
    this.#removed.delete(target);
    await this.#run('rename', `${source} to ${target}`, async (connection, isRepeated) => {
      const paths = { source: this.#pathOf(source), target: this.#pathOf(target) };
      this.#handles.forget(connection, paths.source);
      this.#handles.forget(connection, paths.target);
      await directories.syncAfter(connection, this.#pathOf(directoryOf(target)), async () => {
        try {
          await rename(connection, { ...paths, isRepeated });
        } catch (error) {
          throw rename === renameIfNew ? await existsOr(connection, paths.target, error) : error;
        }
      });
      // Temporary files need not survive anything.
      const from = directoryOf(source);
      if (from !== directoryOf(target) && from !== 'tmp')
        await directories.syncDirectory(connection, this.#pathOf(from));
    });
  }

  async #openNew(connection: SftpConnection, path: string, flag: number): Promise<Buffer> {
    try {
      return await calls.openFile(connection, path, OPEN_MODE.WRITE | OPEN_MODE.CREAT | flag);
    } catch (error) {
      throw await fullOr(connection, this.#path, await existsOr(connection, path, error));
    }
  }

  async #unlinkOne(connection: SftpConnection, name: string): Promise<boolean> {
    const unlink = async (): Promise<true> => {
      await unlinkPath(connection, this.#pathOf(name));
      return true;
    };
    return (await calls.unlessAbsent(unlink)) === true;
  }

  #pathOf(name: string): string {
    if (name === '') return this.#path;
    assertInside(name);
    return `${this.#path}/${name}`;
  }

  async #run<T>(
    operation: BackendOperation,
    name: string,
    action: (connection: SftpConnection, isRepeated: boolean) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#session.run(async (connection, isRepeated) => {
        try {
          return await action(connection, isRepeated);
        } catch (error) {
          throw WRITING.has(operation) ? await fullOr(connection, this.#path, error) : error;
        }
      });
    } catch (cause) {
      throw sftpFailure({ location: this.location, operation, name, cause }, this.#session.wasConnected);
    }
  }
}
