import type { FuseServerOptions } from './file-node.ts';
import { ERRNO, OUT_HEADER_BYTES } from './protocol.ts';
import { FuseSession } from './fuse-session.ts';
import { decodeRequest } from './requests.ts';
import type { FuseCalls } from './system-calls.ts';

/** More than any request without data to write; the kernel requires 8 KiB. */
const REQUEST_BYTES_MAX = 64 * 1024;
/** After this number of requests, timers and signals get their turn. */
const REQUESTS_AT_ONCE = 64;
/**
 * For so long after a request, the next one is looked for instead of waited for: a program that reads sends it within
 * microseconds, and waiting in another thread takes up to 100 us.
 */
const SPIN_MS = 0.2;

/** Answers the requests of the kernel until the file system is unmounted or the server is stopped. */
export class FuseServer {
  readonly #calls: FuseCalls;
  readonly #descriptor: number;
  readonly #session: FuseSession;
  readonly #buffer = Buffer.alloc(REQUEST_BYTES_MAX);
  #isEnded = false;

  constructor(options: FuseServerOptions) {
    this.#calls = options.calls;
    this.#descriptor = options.descriptor;
    this.#session = new FuseSession({ ...options, send: (reply) => this.#send(reply) });
  }

  /** Serves until the end. `wake`: a descriptor that becomes readable when the server is stopped. */
  async run(wake: number): Promise<void> {
    let busyAt = -Infinity;
    while (!this.#isEnded) {
      if (this.#receive()) busyAt = performance.now();
      if (this.#isEnded) return;
      if (performance.now() - busyAt < SPIN_MS) await new Promise((resolve) => void setImmediate(resolve));
      else await this.#calls.waitReadable(this.#descriptor, wake);
    }
  }

  /** Ends `run`, without an answer to requests that are being worked on. The caller then wakes it. */
  stop(): void {
    this.#isEnded = true;
  }

  /** Handles the requests that are there. Returns whether there were any. */
  #receive(): boolean {
    let hasReceived = false;
    for (let count = 0; count < REQUESTS_AT_ONCE && !this.#isEnded; count += 1) {
      const result = this.#calls.read(this.#descriptor, this.#buffer);
      if (result === -ERRNO.EAGAIN) break;
      // A request that was withdrawn before it was read, or a signal.
      if (result === -ERRNO.ENOENT || result === -ERRNO.EINTR) continue;
      if (result < 0) {
        // ENODEV: unmounted. ECONNABORTED and anything else: there is no connection any more either.
        this.#isEnded = true;
        break;
      }
      const request = decodeRequest(this.#buffer.subarray(0, result));
      if (request !== undefined) this.#session.handle(request);
      hasReceived = true;
    }
    return hasReceived;
  }

  /** A reply to a request that was withdrawn meanwhile fails, which does no harm. */
  #send(reply: Uint8Array): void {
    if (reply.length >= OUT_HEADER_BYTES && !this.#isEnded) this.#calls.write(this.#descriptor, reply);
  }
}
