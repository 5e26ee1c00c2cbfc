import { directoryOf } from '../../core/format/layout.ts';
import { mapConcurrently } from '../../core/util/map-concurrently.ts';
import type { BackendOperation } from '../../core/backend/backend-failure.ts';
import type { BackendFile, NextReads, Place } from '../../core/backend/backend.ts';
import { FileSystemBackend, assertInside } from '../../core/backend/file-system-backend.ts';
import type { FileWriter } from '../../core/backend/file-system-backend.ts';
import type { RetryOptions } from '../../core/backend/retry.ts';
import * as calls from './sftp-calls.ts';
import * as directories from './sftp-directories.ts';
import { OPEN_MODE } from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { existsOr, fullOr, sftpFailure } from './sftp-failure.ts';
import { canRenameAndSync, renameAndSync, renameIfNew, replaceByRename, unlinkPath } from './sftp-rename.ts';
import { SftpReading } from './sftp-reading.ts';
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
  protected override readonly isFar: boolean = true;
  readonly #path: string;
  readonly #session: SftpSession;
  readonly #reading: SftpReading;
  readonly #expected = new directories.ExpectedDirectories();
  /** Names that were removed and come back if the server loses its memory, with the connection that removed them. */
  readonly #removed = new Map<string, SftpConnection>();

  constructor({ location, command, path }: SftpPlace, retry: RetryOptions) {
    super();
    this.location = location;
    this.#path = path;
    this.#session = new SftpSession(command, retry);
    this.#reading = new SftpReading(location, (name) => this.#pathOf(name));
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

  override async prepare(names: readonly string[]): Promise<void> {
    await this.#run('makeDirectory', '', async (connection) =>
      directories.makeRepository(connection, this.#path, names),
    );
  }

  async makeDirectory(name: string): Promise<void> {
    await this.#run('makeDirectory', name, async (connection) =>
      directories.makeDirectories(connection, this.#pathOf(name)),
    );
  }

  async list(directory: string): Promise<BackendFile[]> {
    const observe = (name: string, modifiedMs: number): void => this.observeTime(name, modifiedMs);
    return await this.#run('list', directory, async (connection) => this.#reading.list(connection, directory, observe));
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return await this.#run('sizeOf', name, async (connection) => this.#reading.sizeOf(connection, name));
  }

  override async sizesOf(names: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    await mapConcurrently(names, SIZES_AT_ONCE, async (name) => {
      const sizeBytes = await this.sizeOf(name);
      if (sizeBytes !== undefined) found.set(name, sizeBytes);
    });
    return found;
  }

  readAhead(next: NextReads): void {
    if (!this.#reading.isAhead) this.#session.begin((connection) => this.#reading.askAhead(connection, next));
  }

  async read(name: string): Promise<Uint8Array> {
    return await this.#run('read', name, async (connection) => this.#reading.read(connection, name));
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    await this.#run('readRange', name, async (connection) =>
      this.#reading.readRange(connection, name, { offset, target }),
    );
  }

  /** Opens its directory, where the server can sync one and renames as OpenSSH does. */
  protected override expectName(name: string): void {
    const path = this.#pathOf(directoryOf(name));
    const opening = this.#session.run(async (connection) =>
      canRenameAndSync(connection)
        ? { connection, handle: await calls.openFile(connection, path, OPEN_MODE.READ) }
        : undefined,
    );
    this.#expected.add(directoryOf(name), opening);
  }

  async create(name: string, next?: NextReads): Promise<FileWriter> {
    this.#removed.delete(name);
    this.#reading.forget();
    const path = this.#pathOf(name);
    const opened = await this.#run('create', name, async (connection, isRepeated) => {
      // Names of new files and locks are random: if it exists now, the lost request has created it.
      const ifNew = isRepeated ? 0 : OPEN_MODE.EXCL;
      const opening = this.#openNew(connection, path, ifNew);
      if (next !== undefined && canRenameAndSync(connection)) this.#reading.askBehindLock(connection, next);
      return { connection, handle: await opening };
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
      this.#reading.forget(connection, name);
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
    return await this.#run('touch', name, async (connection) => calls.touch(connection, this.#pathOf(name)));
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
      this.#reading.forget(connection, source, target);
      const isNew = rename === renameIfNew;
      const unlessTaken = async (renaming: Promise<void>): Promise<void> =>
        renaming.catch(async (error: unknown) => {
          throw isNew ? await existsOr(connection, paths.target, error) : error;
        });
      const directory = isRepeated ? undefined : await this.#expected.take(connection, directoryOf(target));
      if (directory === undefined) {
        await directories.syncAfter(connection, this.#pathOf(directoryOf(target)), async () =>
          unlessTaken(rename(connection, { ...paths, isRepeated })),
        );
      } else {
        await unlessTaken(renameAndSync(connection, paths, { directory, isNew }));
        calls.closeLater(connection, directory);
      }
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
