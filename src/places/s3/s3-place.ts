import { UsageError } from '../../core/errors.ts';

/** A place in a bucket of a server that speaks S3. */
export interface S3Address {
  /** Scheme, host and port, such as `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Begins all keys; empty or without a slash at its ends. */
  readonly prefix: string;
}

const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;

export function isS3Place(place: string): boolean {
  return /^s3:/i.test(place);
}

/**
 * Reads `s3:https://endpoint/bucket/prefix`; the scheme may be missing, as in `s3:s3.amazonaws.com/bucket`.
 * @throws UsageError, without the whole place, because it may contain a password
 */
export function parseS3Place(place: string): S3Address {
  const rest = place.slice('s3:'.length).replace(/^\/\/(?!\/)/, '');
  const named = /^https?:\/\//i.test(rest) ? rest : `https://${rest}`;
  if (!URL.canParse(named)) throw invalid('is not a place in a bucket');
  const url = new URL(named);
  // Other programs write `s3://bucket/key`, without a server.
  if (named !== rest && !/[.:]|^localhost$/.test(url.host)) throw invalid('names no server');
  if (url.username !== '' || url.password !== '') throw invalid('contains a user or a password');
  if (url.search !== '' || url.hash !== '') throw invalid('contains ? or #');
  // As written: the path of a URL would be percent-encoded.
  const [bucket = '', ...parts] = named
    .replace(/^https?:\/\/[^/]*\/?/i, '')
    .replace(/\/+$/, '')
    .split('/');
  if (bucket === '') throw invalid('has no bucket');
  if (!BUCKET.test(bucket)) throw invalid(`has the impossible bucket name ${JSON.stringify(bucket)}`);
  if (parts.some((part) => part === '' || part === '.' || part === '..')) throw invalid('has an impossible prefix');
  return { endpoint: url.origin, bucket, prefix: parts.join('/') };
}

/** Returns the shortest text that means this place. */
export function formatS3Place({ endpoint, bucket, prefix }: S3Address): string {
  return `s3:${endpoint}/${bucket}${prefix === '' ? '' : `/${prefix}`}`;
}

function invalid(what: string): UsageError {
  return new UsageError(`the repository ${what}`, {
    hint: 'Write s3:https://endpoint/bucket/prefix. Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  });
}
