import { closeHandle } from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';

/** Of a server that keeps fewer files open, a quarter: the others are for what is written and listed meanwhile. */
const HANDLES_MAX = 32;

interface OpenFile {
  readonly handle: Promise<Buffer>;
  readerCount: number;
  isForgotten: boolean;
}

/** Keeps files open for reading, so that a range takes one round trip. Closes the least recently used first. */
export class ReadHandles {
  /** In order of use, because a Map keeps the insertion order. A server closes the files of a lost connection itself. */
  readonly #files = new WeakMap<SftpConnection, Map<string, OpenFile>>();

  /** Calls `read` with an open file, which stays open until it returns. `open` opens the file where it is not open yet. */
  async reading<T>(
    connection: SftpConnection,
    path: string,
    { open, read }: { readonly open: () => Promise<Buffer>; readonly read: (handle: Buffer) => Promise<T> },
  ): Promise<T> {
    const file = this.#opened(connection, path, open);
    file.readerCount += 1;
    try {
      return await read(await file.handle);
    } catch (error) {
      this.#drop(connection, path, file);
      throw error;
    } finally {
      file.readerCount -= 1;
      closeUnused(connection, file);
    }
  }

  /** Must be called before a path is removed or replaced: an open file is still the old one. */
  forget(connection: SftpConnection, path: string): void {
    const file = this.#filesOf(connection).get(path);
    if (file !== undefined) this.#drop(connection, path, file);
  }

  #opened(connection: SftpConnection, path: string, open: () => Promise<Buffer>): OpenFile {
    const files = this.#filesOf(connection);
    const file = files.get(path) ?? { handle: open(), readerCount: 0, isForgotten: false };
    files.delete(path);
    files.set(path, file);
    const most = Math.max(1, Math.min(HANDLES_MAX, Math.floor(connection.handlesMax / 4)));
    if (files.size > most) this.forget(connection, files.keys().next().value!);
    return file;
  }

  #drop(connection: SftpConnection, path: string, file: OpenFile): void {
    const files = this.#filesOf(connection);
    if (files.get(path) !== file) return;
    files.delete(path);
    file.isForgotten = true;
    closeUnused(connection, file);
  }

  #filesOf(connection: SftpConnection): Map<string, OpenFile> {
    let files = this.#files.get(connection);
    if (files === undefined) {
      files = new Map();
      this.#files.set(connection, files);
    }
    return files;
  }
}

/** Nothing was written, so it does not matter whether the file was ever opened, or can be closed. */
function closeUnused(connection: SftpConnection, file: OpenFile): void {
  if (!file.isForgotten || file.readerCount > 0) return;
  file.handle.then(async (handle) => closeHandle(connection, handle)).catch(() => undefined);
}
