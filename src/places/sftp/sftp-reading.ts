import { CorruptDataError } from '../../core/errors.ts';
import { isOwnDirectory } from '../../core/format/own-names.ts';
import { AnswersAhead, groupsOf } from '../../core/backend/answers-ahead.ts';
import type { BackendFile, NextReads, Place } from '../../core/backend/backend.ts';
import { STATUS, hasStatus, readAt, readOpened, sizeIn, statusOf } from './sftp-calls.ts';
import { SftpStatusError } from './sftp-connection.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { listDirectory, listInOrder, listTree } from './sftp-listing.ts';
import type { ListEvents, TreeFile } from './sftp-listing.ts';
import { ReadHandles } from './read-handles.ts';
import { RegularNames, mayBeFile } from './regular-names.ts';

const LISTED_AT_ONCE_MAX = 128;

/** Where a range of a file is. */
interface Range {
  readonly offset: number;
  readonly target: Uint8Array;
}

/** Reads the files of a repository, each operation on the connection that it gets. */
export class SftpReading {
  readonly #location: string;
  readonly #pathOf: (name: string) => string;
  readonly #handles = new ReadHandles();
  readonly #regularNames = new RegularNames();
  /**
   * Of one connection. Once it is lost, their order is not that of the requests. A failure without a number of its own may
   * only mean that the server has too few handles for all at once. What is unsupported was sent to another server than the last
   * time.
   */
  readonly #ahead = new AnswersAhead<TreeFile[]>(
    (error) =>
      !(error instanceof SftpStatusError) || hasStatus(error, STATUS.FAILURE) || hasStatus(error, STATUS.UNSUPPORTED),
  );

  /** @param pathOf - returns where the server has a file */
  constructor(location: string, pathOf: (name: string) => string) {
    this.#location = location;
    this.#pathOf = pathOf;
  }

  get isAhead(): boolean {
    return !this.#ahead.isEmpty;
  }

  /** Says what is at the place of the repository. */
  async examine(connection: SftpConnection): Promise<Place> {
    const place = { missing: undefined, file: undefined, names: [] };
    const status = await statusOf(connection, this.#pathOf(''));
    if (status === undefined) return { ...place, missing: this.#location };
    if (status.isFile()) return { ...place, file: this.#location };
    const entries = await listDirectory(connection, this.#pathOf(''));
    return { ...place, names: entries.map(({ filename }) => filename).toSorted() };
  }

  /** `observe`: called with each file that is listed. */
  async list(
    connection: SftpConnection,
    directory: string,
    observe: (name: string, modifiedMs: number) => void,
  ): Promise<BackendFile[]> {
    const listed = (await this.#ahead.listing(directory)) ?? (await this.#listTree(connection, directory));
    const prefix = prefixOf(directory);
    for (const { path, modifiedMs } of listed) observe(prefix + path, modifiedMs);
    return await this.#regularNames.mark(connection, listed, { prefix, top: this.#pathOf(directory) });
  }

  async sizeOf(connection: SftpConnection, name: string): Promise<number | undefined> {
    const status = await statusOf(connection, this.#pathOf(name));
    return status !== undefined && mayBeFile(status.mode) ? sizeIn(status) : undefined;
  }

  async read(connection: SftpConnection, name: string): Promise<Uint8Array> {
    return (await this.#ahead.bytes(name)) ?? (await this.#readFrom(connection, name));
  }

  /** @throws CorruptDataError if the file ends before the range does */
  async readRange(connection: SftpConnection, name: string, { offset, target }: Range): Promise<void> {
    const bytes = Buffer.from(target.buffer, target.byteOffset, target.byteLength);
    const readBytes = await this.#handles.reading(connection, this.#pathOf(name), {
      open: async () => this.#open(connection, name),
      read: async (handle) => readAt(connection, handle, bytes, offset),
    });
    if (readBytes === target.length) return;
    throw new CorruptDataError(
      `repository ${this.#location}: ${name} ends at byte ${offset + readBytes}, but ${target.length} bytes were expected from byte ${offset}`,
      { advice: { code: 'check-data' } },
    );
  }

  /** Asks for what will be read soon. */
  askAhead(connection: SftpConnection, next: NextReads): void {
    this.#ask(connection, next, async (name) => this.#readFrom(connection, name));
  }

  /**
   * The same behind a request that creates a lock. The first directory is that of the locks. What is read before it was
   * listed may be from before the end of another command; and an opened file stays what it was. Resolves when requests from
   * now on take effect after the listing of the locks.
   */
  async askBehindLock(connection: SftpConnection, next: NextReads): Promise<void> {
    let onAsked = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => (onAsked = resolve));
    const read = async (name: string): Promise<Buffer> => {
      await isAsked;
      return await this.#readFrom(connection, name);
    };
    this.#ask(connection, next, read, onAsked);
    await isAsked;
  }

  #ask(
    connection: SftpConnection,
    next: NextReads,
    read: (name: string) => Promise<Buffer>,
    onAsked?: () => void,
  ): void {
    const listOne = async (directory: string, onMore?: () => void): Promise<TreeFile[]> =>
      this.#listTree(connection, directory, { onAsked, onMore }).finally(onAsked);
    const all = groupsOf(next).flat();
    const list = (): Promise<TreeFile[]>[] =>
      next.inTurn === undefined ? all.map(async (directory) => listOne(directory)) : listInOrder(all, listOne);
    this.#ahead.ask(next, { list, read });
  }

  /** Call this before a file is created, removed or replaced. An open file would still be the old one. */
  forget(connection?: SftpConnection, ...names: readonly string[]): void {
    this.#ahead.forget();
    for (const name of names) this.#handles.forget(connection!, this.#pathOf(name));
  }

  async #readFrom(connection: SftpConnection, name: string): Promise<Buffer> {
    return await readOpened(connection, await this.#open(connection, name));
  }

  async #open(connection: SftpConnection, name: string): Promise<Buffer> {
    return await this.#regularNames.open(connection, { name, path: this.#pathOf(name), location: this.#location });
  }

  async #listTree(connection: SftpConnection, directory: string, on: ListEvents = {}): Promise<TreeFile[]> {
    const isNeeded = (path: string): boolean => isOwnDirectory(prefixOf(directory) + path);
    // Packs are in 256 directories. A server keeps each open while it is listed.
    const atOnce = Math.max(1, Math.min(LISTED_AT_ONCE_MAX, Math.floor(connection.handlesMax / 4)));
    return await listTree(connection, this.#pathOf(directory), { atOnce, isNeeded, ...on });
  }
}

function prefixOf(directory: string): string {
  return directory === '' ? '' : `${directory}/`;
}
