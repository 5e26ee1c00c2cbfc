import { bothOf } from '../../core/util/map-concurrently.ts';
import { OPEN_MODE } from './sftp-calls.ts';
import { SENT_AT_ONCE_BYTES, closeHandle, openFile, sizeOfHandle, syncHandle, writeAt } from './sftp-calls.ts';
import type { FileWriter } from '../../core/backend/publication.ts';
import { SftpStatusError } from './sftp-connection.ts';
import type { SftpConnection } from './sftp-connection.ts';

/** How many bytes may be on their way before `append` waits: more than fits into a line of 1 Gbit/s and 60 ms. */
const UNANSWERED_BYTES_MAX = 8 * 1024 * 1024;

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

/** A temporary file with all its bytes, of which the server may not have written all. */
export interface WrittenFile {
  readonly connection: SftpConnection;
  readonly handle: Buffer;
  readonly sizeBytes: number;
}

/** Runs requests of one step, and turns their errors into those of a backend. */
export type Step = <T>(
  operation: 'append' | 'sync' | 'close',
  name: string,
  action: (connection: SftpConnection) => Promise<T>,
) => Promise<T>;

/**
 * Writes one new file on an SFTP server. What is not durable yet is kept in memory, because a server that was restarted
 * may have lost it: with a new connection, it is written again. `append` returns before the server has answered; a
 * failure is reported by the next `append`, or by `sync`.
 */
export class SftpWriter implements FileWriter {
  readonly #step: Step;
  readonly #name: string;
  readonly #path: string;
  #open: { readonly connection: SftpConnection; readonly handle: Promise<Buffer> };
  #pieces: Piece[] = [];
  #appendedBytes = 0;
  #durableBytes = 0;
  /** The appends that the server has not answered. They never fail. */
  readonly #unanswered = new Set<Promise<void>>();
  /** Those of which not all requests have been sent. They never fail either. */
  readonly #unsent = new Set<Promise<void>>();
  #unansweredBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  /** Whether all bytes are durable. A second sync would be a wait. */
  #isSynced = false;
  #isClosed = false;

  constructor(file: { readonly name: string; readonly path: string; readonly opened: OpenedFile }, step: Step) {
    this.#name = file.name;
    this.#path = file.path;
    this.#open = { connection: file.opened.connection, handle: Promise.resolve(file.opened.handle) };
    this.#step = step;
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    this.#assertNoFailure();
    this.#isSynced = false;
    const piece = { offset: this.#appendedBytes, bytes: Buffer.from(bytes) };
    this.#pieces.push(piece);
    this.#appendedBytes += bytes.length;
    this.#unansweredBytes += bytes.length;
    let onSent = (): void => undefined;
    const sending = new Promise<void>((resolve) => (onSent = resolve)).then(() => void this.#unsent.delete(sending));
    this.#unsent.add(sending);
    const writing = this.#write(piece, onSent).finally(() => {
      this.#unanswered.delete(writing);
      this.#unansweredBytes -= bytes.length;
    });
    this.#unanswered.add(writing);
    while (this.#unansweredBytes > UNANSWERED_BYTES_MAX) await Promise.race(this.#unanswered);
    this.#assertNoFailure();
  }

  /**
   * Does not wait for the answers to what was sent: requests for one file take effect in their order
   * (draft-ietf-secsh-filexfer-02, section 6.1). On a new connection, everything is written again before the sync.
   */
  async sync(): Promise<void> {
    if (this.#isSynced) return;
    await Promise.all(this.#unsent);
    const syncing = this.#step('sync', this.#name, async (connection) => {
      const handle = await this.#opened(connection);
      const [sizeBytes] = await bothOf(sizeOfHandle(connection, handle), syncHandle(connection, handle));
      if (sizeBytes !== this.#appendedBytes) {
        throw new SftpStatusError(0, `it is ${sizeBytes} bytes long after ${this.#appendedBytes} bytes were written`);
      }
    });
    await Promise.allSettled([syncing, ...this.#unanswered]);
    // What could not be written explains why the sync failed too.
    this.#assertNoFailure();
    await syncing;
    this.#setDurable();
  }

  /**
   * Has the file synced by `publish`, which gets it as soon as all its bytes were sent, and returns whether it did that.
   * Otherwise it is not known, and `sync` still has to.
   */
  async syncBy(publish: (file: WrittenFile) => Promise<boolean>): Promise<boolean> {
    await Promise.all(this.#unsent);
    const { connection, handle } = this.#open;
    const publishing = publish({ connection, handle: await handle, sizeBytes: this.#appendedBytes });
    await Promise.allSettled([publishing, ...this.#unanswered]);
    this.#assertNoFailure();
    const isSynced = await publishing;
    if (isSynced) this.#setDurable();
    return isSynced;
  }

  /** Whether these are the bytes of the file. False if they are not known here any more, since they are durable. */
  hasWritten(bytes: Buffer): boolean {
    if (this.#durableBytes > 0 || bytes.length !== this.#appendedBytes) return false;
    return this.#pieces.every((piece) =>
      piece.bytes.equals(bytes.subarray(piece.offset, piece.offset + piece.bytes.length)),
    );
  }

  #setDurable(): void {
    this.#durableBytes = this.#appendedBytes;
    this.#isSynced = true;
    this.#pieces = [];
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Nothing may be written once the file has its name, or is to be removed.
    await Promise.all(this.#unanswered);
    const { connection: own, handle } = this.#open;
    // The server closes the files of a lost connection. Of a durable file, nothing depends on the answer.
    if (own.isLost) return;
    const closing = this.#step('close', this.#name, async (connection) => {
      if (connection === own) await closeHandle(connection, await handle);
    });
    if (this.#durableBytes === this.#appendedBytes) closing.catch(() => undefined);
    else await closing;
  }

  async #write({ offset, bytes }: Piece, onSent: () => void): Promise<void> {
    try {
      await this.#step('append', this.#name, async (connection) => {
        const writing = writeAt(connection, await this.#opened(connection), bytes, offset);
        if (bytes.length <= SENT_AT_ONCE_BYTES) onSent();
        await writing;
      });
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      onSent();
    }
  }

  #assertNoFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Opens the file again on a new connection, and repeats what may be lost. */
  async #opened(connection: SftpConnection): Promise<Buffer> {
    if (connection !== this.#open.connection) this.#open = { connection, handle: this.#openAgain(connection) };
    return await this.#open.handle;
  }

  async #openAgain(connection: SftpConnection): Promise<Buffer> {
    // Never truncated: the server of an earlier connection may still carry out what it was sent.
    const flags = OPEN_MODE.WRITE | (this.#durableBytes === 0 ? OPEN_MODE.CREAT : 0);
    const handle = await openFile(connection, this.#path, flags);
    for (const { offset, bytes } of this.#pieces) await writeAt(connection, handle, bytes, offset);
    return handle;
  }
}
