import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';

import { UsageError } from '../../core/errors.ts';
import { StoreError } from '../objects/object-store.ts';

/** The answer to one request, whatever its status. */
export interface S3Answer {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** A request that is ready to be sent. */
export interface RawRequest {
  readonly method: string;
  readonly url: URL;
  /** Percent-encoded, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
}

/** A server that sends and accepts nothing for this long counts as gone. */
const SILENCE_MS = 60_000;
const NOTHING = new Uint8Array(0);
const ANSWER_BYTES_MAX = 2 ** 31;
/** Errors of a certificate do not pass. */
const LASTING = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_)/;

/** Sends requests over connections that are kept open. */
export class S3Connection {
  readonly #plain = new http.Agent({ keepAlive: true, maxSockets: 64 });
  readonly #secure: https.Agent;
  readonly #silenceMs: number;

  /** @param options - `caFile`: the certificates to accept instead of those of Node */
  constructor({
    caFile,
    silenceMs = SILENCE_MS,
  }: { caFile?: string | undefined; silenceMs?: number | undefined } = {}) {
    const ca = caFile === undefined ? undefined : readCertificates(caFile);
    this.#secure = new https.Agent({ keepAlive: true, maxSockets: 64, ...(ca === undefined ? {} : { ca }) });
    this.#silenceMs = silenceMs;
  }

  /** @throws StoreError if there is no complete answer */
  async send({ method, url, path, headers, body }: RawRequest): Promise<S3Answer> {
    return await new Promise((resolve, reject) => {
      let hasBegun = false;
      const fail = (cause: Error): void => reject(noAnswer(cause, url, hasBegun));
      const isSecure = url.protocol === 'https:';
      const options = { method, host: url.hostname.replaceAll(/[[\]]/g, ''), port: url.port, path, headers };
      const request = isSecure
        ? https.request({ ...options, agent: this.#secure })
        : http.request({ ...options, agent: this.#plain });
      request.setTimeout(this.#silenceMs, () => request.destroy(new Error('the server has not answered in time')));
      request.on('error', fail);
      request.on('response', (response) => {
        hasBegun = true;
        // Some servers send a body after all, which is an error of the protocol.
        if (method === 'HEAD') resolve({ status: response.statusCode ?? 0, headers: response.headers, body: NOTHING });
        const tooLong = (): void => void request.destroy(new Error('the answer is too long'));
        if (Number(response.headers['content-length']) > ANSWER_BYTES_MAX && method !== 'HEAD') return tooLong();
        const parts: Buffer[] = [];
        let lengthBytes = 0;
        response.on('data', (part: Buffer) => {
          parts.push(part);
          lengthBytes += part.length;
          if (lengthBytes > ANSWER_BYTES_MAX) tooLong();
        });
        response.on('error', fail);
        response.on('close', () => {
          if (!response.complete) return fail(new Error('the answer is incomplete'));
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) });
        });
      });
      request.end(body);
    });
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }
}

function readCertificates(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new UsageError(`cannot read the certificates in AWS_CA_BUNDLE: ${(cause as Error).message}`, { cause });
  }
}

/** `hasBegun`: an answer that is cut off shows that there is a server at the address. */
function noAnswer(cause: Error, { host }: URL, hasBegun: boolean): StoreError {
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  // Of a host with several addresses, the message is empty.
  const reason = cause.message === '' ? code : cause.message;
  const kind = LASTING.test(code) ? 'other' : 'transient';
  const hint = kind === 'other' ? 'Name a file with the certificate of its authority in AWS_CA_BUNDLE.' : undefined;
  const subject = hasBegun ? 'no complete answer' : 'no answer';
  return new StoreError(`${subject} from ${host}: ${reason}`, { kind, isAnswer: hasBegun, hint, cause });
}
