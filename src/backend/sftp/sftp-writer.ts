import { OPEN_MODE } from './sftp-calls.ts';
import { closeHandle, openFile, sizeOfHandle, syncHandle, writeAt } from './sftp-calls.ts';
import type { FileWriter } from '../file-system-backend.ts';
import { SftpStatusError } from './sftp-connection.ts';
import type { SftpConnection } from './sftp-connection.ts';

/** Bytes that are not durable yet, with their position in the file. */
interface Piece {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** A handle is valid on its own connection only. */
export interface OpenedFile {
  readonly connection: SftpConnection;
  readonly handle: Buffer;
}

/** Runs requests of one step, and turns their errors into those of a backend. */
export type Step = <T>(
  operation: 'append' | 'sync' | 'close',
  name: string,
  action: (connection: SftpConnection) => Promise<T>,
) => Promise<T>;

/**
 * Writes one new file on an SFTP server. What is not durable yet is kept in memory, because a server that was restarted
 * may have lost it: with a new connection, it is written again.
 */
export class SftpWriter implements FileWriter {
  readonly #step: Step;
  readonly #name: string;
  readonly #path: string;
  #open: OpenedFile;
  #pieces: Piece[] = [];
  #appendedBytes = 0;
  #durableBytes = 0;
  #isClosed = false;

  constructor(file: { readonly name: string; readonly path: string; readonly opened: OpenedFile }, step: Step) {
    this.#name = file.name;
    this.#path = file.path;
    this.#open = file.opened;
    this.#step = step;
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    const piece = { offset: this.#appendedBytes, bytes: Buffer.from(bytes) };
    await this.#step('append', this.#name, async (connection) => {
      const handle = await this.#opened(connection);
      await writeAt(connection, handle, piece.bytes, piece.offset);
    });
    this.#pieces.push(piece);
    this.#appendedBytes += bytes.length;
  }

  async sync(): Promise<void> {
    await this.#step('sync', this.#name, async (connection) => {
      const handle = await this.#opened(connection);
      const sizeBytes = await sizeOfHandle(connection, handle);
      if (sizeBytes !== this.#appendedBytes) {
        throw new SftpStatusError(0, `it is ${sizeBytes} bytes long after ${this.#appendedBytes} bytes were written`);
      }
      await syncHandle(connection, handle);
    });
    this.#durableBytes = this.#appendedBytes;
    this.#pieces = [];
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { connection: own, handle } = this.#open;
    // The server closes the files of a lost connection.
    if (own.isLost) return;
    await this.#step('close', this.#name, async (connection) => {
      if (connection === own) await closeHandle(connection, handle);
    });
  }

  /** Opens the file again on a new connection, and repeats what may be lost. */
  async #opened(connection: SftpConnection): Promise<Buffer> {
    if (connection === this.#open.connection) return this.#open.handle;
    // Never truncated: the server of an earlier connection may still carry out what it was sent.
    const flags = OPEN_MODE.WRITE | (this.#durableBytes === 0 ? OPEN_MODE.CREAT : 0);
    const handle = await openFile(connection, this.#path, flags);
    for (const { offset, bytes } of this.#pieces) await writeAt(connection, handle, bytes, offset);
    this.#open = { connection, handle };
    return handle;
  }
}
