import type { RetryOptions } from '../../core/backend/retry.ts';
import { retrying } from '../../core/backend/retry.ts';
import { hasOwnRequests } from './own-requests.ts';
import { ConnectionLostError, SftpConnection, WrongAnswerError } from './sftp-connection.ts';

export interface SftpPlace {
  /** As the user named it. */
  readonly location: string;
  /** The program that speaks SFTP on its standard streams, mostly ssh, with its arguments. */
  readonly command: readonly string[];
  /** On the server, absolute or below the home directory. */
  readonly path: string;
}

/** Keeps a connection to an SFTP server, and makes a new one where it is lost. */
export class SftpSession {
  readonly #command: readonly string[];
  readonly #retry: RetryOptions;
  #connection: Promise<SftpConnection> | undefined;
  #wasConnected = false;
  #isAppendOnly = false;
  #isOwnServer = false;

  /** @param command - the program to start, with its arguments */
  constructor(command: readonly string[], retry: RetryOptions) {
    this.#command = command;
    this.#retry = retry;
  }

  /** Whether there was ever a connection. */
  get wasConnected(): boolean {
    return this.#wasConnected;
  }

  /** Whether the server has announced that it lets nothing be removed or changed, as `ldm serve` does. */
  get isAppendOnly(): boolean {
    return this.#isAppendOnly;
  }

  /** Whether the server has our own requests, as `ldm serve` does. */
  get isOwnServer(): boolean {
    return this.#isOwnServer;
  }

  /**
   * Runs requests, and repeats them if the connection is lost meanwhile, or an answer was damaged. The first connection is tried once: a wrong
   * name or key does not become right.
   * @throws SftpStatusError, or ConnectionLostError once it was repeated for long enough
   */
  async run<T>(action: (connection: SftpConnection, isRepeated: boolean) => Promise<T>): Promise<T> {
    return await retrying(
      async (isRepeated) => action(await this.#connected(), isRepeated),
      (error) => error instanceof WrongAnswerError || (error instanceof ConnectionLostError && this.#wasConnected),
      this.#retry,
    );
  }

  /**
   * Sends requests with the first message to the server. `ask` gets the connection once; if there is one, at once. `expected`: the
   * extensions that it may use before the server has announced them.
   */
  begin(ask: (connection: SftpConnection) => void, expected?: readonly string[]): void {
    if (this.#connection === undefined) this.#connection = this.#open(ask, expected);
    else this.#connection.then(ask).catch(() => undefined);
    // The next request says why there is no connection.
    this.#connection.catch(() => undefined);
  }

  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    this.#connection = undefined;
    await connection?.close();
  }

  /** Operations that notice the loss of a connection share the next one. */
  async #connected(): Promise<SftpConnection> {
    const current = (this.#connection ??= this.#open());
    const connection = await current.catch((error: unknown) => error as Error);
    if (connection instanceof SftpConnection && !connection.isLost) return connection;
    if (this.#connection === current) this.#connection = undefined;
    if (connection instanceof SftpConnection) return await this.#connected();
    throw connection;
  }

  async #open(early?: (connection: SftpConnection) => void, expected?: readonly string[]): Promise<SftpConnection> {
    const connection = await SftpConnection.open(this.#command, this.#retry.signal, early, expected);
    this.#wasConnected = true;
    this.#isOwnServer = hasOwnRequests(connection);
    this.#isAppendOnly = connection.has('append-only@ldm');
    return connection;
  }
}
