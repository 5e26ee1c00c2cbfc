import { InvalidArgumentError } from 'commander';
import type { S3Retention } from '../../places/s3/s3-writes.ts';

const DAYS_MAX = 3650;
/** What is in them cannot be read until it has been restored to the bucket. */
const ARCHIVES = new Set(['GLACIER', 'DEEP_ARCHIVE']);

export const RETENTION_FORM: string = `a number of days from 1 to ${DAYS_MAX} such as 30, or governance:30`;
export const STORAGE_CLASS_FORM = 'a class that can be read at once, such as STANDARD_IA or GLACIER_IR';

/** `30`, `compliance:30` or `governance:30`; undefined for another text. */
export function parseS3Retention(text: string): S3Retention | undefined {
  const [, mode = 'compliance', digits] = /^(?:(compliance|governance):)?([1-9]\d{0,3})$/i.exec(text) ?? [];
  const days = Number(digits);
  if (!(days <= DAYS_MAX)) return undefined;
  return { days, mode: mode.toLowerCase() === 'governance' ? 'GOVERNANCE' : 'COMPLIANCE' };
}

/** Servers have names of their own; undefined for an archive, and for what is no name. */
export function parseS3StorageClass(text: string): string | undefined {
  return /^[\w-]{1,64}$/.test(text) && !ARCHIVES.has(text.toUpperCase()) ? text : undefined;
}

export function s3RetentionValue(text: string): S3Retention {
  const retention = parseS3Retention(text);
  if (retention === undefined) throw new InvalidArgumentError(`Give ${RETENTION_FORM}.`);
  return retention;
}

export function s3StorageClassValue(text: string): string {
  const storageClass = parseS3StorageClass(text);
  if (storageClass !== undefined) return storageClass;
  const reason = ARCHIVES.has(text.toUpperCase())
    ? 'Nothing can be read from an archive until it has been restored. '
    : '';
  throw new InvalidArgumentError(`${reason}Give ${STORAGE_CLASS_FORM}.`);
}
