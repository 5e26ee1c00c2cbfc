import { mapConcurrently } from '../../core/util/map-concurrently.ts';
import type { BackendOperation } from '../../core/backend/backend-failure.ts';
import type { BackendFile, NextReads, Place } from '../../core/backend/backend.ts';
import { FileSystemBackend } from '../../core/backend/file-system-backend.ts';
import { assertInside } from '../../core/format/own-names.ts';
import type { AskedAlong, FileWriter, TemporaryFile } from '../../core/backend/publication.ts';
import type { RetryOptions } from '../../core/backend/retry.ts';
import { OWN_EXTENSIONS } from './own-requests.ts';
import * as calls from './sftp-calls.ts';
import * as directories from './sftp-directories.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { fullOr, sftpFailure } from './sftp-failure.ts';
import { SftpNaming, openNew } from './sftp-naming.ts';
import type { Naming } from './sftp-rename.ts';
import { type AtOnce, SftpPublishing } from './sftp-publishing.ts';
import { SftpReading } from './sftp-reading.ts';
import { type SftpPlace, SftpSession } from './sftp-session.ts';
import { SftpWriter } from './sftp-writer.ts';
import type { OpenedFile } from './sftp-writer.ts';
import { TemporaryFiles } from './temporary-files.ts';

const READS_AT_ONCE = 16;
/** While one pack becomes durable and gets its name, the next one is written. */
const PACKS_AT_ONCE = 2;
/** These requests are small: this number takes hardly longer than one. */
const SIZES_AT_ONCE = 512;
/** What needs space on the server. */
const WRITING: ReadonlySet<BackendOperation> = new Set(['makeDirectory', 'create', 'append', 'sync', 'rename']);

/**
 * A directory on an SFTP server. Names become durable with `fsync@openssh.com` right after a rename, since the server may
 * be restarted between two steps of a command without the command noticing more than a lost connection.
 */
export class SftpBackend extends FileSystemBackend {
  readonly location: string;
  override readsAtOnce: number = READS_AT_ONCE;
  readonly packsAtOnce: number = PACKS_AT_ONCE;
  protected override readonly isFar: boolean = true;
  readonly #path: string;
  readonly #session: SftpSession;
  readonly #reading: SftpReading;
  readonly #naming: SftpNaming;
  readonly #temporary: TemporaryFiles;
  /** Ends when the directories of a new repository exist. A lock in one of them may be asked for before. */
  #preparing: Promise<void> | undefined;
  readonly #publishing: SftpPublishing;

  constructor({ location, command, path }: SftpPlace, retry: RetryOptions) {
    super();
    this.location = location;
    this.#path = path;
    this.#session = new SftpSession(command, retry);
    this.#reading = new SftpReading(location, (name) => this.#pathOf(name));
    this.#naming = new SftpNaming((name) => this.#pathOf(name));
    this.#temporary = new TemporaryFiles((name) => this.#pathOf(name));
    this.#publishing = new SftpPublishing({
      pathOf: (name) => this.#pathOf(name),
      run: async (operation, name, action) => this.#run(operation, name, action),
      syncDirectory: async (directory) => this.syncDirectory(directory),
      onNaming: (connection, source, target) => {
        this.#naming.forget(target);
        this.#reading.forget(connection, source, target);
      },
    });
  }

  get isAppendOnly(): boolean {
    return this.#session.isAppendOnly;
  }

  get isOwnServer(): boolean {
    return this.#session.isOwnServer;
  }

  override async examine(): Promise<Place> {
    return await this.#run('list', '', async (connection) => this.#reading.examine(connection));
  }

  override async prepare(names: readonly string[]): Promise<void> {
    this.#preparing = this.#run('makeDirectory', '', async (connection) =>
      directories.makeRepository(connection, this.#path, names),
    );
    await this.#preparing;
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

  readAhead(next: NextReads, isFresh = false): void {
    if (isFresh) this.#reading.forget();
    if (this.#reading.isAhead) return;
    const expected = next.isOwnServer === true ? OWN_EXTENSIONS : [];
    this.#session.begin((connection) => {
      if (next.inTurn === undefined || calls.keepsOrder(connection)) this.#reading.askAhead(connection, next);
    }, expected);
  }

  async read(name: string): Promise<Uint8Array> {
    return await this.#run('read', name, async (connection) => this.#reading.read(connection, name));
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    await this.#run('readRange', name, async (connection) =>
      this.#reading.readRange(connection, name, { offset, target }),
    );
  }

  protected override expectName(name: string, isRemoved = false): void {
    const connect = async (): Promise<SftpConnection> => this.#session.run(async (connection) => connection);
    if (isRemoved) this.#naming.expectRemoval(name, connect);
    else this.#naming.expect(name, connect);
  }

  async create(name: string, next?: NextReads): Promise<FileWriter> {
    this.#naming.forget(name);
    this.#reading.forget();
    const path = this.#pathOf(name);
    const opened = await this.#run('create', name, async (connection, isRepeated) => {
      if (isRepeated || !calls.keepsOrder(connection)) await this.#preparing;
      // Names of new files and locks are random: if it exists now, the lost request has created it.
      const ifNew = isRepeated ? 0 : calls.OPEN_MODE.EXCL;
      const opening = openNew(connection, path, ifNew);
      if (next !== undefined && calls.keepsOrder(connection)) {
        const locksAsked = this.#reading.askBehindLock(connection, next);
        void locksAsked.then(() => this.#temporary.open(connection, next.newFiles ?? 0));
      }
      return { connection, handle: await opening };
    });
    return this.#writer(name, opened);
  }

  protected override async createTemporary(): Promise<TemporaryFile> {
    const opened = await this.#temporary.take();
    if (opened === undefined) return await super.createTemporary();
    this.#reading.forget();
    return { name: opened.name, writer: this.#writer(opened.name, opened) };
  }

  protected override async publishAtOnce(...publication: AtOnce): Promise<boolean> {
    return await this.#publishing.publish(...publication);
  }

  override async release(name: string): Promise<boolean> {
    await this.#run('remove', name, async (connection) => this.#temporary.discard(connection));
    return await super.release(name);
  }

  async rename(source: string, target: string, along?: AskedAlong): Promise<void> {
    await this.#rename({ source, target, isNew: false, along });
  }

  async renameNew(source: string, target: string, along?: AskedAlong): Promise<void> {
    await this.#rename({ source, target, isNew: true, along });
  }

  async unlink(name: string): Promise<boolean> {
    return await this.#run('remove', name, async (connection, isRepeated) => {
      this.#reading.forget(connection, name);
      this.#temporary.forget(name);
      return await this.#naming.unlink(connection, name, isRepeated);
    });
  }

  async syncDirectory(directory: string): Promise<void> {
    await this.syncDirectories([directory]);
  }

  protected override async syncDirectories(all: readonly string[], mayBeAbsent = false): Promise<void> {
    const name = all.length > 1 ? `${all[0]} and other directories` : (all[0] ?? '');
    await this.#run('syncDirectory', name, async (connection) => this.#naming.sync(connection, all, mayBeAbsent));
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

  async #rename(naming: Omit<Naming, 'isRepeated'>): Promise<void> {
    const { source, target, along } = naming;
    this.#naming.forget(target);
    await this.#run('rename', `${source} to ${target}`, async (connection, isRepeated) => {
      along?.forget();
      this.#reading.forget(connection, source, target);
      await this.#naming.rename(connection, { ...naming, isRepeated: isRepeated || this.#publishing.isUnsure(source) });
    });
  }

  #writer(name: string, opened: OpenedFile): SftpWriter {
    const file = { name, path: this.#pathOf(name), opened };
    return new SftpWriter(file, async (operation, step, action) => this.#run(operation, step, action));
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
        // Each may need several handles. One at a time would say that this is not another machine.
        this.readsAtOnce = Math.max(2, Math.min(READS_AT_ONCE, Math.floor(connection.handlesMax / 4)));
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
