import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';

import { StoreError } from '../objects/object-store.ts';
import type { RcloneMessages } from './rclone-messages.ts';
import { RcloneProgram, endError } from './rclone-program.ts';

export interface RcloneRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  /** Percent-encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface RcloneAnswer {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** How often to ask whether rclone is alive while it works on a request. The cloud behind it has time limits of rclone. */
const PING_MS = 15_000;
const MISSED_PINGS_MAX = 4;
/** A session that gets its input and its output from two streams fails in Node when one of them ends: so it is one socket. */
const WITH_ONE_SOCKET = ['sh', '-c', 'exec "$0" "$@" <&1'];
const ANSWER_BYTES_MAX = 2 ** 31;

/** HTTP/2 over the standard streams of `rclone serve restic --stdio`. */
export class RcloneConnection {
  readonly #program: RcloneProgram;
  readonly #session: ClientHttp2Session;
  readonly #lost: Promise<unknown>;
  readonly #pingMs: number;
  #isLost = false;
  #isAnswered = false;
  #waitingCount = 0;
  #watch: NodeJS.Timeout | undefined;
  #missedPings = 0;
  /** Why this side has ended the program. */
  #reason: string | undefined;

  /**
   * Starts the program. What goes wrong is the error of the requests.
   * @param remote - for a hint
   * @param signal - ends the program if it is aborted before the first answer; its reason is then the error
   */
  constructor(
    command: readonly string[],
    remote: string,
    { signal, pingMs = PING_MS }: { signal?: AbortSignal | undefined; pingMs?: number | undefined } = {},
  ) {
    this.#pingMs = pingMs;
    const program = new RcloneProgram([...WITH_ONE_SOCKET, ...command]);
    this.#program = program;
    let isInterrupted = false;
    this.#lost = this.#untilLost(remote).then((error) => (isInterrupted ? signal?.reason : error));
    this.#session = connect('http://localhost', { createConnection: () => program.stdout });
    this.#session.on('error', (error: NodeJS.ErrnoException) => {
      // If the program has ended, it has said why.
      if (error.code?.startsWith('ERR_HTTP2') === true)
        this.#reason ??= `rclone does not follow HTTP/2: ${error.message}`;
    });
    this.#session.on('close', () => void this.#afterClose());
    const giveUp = (): void => {
      if (this.#isAnswered) return;
      isInterrupted = true;
      program.kill();
    };
    signal?.addEventListener('abort', giveUp, { once: true });
    void program.ended.then(() => signal?.removeEventListener('abort', giveUp));
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get messages(): RcloneMessages {
    return this.#program.messages;
  }

  /** @throws StoreError if there is no complete answer, or the reason of the signal */
  async send(request: RcloneRequest): Promise<RcloneAnswer> {
    this.#waitingCount += 1;
    this.#watch ??= setInterval(() => this.#ping(), this.#pingMs);
    try {
      const answer = await answerTo(this.#session, request);
      this.#isAnswered = true;
      return answer;
    } catch (error) {
      if (error instanceof StoreError && !this.#session.destroyed) throw error;
      // What a stream says about the loss of the connection is not the reason.
      if (this.#session.destroyed || this.#session.closed) throw await this.#lost;
      throw incomplete((error as Error).message);
    } finally {
      this.#waitingCount -= 1;
      if (this.#waitingCount === 0) this.#stopWatch();
    }
  }

  async close(): Promise<void> {
    if (this.#isLost) return;
    this.#session.close();
    await this.#program.close();
  }

  async #untilLost(remote: string): Promise<StoreError> {
    const end = await this.#program.ended;
    this.#isLost = true;
    this.#stopWatch();
    this.#session.destroy();
    return endError(this.#reason === undefined ? end : { ...end, reason: this.#reason }, remote);
  }

  /** A program that has closed its streams has ended, or is about to. */
  async #afterClose(): Promise<void> {
    if (this.#reason !== undefined) this.#program.kill();
    else await this.#program.close();
  }

  #end(reason: string): void {
    this.#reason ??= reason;
    this.#program.kill();
  }

  /** Counts pings and not seconds: this process may have been suspended. */
  #ping(): void {
    if (this.#missedPings >= MISSED_PINGS_MAX) return this.#end('rclone does not react any more');
    this.#missedPings += 1;
    if (this.#session.destroyed) return;
    this.#session.ping((error) => {
      if (error === null) this.#missedPings = 0;
    });
  }

  #stopWatch(): void {
    clearInterval(this.#watch);
    this.#watch = undefined;
    this.#missedPings = 0;
  }
}

async function answerTo(session: ClientHttp2Session, request: RcloneRequest): Promise<RcloneAnswer> {
  const { method, path, body } = request;
  const length = body === undefined ? {} : { 'content-length': String(body.length) };
  const headers = { ':method': method, ':path': path, ...request.headers, ...length };
  const stream = session.request(headers, { endStream: body === undefined });
  return await new Promise((resolve, reject) => {
    let answer: (IncomingHttpHeaders & IncomingHttpStatusHeader) | undefined;
    const parts: Buffer[] = [];
    let lengthBytes = 0;
    stream.on('response', (head) => {
      answer = head;
    });
    stream.on('data', (part: Buffer) => {
      parts.push(part);
      lengthBytes += part.length;
      if (lengthBytes > ANSWER_BYTES_MAX) fail(stream, reject, 'the answer is too long');
    });
    stream.on('error', reject);
    stream.on('close', () => {
      const status = answer?.[':status'];
      if (answer === undefined || status === undefined) return reject(incomplete('there is no answer'));
      const expected = answer['content-length'];
      if (method !== 'HEAD' && expected !== undefined && Number(expected) !== lengthBytes) {
        return reject(incomplete(`${lengthBytes} of ${expected} bytes arrived`));
      }
      resolve({ status, headers: answer, body: parts.length === 1 ? parts[0]! : Buffer.concat(parts, lengthBytes) });
    });
    if (body !== undefined) stream.end(body);
  });
}

function fail(stream: ClientHttp2Stream, reject: (error: Error) => void, reason: string): void {
  reject(incomplete(reason));
  stream.close(constants.NGHTTP2_CANCEL);
}

/** The connection stands, but this answer cannot be used. */
function incomplete(reason: string): StoreError {
  return new StoreError(`the answer of rclone is incomplete: ${reason}`, { kind: 'transient', isAnswer: false });
}
