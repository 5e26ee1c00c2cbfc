import { wallClockMs } from '../../core/util/clock.ts';
import { StoreError } from '../objects/object-store.ts';
import type { ObjectStatus, ObjectStore, PutOptions, StoredObject } from '../objects/object-store.ts';
import type { OldVersions } from '../../core/backend/backend.ts';
import { answerError, errorCodeOf, parseList, parseVersions } from './s3-answer.ts';
import type { ListPage, ObjectVersion, VersionsPage } from './s3-answer.ts';
import type { S3Client, S3Request } from './s3-client.ts';
import type { S3Answer } from './s3-connection.ts';
import { NO_OBJECT_LOCK, adviceFor, digestHeader, headersFor, retentionXml } from './s3-writes.ts';
import type { ObjectRetention, S3Writes } from './s3-writes.ts';

const REQUESTS_AT_ONCE = 16;
const PAGE_KEYS = '1000';
/** The version of an object from before the bucket had versions, or while they are suspended. */
const NO_VERSION = 'null';

/** Returns which version of an object is read; undefined for the newest. */
export type VersionOf = (key: string) => string | undefined;

/** A bucket of a server that speaks S3, below a prefix. Every object is written by one PUT, never in parts. */
export class S3Store implements ObjectStore {
  readonly requestsAtOnce: number = REQUESTS_AT_ONCE;
  readonly #client: S3Client;
  readonly #prefix: string;
  /** Whether the server accepts requests with conditions. A repository on one that does not is known to have one writer. */
  #isShared = true;

  readonly #writes: S3Writes;
  /** Whether an answer has named a version of an object, so that what is replaced or removed stays as an old one. */
  #keepsRemoved = false;

  readonly #versionOf: VersionOf;

  /** @param prefix - as in `S3Address` */
  constructor(client: S3Client, prefix: string, writes: S3Writes = {}, versionOf: VersionOf = () => undefined) {
    this.#client = client;
    this.#writes = writes;
    this.#versionOf = versionOf;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
  }

  clockAheadMs(): number | undefined {
    return this.#client.clockAheadMs;
  }

  /** The time of the server, as far as it is known: retentions are compared with it. */
  nowMs(): number {
    return wallClockMs() + (this.#client.clockAheadMs ?? 0);
  }

  get keepsRemoved(): boolean {
    return this.#keepsRemoved;
  }

  get isShared(): boolean {
    return this.#isShared;
  }

  /** If the keys may not ask, the first object that is retained shows it. */
  async assertReady(): Promise<void> {
    if (this.#writes.retention === undefined) return;
    const answer = await this.#client.send({ method: 'GET', query: { 'object-lock': '' } });
    if (answer.status === 404) throw answerError(answer, NO_OBJECT_LOCK);
  }

  async put(key: string, bytes: Uint8Array, { ifAbsent = false }: PutOptions = {}): Promise<void> {
    const headers = headersFor(key, bytes, { ...this.#writes, nowMs: this.nowMs() });
    const request = { method: 'PUT', key: this.#prefix + key, body: bytes, headers } as const;
    if (!ifAbsent || !this.#isShared) return void (await this.#send(request));
    const answer = await this.#sendUnless({ ...request, headers: { ...headers, 'If-None-Match': '*' } }, [501]);
    if (answer !== undefined) return;
    this.#isShared = false;
    if ((await this.head(key)) !== undefined) throw new StoreError('it exists', { kind: 'exists', isAnswer: true });
    await this.#send(request);
  }

  async replace(key: string, bytes: Uint8Array, version: string): Promise<boolean> {
    const request = { method: 'PUT', key: this.#prefix + key, body: bytes } as const;
    // Ceph 16 does not find an ETag in quotes.
    const headers: Record<string, string> = this.#isShared ? { 'If-Match': version } : {};
    if (!this.#isShared && (await this.head(key))?.version !== version) return false;
    const answer = await this.#client.send({ ...request, headers });
    if (answer.status !== 501) return this.#accept(answer, [404, 412]) !== undefined;
    this.#isShared = false;
    return await this.replace(key, bytes, version);
  }

  async get(key: string): Promise<Uint8Array> {
    return (await this.#send({ method: 'GET', ...this.#versioned(key) })).body;
  }

  async getRange(key: string, offset: number, lengthBytes: number): Promise<Uint8Array> {
    const headers = { Range: `bytes=${offset}-${offset + lengthBytes - 1}` };
    const answer = await this.#sendUnless({ method: 'GET', ...this.#versioned(key), headers }, [416]);
    if (answer === undefined) return new Uint8Array(0);
    // A server may ignore the range.
    if (answer.status === 200) return answer.body.subarray(offset, offset + lengthBytes);
    const start = /^bytes (\d+)-/.exec(answer.headers['content-range'] ?? '')?.[1];
    if (start !== String(offset)) {
      throw new StoreError(`the server sent other bytes than those from ${offset}`, { kind: 'other', isAnswer: true });
    }
    return answer.body;
  }

  async head(key: string): Promise<ObjectStatus | undefined> {
    const request = { method: 'HEAD', key: this.#prefix + key } as const;
    let response = await this.#client.send(request);
    if (response.status >= 300 && response.status < 500 && response.status !== 404) {
      // The answer to HEAD has no body that says why. A list fails with the reason, or makes the client correct it.
      await this.#list('', { 'max-keys': '1' });
      response = await this.#client.send(request);
    }
    const answer = this.#accept(response, [404]);
    if (answer === undefined) return undefined;
    const { etag, 'content-length': lengthBytes } = answer.headers;
    const sizeBytes = lengthBytes === undefined ? NaN : Number(lengthBytes);
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) {
      throw new StoreError('the server does not say how long it is', { kind: 'transient', isAnswer: true });
    }
    return { sizeBytes, version: etag?.replace(/^W\//, '').replaceAll('"', '') };
  }

  /** Returns undefined if there is no such object. */
  async retentionOf(key: string): Promise<ObjectRetention | undefined> {
    const answer = await this.#sendUnless({ method: 'HEAD', key: this.#prefix + key }, [404]);
    if (answer === undefined) return undefined;
    const mode = answer.headers['x-amz-object-lock-mode'];
    const untilMs = Date.parse(String(answer.headers['x-amz-object-lock-retain-until-date']));
    return typeof mode === 'string' && !Number.isNaN(untilMs) ? { mode, untilMs } : {};
  }

  /** Does nothing if the object was removed meanwhile. */
  async retain(key: string, mode: string, untilMs: number): Promise<void> {
    const body = retentionXml(mode, untilMs);
    const request = { method: 'PUT', key: this.#prefix + key, query: { retention: '' }, body } as const;
    await this.#sendUnless({ ...request, headers: digestHeader(body) }, [404, 405]);
  }

  async remove(key: string): Promise<void> {
    await this.#sendUnless({ method: 'DELETE', key: this.#prefix + key }, [404]);
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const objects: StoredObject[] = [];
    let page: ListPage | undefined;
    do {
      page = await this.#list(
        prefix,
        page?.continuation === undefined ? {} : { 'continuation-token': page.continuation },
      );
      for (const { key, sizeBytes, modifiedMs } of page?.objects ?? []) {
        if (!key.startsWith(this.#prefix + prefix)) {
          throw new StoreError(`a list of ${prefix} has other objects`, { kind: 'transient', isAnswer: true });
        }
        objects.push({ key: key.slice(this.#prefix.length), sizeBytes, modifiedMs });
      }
    } while (page?.continuation !== undefined);
    return objects;
  }

  async children(prefix: string): Promise<string[]> {
    const page = await this.#list(prefix, { delimiter: '/' });
    const keys = [...(page?.objects ?? []).map(({ key }) => key), ...(page?.prefixes ?? [])];
    const startLength = this.#prefix.length + prefix.length;
    return keys.map((key) => key.slice(startLength).replace(/\/$/, '')).filter((name) => name !== '');
  }

  async oldVersions(): Promise<OldVersions | 'unknown' | undefined> {
    let [count, bytes] = [0, 0];
    try {
      for await (const versions of this.versionPages()) {
        this.#keepsRemoved ||= versions.some(({ id }) => id !== NO_VERSION);
        if (!this.#keepsRemoved) return undefined;
        for (const { isLatest, sizeBytes } of versions) {
          if (isLatest || sizeBytes === undefined) continue;
          count += 1;
          bytes += sizeBytes;
        }
      }
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind === 'transient') throw error;
      return this.#keepsRemoved ? 'unknown' : undefined;
    }
    return { count, bytes };
  }

  /** The versions below the prefix, those of an object from the newest to the oldest. */
  async *versionPages(): AsyncGenerator<readonly ObjectVersion[]> {
    let page: VersionsPage | undefined;
    do {
      const query = {
        versions: '',
        'encoding-type': 'url',
        'max-keys': PAGE_KEYS,
        prefix: this.#prefix,
        ...page?.next,
      };
      const answer = await this.#client.send({ method: 'GET', query });
      if (answer.status !== 200) throw answerError(answer);
      page = parseVersions(answer);
      yield page.versions.map((version) => ({ ...version, key: version.key.slice(this.#prefix.length) }));
    } while (page.next !== undefined);
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  #versioned(key: string): Pick<S3Request, 'key' | 'query'> {
    const versionId = this.#versionOf(key);
    return { key: this.#prefix + key, ...(versionId === undefined ? {} : { query: { versionId } }) };
  }

  /** Returns undefined if there is no such bucket. */
  async #list(prefix: string, query: Readonly<Record<string, string>>): Promise<ListPage | undefined> {
    const answer = await this.#client.send({
      method: 'GET',
      query: {
        'list-type': '2',
        'encoding-type': 'url',
        'max-keys': PAGE_KEYS,
        prefix: this.#prefix + prefix,
        ...query,
      },
    });
    if (answer.status === 200) return parseList(answer);
    if (errorCodeOf(answer) === 'NoSuchBucket') return undefined;
    throw answerError(answer);
  }

  async #send(request: S3Request): Promise<S3Answer> {
    return (await this.#sendUnless(request, []))!;
  }

  /** Returns undefined for an answer with one of these statuses. */
  async #sendUnless(request: S3Request, statuses: readonly number[]): Promise<S3Answer | undefined> {
    const answer = await this.#client.send(request);
    if (answer.status === 200 && request.headers?.['x-amz-object-lock-mode'] !== undefined) this.#writes.onRetained?.();
    const { 'x-amz-version-id': version } = answer.headers;
    if (request.method === 'PUT' || request.method === 'DELETE')
      this.#keepsRemoved ||= version !== undefined && version !== NO_VERSION;
    return this.#accept(answer, statuses, adviceFor(answer.status, request.headers));
  }

  #accept(answer: S3Answer, statuses: readonly number[], advice?: string): S3Answer | undefined {
    if (answer.status >= 200 && answer.status < 300) return answer;
    if (statuses.includes(answer.status) && errorCodeOf(answer) !== 'NoSuchBucket') return undefined;
    throw answerError(answer, advice);
  }
}
