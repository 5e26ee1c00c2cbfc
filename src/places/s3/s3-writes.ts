import { createHash } from 'node:crypto';

import { METADATA_DIRECTORY } from '../../core/format/layout.ts';

export const NO_OBJECT_LOCK: string = 'A retention needs a bucket with object lock.';

/** How a bucket keeps objects from removal (Amazon S3 User Guide, "Locking objects with Object Lock"). */
export interface S3Retention {
  /** For how many days at least. */
  readonly days: number;
  /** `GOVERNANCE`: users with a special right can remove them all the same. */
  readonly mode: 'COMPLIANCE' | 'GOVERNANCE';
}

/** Until when an object cannot be removed; empty if it can. */
export interface ObjectRetention {
  readonly mode?: string;
  readonly untilMs?: number;
}

/** How objects are written. */
export interface S3Writes {
  /** Of what a restore needs. Default: what the bucket says. */
  readonly retention?: S3Retention | undefined;
  /** Of packs. Default: that of the bucket. */
  readonly storageClass?: string | undefined;
  /** Called when the bucket has accepted an object with a retention. */
  readonly onRetained?: (() => void) | undefined;
}

/**
 * What a restore needs. Missing are locks, temporary files and records, which change all the time, and checkpoints, which
 * can be computed again.
 */
const RETAINED =
  /^(?:(?:packs|index|snapshots|manifests\.bak|keys|holds)\/.+|config|config\.bak|groups|groups\.bak|realm|recoveries|group-id)$/;
/** In classes for rare reads, a smaller object costs as much as one of this size. */
const CLASSED_BYTES_MIN = 128 * 1024;
const DAY_MS = 24 * 3_600_000;
/** An object is retained for this many times the days, so that its retention need not be extended with each backup. */
const SPAN_FACTOR = 2;
/** Retentions are extended every half of the days. Until then, no object may come below the days. */
const LEAST_FACTOR = 1.5;

/** Whether an object is retained. `name`: below the prefix. */
export function isRetained(name: string): boolean {
  return RETAINED.test(name.startsWith(`${METADATA_DIRECTORY}/`) ? name.slice(METADATA_DIRECTORY.length + 1) : name);
}

/** For how long an object is retained when it is written, or extended. */
export function spanMsOf({ days }: S3Retention): number {
  return days * DAY_MS * SPAN_FACTOR;
}

/** An object that is retained for less than this is extended. */
export function leastMsOf({ days }: S3Retention): number {
  return days * DAY_MS * LEAST_FACTOR;
}

/** Returns what is written with an object besides its bytes. */
export function headersFor(
  name: string,
  bytes: Uint8Array,
  { retention, storageClass, nowMs }: S3Writes & { readonly nowMs: number },
): Record<string, string> {
  const isClassed = storageClass !== undefined && name.startsWith('packs/') && bytes.length >= CLASSED_BYTES_MIN;
  return {
    ...(isClassed ? { 'x-amz-storage-class': storageClass } : {}),
    ...(retention !== undefined && isRetained(name)
      ? {
          'x-amz-object-lock-mode': retention.mode,
          'x-amz-object-lock-retain-until-date': dateOf(nowMs + spanMsOf(retention)),
          ...digestHeader(bytes),
        }
      : {}),
  };
}

/** S3 demands it for what has a retention; the SHA-256 of the signature is not enough. */
export function digestHeader(bytes: Uint8Array): Record<string, string> {
  return { 'Content-MD5': createHash('md5').update(bytes).digest('base64') };
}

/** The body of a request that sets the retention of an object. */
export function retentionXml(mode: string, untilMs: number): Uint8Array {
  const until = `<RetainUntilDate>${dateOf(untilMs)}</RetainUntilDate>`;
  const xml = `<Retention xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Mode>${mode}</Mode>${until}</Retention>`;
  return Buffer.from(xml);
}

/** In whole seconds, later rather than earlier. */
function dateOf(timeMs: number): string {
  return new Date(Math.ceil(timeMs / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/** A bucket can lack what a header asks for, which few servers say. */
export function adviceFor(status: number, headers: Readonly<Record<string, string>> = {}): string | undefined {
  if (status !== 400) return undefined;
  const reasons = [
    ...('x-amz-object-lock-mode' in headers ? [NO_OBJECT_LOCK] : []),
    ...('x-amz-storage-class' in headers ? ['Perhaps the server has no such storage class.'] : []),
  ];
  return reasons.length === 0 ? undefined : reasons.join(' ');
}
