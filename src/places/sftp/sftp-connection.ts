import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { SFTP } from 'ssh2/lib/protocol/SFTP.js';
import type { SftpProtocol } from 'ssh2/lib/protocol/SFTP.js';

import { startProgram } from '../../core/util/programs.ts';
import { extendedPacket } from './sftp-fields.ts';

/** The connection is gone, and it is unknown whether the request was carried out. */
export class ConnectionLostError extends Error {}

/** An answer cannot be right: something has damaged it on the way. */
export class WrongAnswerError extends Error {}

/** The server has refused a request. */
export class SftpStatusError extends Error {
  /** As in draft-ietf-secsh-filexfer-02, section 7. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;
type Callback<T> = (error: Error | undefined | null, value: T) => void;

/** A server that answers nothing for this long, although the connection stands, is taken for dead. */
const SILENCE_MS = 120_000;
/** Before its first answer, ssh may ask the user for a password. */
const FIRST_SILENCE_MS = 600_000;
const HANDLES_UNLESS_KNOWN = 64;
/** How many requests wait for another one. A server may have few handles. */
const LATER_MAX = 32;
/** How much of the messages of ssh is kept. */
const MESSAGES_LENGTH = 4096;
/** What the class asks of a channel of the SSH protocol. A pipe has neither a window nor packets. */
const OUTGOING = { id: 0, window: Infinity, packetSize: 2 ** 20, state: 'open' };
/** Which the class takes for a server that accepts packets of 256 KiB. */
const SERVER_IDENTITY = Buffer.from('SSH-2.0-OpenSSH_9');

/** A connection to an SFTP server (protocol version 3) over the standard streams of a program, which is mostly ssh. */
export class SftpConnection {
  readonly #child: Child;
  readonly #protocol: SftpProtocol;
  /** What the server is taken to have until it has said that. */
  readonly #expected: readonly string[];
  /** How to end the requests that wait for an answer. */
  readonly #waiting = new Set<(error: Error) => void>();
  readonly #ended: Promise<void>;
  /** The class is ready only when the server has also told its limits, which would be another wait. */
  #onVersion = (): void => undefined;
  #later: (() => void)[] = [];
  #messages = '';
  #isReady = false;
  #lost: ConnectionLostError | undefined;
  #watch: NodeJS.Timeout | undefined;

  private constructor(child: Child, expected: readonly string[]) {
    this.#child = child;
    this.#expected = expected;
    this.#protocol = new SFTP(
      {
        _protocol: {
          _remoteIdentRaw: SERVER_IDENTITY,
          channelData: (_id, bytes) => void child.stdin.write(bytes),
          channelClose: () => void child.stdin.end(),
        },
      },
      { type: 'session', incoming: { id: 0 }, outgoing: { ...OUTGOING } },
    );
    this.#ended = new Promise((resolve) => {
      child.on('error', (error) => this.#lose(error.message));
      child.on('close', (code, signal) => {
        this.#lose(this.#describeEnd(code, signal));
        resolve();
      });
    });
    // Without listeners, these would end the program. The end of the child tells what has happened.
    child.stdin.on('error', () => undefined);
    this.#protocol.on('error', (error: Error) => this.#break(error));
    child.stdout.on('data', (bytes: Buffer) => {
      this.#watch?.refresh();
      try {
        this.#protocol.push(bytes);
        if (this.#protocol._version >= 0) this.#onVersion();
      } catch (error) {
        // For a packet of an impossible length, the class fails in its own code.
        this.#break(error as Error);
      }
    });
    child.stderr.on('data', (bytes: Buffer) => {
      this.#messages = (this.#messages + bytes.toString()).slice(-MESSAGES_LENGTH);
    });
  }

  /**
   * Starts the program, and waits until the server answers.
   * @param signal - ends the attempt; the program is stopped. One that is aborted already has no effect
   * @param early - sends requests that need nothing of what the server says about itself. They go out without a wait for that
   * @param expected - the extensions of version 1 that such requests may use, and that another server refuses
   * @throws ConnectionLostError with what the program has said, or the reason of the signal
   */
  static async open(
    words: readonly string[],
    signal: AbortSignal | undefined,
    early?: (connection: SftpConnection) => void,
    expected: readonly string[] = [],
  ): Promise<SftpConnection> {
    const child = startProgram(words, { stdio: ['pipe', 'pipe', 'pipe'] }) as Child;
    const connection = new SftpConnection(child, expected);
    let isInterrupted = false;
    const giveUp = (): void => {
      isInterrupted = true;
      connection.#lose('interrupted');
    };
    signal?.addEventListener('abort', giveUp);
    try {
      const answered = connection.request<void>((protocol, done) => {
        connection.#onVersion = () => done(undefined, undefined);
        protocol._init();
      });
      early?.(connection);
      await answered;
    } catch (error) {
      throw isInterrupted ? signal?.reason : error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
    connection.#isReady = true;
    return connection;
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** How many files and directories the server keeps open, if it has said that by now. */
  get handlesMax(): number {
    return this.#protocol.maxOpenHandles ?? HANDLES_UNLESS_KNOWN;
  }

  /** Whether the server has announced an extension, such as `fsync@openssh.com`. */
  has(extension: string, version = '1'): boolean {
    if (this.#protocol._version < 0) return this.#expected.includes(extension);
    return this.#protocol._extensions[extension] === version;
  }

  /**
   * Sends a request and waits for its answer.
   * @throws SftpStatusError if the server refuses, ConnectionLostError if there is no answer
   */
  async request<T>(send: (protocol: SftpProtocol, done: Callback<T>) => void): Promise<T> {
    // The protocol class would never answer.
    if (this.#lost !== undefined) throw this.#lost;
    const silenceMs = this.#isReady ? SILENCE_MS : FIRST_SILENCE_MS;
    this.#watch ??= setTimeout(() => this.#lose(`no answer for ${silenceMs / 1000} seconds`), silenceMs);
    let finish = (): void => undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        // First, since what they close may be a handle that this one needs.
        this.#sendRest();
        this.#waiting.add(reject);
        finish = () => void this.#waiting.delete(reject);
        send(this.#protocol, (error, value) => {
          if (error === undefined || error === null) resolve(value);
          else reject(this.#failureOf(error));
        });
      });
    } finally {
      finish();
      if (this.#waiting.size === 0) {
        clearTimeout(this.#watch);
        this.#watch = undefined;
      }
    }
  }

  /** Sends an extended request that the protocol class does not know, and that is answered by a status. */
  async extended(name: string, ...fields: readonly Buffer[]): Promise<void> {
    await this.request<void>((protocol, done) => {
      const id = (protocol._writeReqid = (protocol._writeReqid + 1) % 2 ** 31);
      protocol._requests[id] = { cb: (error) => done(error, undefined) };
      this.#child.stdin.write(extendedPacket(id, name, fields));
    });
  }

  /** Sends a request whose answer does not matter together with the next one, or never: its packet is not worth a wait. */
  sendLater(send: () => void): void {
    this.#later.push(send);
    if (this.#later.length > LATER_MAX) this.#sendRest();
  }

  #sendRest(): void {
    for (const send of this.#later.splice(0)) send();
  }

  /** Gives up a connection whose server waits for something that will not come. Requests that wait fail. */
  abandon(reason: string): void {
    this.#lose(reason);
  }

  /** Ends the program. Requests that wait fail. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    // A server that hangs does not notice that its input has ended.
    const killing = setTimeout(() => this.#child.kill('SIGKILL'), 2000);
    await this.#ended;
    clearTimeout(killing);
  }

  #failureOf(error: Error): Error {
    const status = 'code' in error ? error.code : undefined;
    if (typeof status === 'number') return new SftpStatusError(status, error.message);
    return this.#lost ?? new ConnectionLostError(error.message);
  }

  #break(error: Error): void {
    // Before, the usual cause is a command in a start-up file of the shell on the server.
    this.#lose(
      this.#isReady
        ? `the server does not follow the protocol: ${error.message}`
        : 'the server does not speak SFTP; does it print a text at each login?',
    );
  }

  #lose(reason: string): void {
    if (this.#lost !== undefined) return;
    this.#lost = new ConnectionLostError(reason);
    clearTimeout(this.#watch);
    for (const fail of this.#waiting) fail(this.#lost);
    this.#child.kill();
  }

  /** The last line is mostly the reason. */
  #describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
    const last = this.#messages.trim().split('\n').at(-1)?.trim() ?? '';
    if (last !== '') return last;
    return code === null ? `ssh was ended by ${signal}` : `ssh ended with exit code ${code}`;
  }
}
