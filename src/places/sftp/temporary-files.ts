import { randomBytes } from 'node:crypto';

import { OPEN_UNDER, isOpened, openUnder } from './own-requests.ts';
import { OPEN_MODE, openFile } from './sftp-calls.ts';
import type { SftpConnection } from './sftp-connection.ts';
import { unlinkPath } from './sftp-rename.ts';

interface Opened {
  readonly name: string;
  readonly connection: SftpConnection;
  readonly handle: Buffer;
}

interface Opening {
  /** What can be used before the answer. */
  readonly opened?: Opened;
  /** Undefined if it could not be opened. */
  readonly answered: Promise<Opened | undefined>;
}

/**
 * New temporary files that were opened before they are needed, which saves a wait for each file that is written. Only
 * while there is a lock: a command with the exclusive one removes all temporary files.
 */
export class TemporaryFiles {
  readonly #pathOf: (name: string) => string;
  readonly #opened = new Map<string, Opening>();
  /** The connection on which one was opened. */
  #proven: SftpConnection | undefined;

  /** @param pathOf - returns where the server has a file */
  constructor(pathOf: (name: string) => string) {
    this.#pathOf = pathOf;
  }

  open(connection: SftpConnection, count: number): void {
    for (let opened = 0; opened < count; opened += 1) {
      const name = `tmp/${randomBytes(16).toString('hex')}`;
      // The caller then opens another file, and gets the error if there is one.
      this.#opened.set(name, this.#openOne(connection, name));
    }
  }

  #openOne(connection: SftpConnection, name: string): Opening {
    const flags = OPEN_MODE.WRITE | OPEN_MODE.CREAT | OPEN_MODE.EXCL;
    const path = this.#pathOf(name);
    if (!connection.has(OPEN_UNDER)) {
      const opening = openFile(connection, path, flags).then((handle) => ({ name, connection, handle }));
      return { answered: opening.catch(() => undefined) };
    }
    const opened = { name, connection, handle: openUnder(connection, path, flags) };
    const answered = isOpened(opened.handle).then(() => opened);
    return { opened, answered: answered.catch(() => undefined) };
  }

  /** Returns one that can be written, once. Opens another one for it. */
  async take(): Promise<Opened | undefined> {
    for (const [name, { opened: early, answered }] of this.#opened) {
      this.#opened.delete(name);
      // Where one was opened, another one does not fail because there is no directory.
      const opened = early !== undefined && early.connection === this.#proven ? early : await answered;
      if (opened === undefined || opened.connection.isLost) continue;
      this.#proven = opened.connection;
      this.open(opened.connection, 1);
      return opened;
    }
    return undefined;
  }

  /** Call this before a file is removed. */
  forget(name: string): void {
    this.#opened.delete(name);
  }

  /** Removes those that were not needed, without a wait for the answers. */
  discard(connection: SftpConnection): void {
    for (const name of this.#opened.keys()) unlinkPath(connection, this.#pathOf(name)).catch(() => undefined);
    this.#opened.clear();
  }
}
