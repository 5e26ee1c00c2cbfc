import { createHash } from 'node:crypto';
import { sign } from 'aws4';

import { wallClockMs } from '../../core/util/clock.ts';
import { StoreError } from '../objects/object-store.ts';
import type { CredentialSource, S3Keys } from './credentials.ts';
import { errorCodeOf, elementOf } from './s3-answer.ts';
import type { S3Answer, S3Connection } from './s3-connection.ts';
import type { S3Address } from './s3-place.ts';
import { digestHeader } from './s3-writes.ts';

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Of an object; undefined for the bucket. */
  readonly key?: string | undefined;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

interface S3Settings extends S3Address {
  readonly region: string;
  /** Whether the name of the bucket is in the path of a URL, or before the name of the host. */
  readonly isPathStyle: boolean;
}

const EXPIRED = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired']);
/** The server says where the bucket is, or what its clock shows. */
const CORRECTIONS_MAX = 3;

/** What a request was sent with, and what an answer may correct. */
interface Sent {
  readonly keys: S3Keys;
  readonly region: string;
  readonly hasMd5: boolean;
}

/** Sends signed requests (AWS Signature Version 4), and corrects the region, the clock and temporary keys. */
export class S3Client {
  readonly #connection: S3Connection;
  readonly #credentials: CredentialSource;
  readonly #settings: S3Settings;
  #base: URL;
  #region: string;
  /** How much later it is at the server. */
  #skewMs = 0;
  #clockAheadMs: number | undefined;
  /** Whether the server has demanded it: the bucket gives what is written a retention. */
  #sendsMd5 = false;

  constructor(settings: S3Settings, connection: S3Connection, credentials: CredentialSource) {
    this.#settings = settings;
    this.#connection = connection;
    this.#credentials = credentials;
    this.#region = settings.region;
    this.#base = new URL(settings.endpoint);
  }

  /** As its last answer has shown, in ms. */
  get clockAheadMs(): number | undefined {
    return this.#clockAheadMs;
  }

  /** @throws StoreError if there is no answer; an answer with an error is returned */
  async send(request: S3Request): Promise<S3Answer> {
    for (let count = 0; ; count += 1) {
      const sent: Sent = {
        keys: await this.#credentials.current(this.#nowMs),
        region: this.#region,
        hasMd5: this.#sendsMd5,
      };
      const answer = await this.#sendOnce(request, sent);
      const serverMs = Date.parse(answer.headers.date ?? '');
      if (Number.isFinite(serverMs)) this.#clockAheadMs = serverMs - wallClockMs();
      if (answer.status < 300 || count >= CORRECTIONS_MAX || !(await this.#correct(answer, sent))) return answer;
    }
  }

  close(): void {
    this.#connection.close();
  }

  get #nowMs(): number {
    return performance.timeOrigin + performance.now() + this.#skewMs;
  }

  async #sendOnce({ method, key, query = {}, headers = {}, body }: S3Request, sent: Sent): Promise<S3Answer> {
    const { bucket, isPathStyle } = this.#settings;
    const nowMs = this.#nowMs;
    const { accessKeyId, secretAccessKey, sessionToken } = sent.keys;
    const url = new URL(this.#base);
    if (!isPathStyle) url.hostname = `${bucket}.${url.hostname}`;
    const path = `/${isPathStyle ? `${encodePart(bucket)}/` : ''}${(key ?? '').split('/').map(encodePart).join('/')}`;
    const search = Object.entries(query)
      .map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`)
      .join('&');
    const signed = sign(
      {
        method,
        host: url.host,
        path: search === '' ? path : `${path}?${search}`,
        service: 's3',
        region: sent.region,
        headers: {
          ...headers,
          ...(method === 'PUT' ? { 'Content-Length': String(body?.length ?? 0) } : {}),
          ...(method === 'PUT' && sent.hasMd5 ? digestHeader(body ?? new Uint8Array(0)) : {}),
          'X-Amz-Content-Sha256': createHash('sha256')
            .update(body ?? '')
            .digest('hex'),
          'X-Amz-Date': new Date(nowMs).toISOString().replaceAll(/[:-]|\.\d+/g, ''),
        },
      },
      { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    );
    return await this.#connection.send({
      method,
      url,
      path: signed.path!,
      headers: signed.headers as Record<string, string>,
      body,
    });
  }

  /** Returns whether the request can be repeated at once. Another one may have noticed the same after it was sent. */
  async #correct(answer: S3Answer, sent: Sent): Promise<boolean> {
    const code = errorCodeOf(answer);
    if (code !== undefined && EXPIRED.has(code)) return await this.#credentials.forget(sent.keys);
    if (code === 'RequestTimeTooSkewed') {
      const serverMs = Date.parse(answer.headers.date ?? '');
      if (!Number.isFinite(serverMs)) return false;
      this.#skewMs = serverMs - (performance.timeOrigin + performance.now());
      return true;
    }
    if (!sent.hasMd5 && answer.status === 400 && demandsMd5(answer)) return (this.#sendsMd5 = true);
    return this.#goToRegion(answer, sent);
  }

  #goToRegion({ status, headers, body }: S3Answer, sent: Sent): boolean {
    if (status !== 301 && status !== 307 && status !== 400) return false;
    const named = headers['x-amz-bucket-region'] ?? elementOf(Buffer.from(body).toString('utf8'), 'Region');
    if (typeof named !== 'string' || !/^[a-z0-9-]+$/.test(named) || named === sent.region) return false;
    this.#region = named;
    if (isAmazonHost(this.#base.hostname)) {
      const suffix = this.#base.hostname.endsWith('.cn') ? '.cn' : '';
      this.#base = new URL(`${this.#base.protocol}//s3.${named}.amazonaws.com${suffix}`);
    }
    return true;
  }
}

/** `Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters` */
function demandsMd5({ body }: S3Answer): boolean {
  return /content-md5/i.test(elementOf(Buffer.from(body).toString('utf8'), 'Message') ?? '');
}

export function isAmazonHost(host: string): boolean {
  return /(^|\.)amazonaws\.com(\.cn)?$/.test(host);
}

/** As the signature wants it: everything except unreserved characters (RFC 3986). */
function encodePart(part: string): string {
  if (/[\uD800-\uDFFF]/u.test(part)) throw new StoreError('the key is not UTF-8', { kind: 'other', isAnswer: true });
  return encodeURIComponent(part).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
