import { createHash } from 'node:crypto';
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

import { generatedPacks, listPage } from './list-pages.ts';

/** A version of an object, or a marker that it was removed. */
export interface ObjectVersion {
  readonly id: string;
  readonly bytes: Buffer;
  readonly isMarker: boolean;
  readonly headers: http.IncomingHttpHeaders;
  /** By the clock of the bucket, on which each change takes a second. */
  readonly modifiedMs: number;
  untilMs: number | undefined;
}

export interface BucketOptions {
  /** Whether objects can have a retention. */
  readonly hasObjectLock?: boolean;
  /** What each new version gets that asks for nothing. As at Amazon, it then needs a digest. */
  readonly defaultRetentionMs?: number;
  readonly mayListVersions?: boolean;
  readonly classes?: readonly string[];
}

type Answer = readonly [status: number, headers: Record<string, string>, body?: string | Buffer];

/**
 * A bucket that keeps every version, as the documentation of Amazon S3 says ("Locking objects with Object Lock",
 * "PutObject", "PutObjectRetention", "ListObjectVersions"). It does not verify signatures.
 */
export class VersionedBucket {
  /** The versions of each key, the newest last. */
  readonly objects: Map<string, ObjectVersion[]> = new Map();
  /** The requests so far, such as `PUT r/config`. */
  readonly requests: string[] = [];
  place = '';
  /** How many packs lists have that do not exist, after what does. The first ten pages are sent: tests should fail soon. */
  morePacks = 0;
  readonly #options: BucketOptions;
  #count = 0;

  private constructor(options: BucketOptions) {
    this.#options = options;
  }

  static async start(options: BucketOptions = {}): Promise<VersionedBucket> {
    const bucket = new VersionedBucket(options);
    const server = http.createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const [status, headers, body = ''] = bucket.#answer(request, Buffer.concat(parts));
        response.writeHead(status, headers);
        response.end(request.method === 'HEAD' ? undefined : body);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    bucket.place = `s3:http://127.0.0.1:${(server.address() as AddressInfo).port}/bucket/r`;
    return bucket;
  }

  get nowMs(): number {
    return Date.now();
  }

  /** Makes all retentions end so much earlier, as if time had passed. */
  age(ms: number): void {
    for (const version of [...this.objects.values()].flat()) if (version.untilMs !== undefined) version.untilMs -= ms;
  }

  /** When the last change was made, by the clock of the bucket. */
  get changedMs(): number {
    return Date.UTC(2026, 0) + this.#count * 1000;
  }

  /** Adds a delete marker. Returns its id. */
  remove(key: string): string {
    return this.#add(key, { bytes: Buffer.alloc(0), isMarker: true, headers: {}, untilMs: undefined });
  }

  /** Writes over what exists. */
  overwrite(key: string, bytes: Buffer): void {
    this.#add(key, { bytes, isMarker: false, headers: {}, untilMs: undefined });
  }

  /** What a listing shows: the newest version of each object, by its name below the prefix. */
  get current(): Map<string, ObjectVersion> {
    const found = new Map<string, ObjectVersion>();
    for (const [key, versions] of this.objects) {
      const last = versions.at(-1)!;
      if (!last.isMarker) found.set(key.slice('r/'.length), last);
    }
    return found;
  }

  /** The versions that no listing shows. */
  get old(): ObjectVersion[] {
    return [...this.objects.values()].flatMap((versions) =>
      versions.filter((version) => !version.isMarker && version !== versions.at(-1)),
    );
  }

  #answer(request: http.IncomingMessage, body: Buffer): Answer {
    const url = new URL(request.url!, 'http://bucket');
    const key = decodeURIComponent(url.pathname.replace(/^\/bucket\/?/, ''));
    this.requests.push(`${request.method} ${key}${url.search}`);
    if (url.searchParams.has('object-lock'))
      return this.#options.hasObjectLock === true
        ? [200, {}]
        : [404, {}, errorXml('ObjectLockConfigurationNotFoundError')];
    if (key === '') return url.searchParams.has('versions') ? this.#listVersions() : this.#list(url.searchParams);
    const last = this.objects.get(key)?.at(-1);
    const named = this.objects.get(key)?.find(({ id }) => id === url.searchParams.get('versionId'));
    const found = named ?? (last?.isMarker === false && !url.searchParams.has('versionId') ? last : undefined);
    if (request.method === 'PUT' && url.searchParams.has('retention')) return this.#retain(found, request, body);
    if (request.method === 'PUT') return this.#put(key, found, request.headers, body);
    if (request.method === 'DELETE') {
      const id = this.remove(key);
      return [204, { 'x-amz-delete-marker': 'true', 'x-amz-version-id': id }];
    }
    return found === undefined ? [404, {}, errorXml('NoSuchKey')] : read(found, request.headers.range);
  }

  #put(key: string, found: ObjectVersion | undefined, headers: http.IncomingHttpHeaders, bytes: Buffer): Answer {
    const until = headers['x-amz-object-lock-retain-until-date'];
    const { hasObjectLock = false, defaultRetentionMs, classes = ['STANDARD'] } = this.#options;
    if (headers['if-none-match'] === '*' && found !== undefined) return [412, {}, errorXml('PreconditionFailed')];
    if (headers['if-match'] !== undefined && headers['if-match'] !== (found && etagOf(found.bytes)))
      return [412, {}, errorXml('PreconditionFailed')];
    if (until !== undefined && !hasObjectLock)
      return [400, {}, errorXml('InvalidRequest', 'Bucket is missing Object Lock Configuration')];
    const isLocked = until !== undefined || defaultRetentionMs !== undefined;
    if (isLocked && headers['content-md5'] === undefined) return DIGEST_MISSING;
    if (!isRightDigest(headers, bytes)) return [400, {}, errorXml('BadDigest')];
    const storageClass = headers['x-amz-storage-class'] ?? 'STANDARD';
    if (!classes.includes(String(storageClass))) return [400, {}, errorXml('InvalidStorageClass')];
    const defaultMs = defaultRetentionMs === undefined ? undefined : this.nowMs + defaultRetentionMs;
    const untilMs = until === undefined ? defaultMs : Date.parse(String(until));
    if (untilMs !== undefined && !(untilMs > this.nowMs)) return [400, {}, errorXml('InvalidArgument')];
    const id = this.#add(key, { bytes, isMarker: false, headers, untilMs });
    return [200, { ETag: `"${etagOf(bytes)}"`, 'x-amz-version-id': id }];
  }

  #retain(found: ObjectVersion | undefined, { headers }: http.IncomingMessage, body: Buffer): Answer {
    if (found === undefined) return [404, {}, errorXml('NoSuchKey')];
    if (headers['content-md5'] === undefined) return DIGEST_MISSING;
    if (!isRightDigest(headers, body)) return [400, {}, errorXml('BadDigest')];
    const untilMs = Date.parse(/<RetainUntilDate>(.*?)</.exec(body.toString())?.[1] ?? '');
    if (!(untilMs > this.nowMs)) return [400, {}, errorXml('InvalidArgument')];
    if (untilMs < (found.untilMs ?? 0)) return [403, {}, errorXml('AccessDenied')];
    found.untilMs = untilMs;
    return [200, {}];
  }

  #add(key: string, version: Omit<ObjectVersion, 'id' | 'modifiedMs'>): string {
    this.#count += 1;
    const id = `v${this.#count}`;
    this.objects.set(key, [...(this.objects.get(key) ?? []), { ...version, id, modifiedMs: this.changedMs }]);
    return id;
  }

  /** What exists is in the first page. */
  #list(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const page = Number(query.get('continuation-token') ?? 0);
    if (page > 10)
      return [403, {}, errorXml('AccessDenied', `a list of ${this.morePacks} packs is too long for a test`)];
    if (page > 0) return [200, {}, listPage(generatedPacks(page), page * 1000 < this.morePacks ? page + 1 : undefined)];
    const prefixes = new Set<string>();
    let contents = '';
    for (const [name, { bytes }] of this.current) {
      const key = `r/${name}`;
      if (!key.startsWith(prefix)) continue;
      const end = query.has('delimiter') ? key.indexOf('/', prefix.length) : -1;
      if (end < 0) contents += `<Contents><Key>${key}</Key><Size>${bytes.length}</Size></Contents>`;
      else prefixes.add(`<CommonPrefixes><Prefix>${key.slice(0, end + 1)}</Prefix></CommonPrefixes>`);
    }
    const hasMore = this.morePacks > 0 && prefix.startsWith('r/packs/') && !query.has('delimiter');
    return [200, {}, listPage(contents + [...prefixes].join(''), hasMore ? 1 : undefined)];
  }

  #listVersions(): Answer {
    if (this.#options.mayListVersions === false) return [403, {}, errorXml('AccessDenied')];
    const blocks = [...this.objects]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .flatMap(([key, versions]) =>
        versions.toReversed().map((version) => {
          const name = version.isMarker ? 'DeleteMarker' : 'Version';
          const fields: Readonly<Record<string, unknown>> = {
            Key: key,
            VersionId: version.id,
            IsLatest: version === versions.at(-1),
            LastModified: new Date(version.modifiedMs).toISOString(),
            ...(version.isMarker ? {} : { Size: version.bytes.length }),
          };
          const elements = Object.entries(fields).map(([field, value]) => `<${field}>${String(value)}</${field}>`);
          return `<${name}>${elements.join('')}</${name}>`;
        }),
      );
    return [200, {}, `<ListVersionsResult><IsTruncated>false</IsTruncated>${blocks.join('')}</ListVersionsResult>`];
  }
}

const DIGEST_MISSING: Answer = [
  400,
  {},
  errorXml(
    'InvalidRequest',
    'Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters',
  ),
];

function read({ bytes, headers, untilMs }: ObjectVersion, range: string | undefined): Answer {
  const lock: Record<string, string> =
    untilMs === undefined
      ? {}
      : {
          'x-amz-object-lock-mode': String(headers['x-amz-object-lock-mode'] ?? 'COMPLIANCE'),
          'x-amz-object-lock-retain-until-date': new Date(untilMs).toISOString(),
        };
  const common = { ETag: `"${etagOf(bytes)}"`, ...lock };
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
  if (from === undefined) return [200, { ...common, 'Content-Length': String(bytes.length) }, bytes];
  if (Number(from) >= bytes.length) return [416, {}, errorXml('InvalidRange')];
  const part = bytes.subarray(Number(from), Number(to) + 1);
  return [206, { ...common, 'Content-Range': `bytes ${from}-${Number(from) + part.length - 1}/${bytes.length}` }, part];
}

function isRightDigest(headers: http.IncomingHttpHeaders, bytes: Buffer): boolean {
  const given = headers['content-md5'];
  return given === undefined || given === createHash('md5').update(bytes).digest('base64');
}

function etagOf(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

function errorXml(code: string, message = ''): string {
  return `<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
}
