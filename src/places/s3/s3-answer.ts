import type { BackendErrorKind } from '../../core/errors.ts';
import { StoreError } from '../objects/object-store.ts';
import type { StoredObject } from '../objects/object-store.ts';
import type { S3Answer } from './s3-connection.ts';

/** One page of a list. */
export interface ListPage {
  readonly objects: readonly StoredObject[];
  /** The common prefixes of keys, where they were asked for. */
  readonly prefixes: readonly string[];
  /** Where the next page begins; undefined after the last one. */
  readonly continuation: string | undefined;
}

/** Codes of errors whose meaning differs from that of their status (Amazon S3 API Reference, "Error responses"). */
const KINDS: Readonly<Record<string, BackendErrorKind>> = {
  BadDigest: 'transient',
  // No pack is too large for an object: what is too large is the bucket.
  EntityTooLarge: 'full',
  IncompleteBody: 'transient',
  QuotaExceeded: 'full',
  RequestTimeTooSkewed: 'transient',
  RequestTimeout: 'transient',
  SlowDown: 'transient',
  Throttling: 'transient',
  ThrottlingException: 'transient',
  XAmzContentSHA256Mismatch: 'transient',
  XMinioStorageFull: 'full',
};

const KEYS_HINT = 'Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile in AWS_PROFILE.';
const HINTS: Readonly<Record<string, string>> = {
  AccessDenied: 'These keys may not do that: check the policy of the bucket and of the user.',
  ExpiredToken: 'The temporary keys have expired: get new ones.',
  InvalidAccessKeyId: KEYS_HINT,
  InvalidObjectState: 'It is in an archive: restore it to the bucket with the tools of the provider, then try again.',
  SignatureDoesNotMatch: KEYS_HINT,
  NoSuchBucket: 'Create the bucket first, or correct its name.',
  QuotaExceeded: 'Delete snapshots or get a larger quota, then run the command again.',
};

/** Returns the text of the first element with this name, without entities; undefined if there is none. */
export function elementOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined ? undefined : unescapeXml(text);
}

/** Returns the code of an error, such as `SlowDown`; undefined if the answer has none, as those to HEAD. */
export function errorCodeOf(answer: S3Answer): string | undefined {
  return elementOf(textOf(answer), 'Code');
}

/** Returns the error for an answer that is not a success. `advice`: what to do if there is nothing better to say. */
export function answerError(answer: S3Answer, advice?: string): StoreError {
  const { status } = answer;
  // The answer to HEAD has no code.
  const code = errorCodeOf(answer) ?? (status === 403 ? 'AccessDenied' : undefined);
  const message = elementOf(textOf(answer), 'Message');
  const words = [code ?? `HTTP status ${status}`, ...(message === undefined || message === '' ? [] : [message])];
  const kind =
    KINDS[code ?? ''] ??
    (isFull(code, message) ? 'full' : undefined) ??
    (code === 'NoSuchBucket' ? 'other' : kindOfStatus(status));
  const hint = HINTS[kind === 'full' ? 'QuotaExceeded' : (code ?? '')] ?? advice;
  return new StoreError(words.join(': '), { kind, isAnswer: true, hint });
}

/** Servers have names of their own for it, and some say it only in the message. */
function isFull(code = '', message = ''): boolean {
  return (
    /quota.?exceeded|storage.?full|insufficient.?(?:storage|space)|out.?of.?space/i.test(code) ||
    /quota exceeded|exceeds? .*quota|storage cap exceeded|insufficient storage|no space left/i.test(message)
  );
}

function kindOfStatus(status: number): BackendErrorKind {
  if (status === 404) return 'absent';
  if (status === 401 || status === 403) return 'denied';
  if (status === 412) return 'exists';
  if (status === 507) return 'full';
  // 409: two conditional requests at once. 501: the server cannot do this at all.
  return status === 408 || status === 409 || status === 429 || (status >= 500 && status !== 501)
    ? 'transient'
    : 'other';
}

/**
 * Reads an answer to ListObjectsV2.
 * @throws StoreError if it is something else, such as the page of a proxy
 */
export function parseList(answer: S3Answer): ListPage {
  const xml = textOf(answer);
  if (!/<ListBucketResult[\s>]/.test(xml) || !xml.includes('</ListBucketResult>')) {
    throw new StoreError('the answer is not a list of objects', { kind: 'transient', isAnswer: true });
  }
  const isEncoded = elementOf(xml, 'EncodingType')?.toLowerCase() === 'url';
  const objects = blocksOf(xml, 'Contents').map((block) => ({
    key: keyOf(elementOf(block, 'Key'), isEncoded),
    sizeBytes: sizeOf(elementOf(block, 'Size')),
    modifiedMs: timeOf(elementOf(block, 'LastModified')),
  }));
  const prefixes = blocksOf(xml, 'CommonPrefixes').map((block) => keyOf(elementOf(block, 'Prefix'), isEncoded));
  const count = elementOf(xml, 'KeyCount');
  // An object that is not understood must not look absent.
  if (count !== undefined && Number(count) !== objects.length + prefixes.length) throw damagedList();
  const isTruncated = elementOf(xml, 'IsTruncated') === 'true';
  const continuation = isTruncated ? elementOf(xml, 'NextContinuationToken') : undefined;
  if (isTruncated && continuation === undefined) {
    throw new StoreError('a list of objects does not say where it continues', { kind: 'other', isAnswer: true });
  }
  return { objects, prefixes, continuation };
}

/** A version of an object, or a marker that says that it was removed. */
export interface ObjectVersion {
  readonly key: string;
  readonly id: string;
  readonly isLatest: boolean;
  /** Undefined for a marker. */
  readonly sizeBytes: number | undefined;
  readonly modifiedMs: number | undefined;
}

/** One page of the versions of objects: by key, then from the newest to the oldest. */
export interface VersionsPage {
  readonly versions: readonly ObjectVersion[];
  /** What the next page is asked with; undefined after the last one. */
  readonly next: Readonly<Record<string, string>> | undefined;
}

/**
 * Reads an answer to ListObjectVersions.
 * @throws StoreError if it is something else
 */
export function parseVersions(answer: S3Answer): VersionsPage {
  const xml = textOf(answer);
  // Ceph has another name for it than Amazon.
  if (!/<List(?:Versions|VersionsResult|VersionResult)[\s>]/.test(xml)) throw damagedList();
  const isEncoded = elementOf(xml, 'EncodingType')?.toLowerCase() === 'url';
  const versions = [...xml.matchAll(/<(Version|DeleteMarker)>(.*?)<\/\1>/gs)].map(([, name, block = '']) => ({
    key: keyOf(elementOf(block, 'Key'), isEncoded),
    id: elementOf(block, 'VersionId') ?? '',
    isLatest: elementOf(block, 'IsLatest') === 'true',
    sizeBytes: name === 'Version' ? sizeOf(elementOf(block, 'Size')) : undefined,
    modifiedMs: timeOf(elementOf(block, 'LastModified')),
  }));
  if (elementOf(xml, 'IsTruncated') !== 'true') return { versions, next: undefined };
  const version = elementOf(xml, 'NextVersionIdMarker');
  const next = { 'key-marker': keyOf(elementOf(xml, 'NextKeyMarker'), isEncoded) };
  return { versions, next: version === undefined ? next : { ...next, 'version-id-marker': version } };
}

function keyOf(text: string | undefined, isEncoded: boolean): string {
  if (text === undefined || text === '') throw damagedList();
  return isEncoded ? decodeKey(text) : text;
}

function sizeOf(text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw damagedList();
  return Number(text);
}

/** Not every server has it right, and only the removal of packs that belong to no snapshot looks at it. */
function timeOf(text: string | undefined): number | undefined {
  const timeMs = Date.parse(text ?? '');
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

function damagedList(): StoreError {
  return new StoreError('a list of objects is damaged', { kind: 'transient', isAnswer: true });
}

/** A key that is not UTF-8 is none of ldm: it stays encoded. */
function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', '%20'));
  } catch {
    return text;
  }
}

function blocksOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map((match) => match[1]!);
}

function textOf({ body }: S3Answer): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name ?? ''] ?? whole;
  });
}
