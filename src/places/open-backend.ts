import type { Backend } from '../core/backend/backend.ts';
import { LocalBackend } from '../core/backend/local-backend.ts';
import type { CacheOptions } from './remote/cached-backend.ts';
import type { TransferLimits } from './remote/rate-limiter.ts';
import { isSftpPlace, parseSftpPlace } from './place.ts';
import type { SftpAddress } from './place.ts';
import { isRclonePlace, parseRclonePlace } from './rclone/rclone-place.ts';
import { isS3Place, parseS3Place } from './s3/s3-place.ts';
import type { S3Writes } from './s3/s3-writes.ts';

/** How to use another machine. */
export interface RemoteOptions {
  /** The program instead of `ssh`, with arguments before those of ldm. */
  readonly sshCommand?: readonly string[] | undefined;
  /** The program instead of `rclone`, with arguments before those of ldm. */
  readonly rcloneCommand?: readonly string[] | undefined;
  /** How objects are written to a bucket. */
  readonly s3Writes?: S3Writes | undefined;
  /** A bucket with versions is read as it was at this time (RFC 3339), and cannot be written to. */
  readonly s3AsOf?: string | undefined;
  /** For how long what fails is repeated, if it may pass. Default: 15 minutes. */
  readonly retryForMs?: number | undefined;
  /** Bytes per second, for all places that are opened with them together. Default: no limits. */
  readonly limits?: TransferLimits | undefined;
  /** Requests under way at once. */
  readonly connections?: number | undefined;
  /** Where this machine keeps copies of what every command reads. Default: no copies. */
  readonly cache?: CacheOptions | undefined;
  /** Once it is aborted, nothing is repeated any more. */
  readonly signal?: AbortSignal | undefined;
  /** Called with a reason when something has failed for ten seconds and is repeated. */
  readonly onTrouble?: ((reason: string) => void) | undefined;
}

export const RETRY_FOR_MS: number = 15 * 60 * 1000;
/** Notices after a minute that the other machine is gone. Without them, a dead connection hangs for hours. */
const KEEP_ALIVE = ['-o', 'ServerAliveInterval=15', '-o', 'ServerAliveCountMax=4'];
/**
 * Ctrl+C goes to all programs of a terminal, but ldm needs the connection to release its lock. What is ignored here stays
 * ignored in the program, and ssh can still ask for a password, which it could not in a session of its own.
 */
const IGNORE_INTERRUPTS = ['sh', '-c', `trap '' INT QUIT HUP; exec "$0" "$@"`];

/**
 * Returns the backend for a place: a directory, `sftp:...`, `s3:...` or `rclone:...`. Nothing is accessed yet.
 * @throws UsageError for a place that is none of them
 */
export async function openBackend(place: string, options: RemoteOptions = {}): Promise<Backend> {
  if (!isS3Place(place) && !isRclonePlace(place) && !isSftpPlace(place)) return new LocalBackend(place);
  const { MeteredBackend } = await import('./remote/metered-backend.ts');
  const { limits, connections } = options;
  const backend = new MeteredBackend(await openRemote(place, options), { ...limits, readsAtOnce: connections });
  if (options.cache === undefined) return backend;
  const { CachedBackend } = await import('./remote/cached-backend.ts');
  return new CachedBackend(backend, options.cache);
}

async function openRemote(place: string, options: RemoteOptions): Promise<Backend> {
  if (isS3Place(place)) return await openS3(place, options);
  if (isRclonePlace(place)) return await openRclone(place, options);
  const address = parseSftpPlace(place);
  const { SftpBackend } = await import('./sftp/sftp-backend.ts');
  const { sshCommand = ['ssh'], retryForMs = RETRY_FOR_MS, signal, onTrouble } = options;
  const command = [...IGNORE_INTERRUPTS, ...sshCommand, ...sshArguments(address)];
  return new SftpBackend({ location: place, command, path: address.path }, { retryForMs, signal, onTrouble });
}

async function openS3(
  place: string,
  { s3Writes: writes, s3AsOf, retryForMs = RETRY_FOR_MS, signal, onTrouble }: RemoteOptions,
): Promise<Backend> {
  const address = parseS3Place(place);
  const [{ openS3Store }, { ObjectBackend }] = await Promise.all([
    import('./s3/open-s3.ts'),
    import('./objects/object-backend.ts'),
  ]);
  const retry = { retryForMs, signal, onTrouble };
  if (s3AsOf === undefined) return new ObjectBackend(place, openS3Store(address, process.env, { writes }), retry);
  const { PastStore } = await import('./s3/past-store.ts');
  const past = new PastStore((versionOf) => openS3Store(address, process.env, { versionOf }), Date.parse(s3AsOf));
  // What this machine remembers of the repository as it is now must not be compared with it.
  return new ObjectBackend(`${place} as of ${s3AsOf}`, past, retry);
}

async function openRclone(
  place: string,
  { rcloneCommand = ['rclone'], retryForMs = RETRY_FOR_MS, signal, onTrouble }: RemoteOptions,
): Promise<Backend> {
  const address = parseRclonePlace(place);
  const [{ RcloneStore }, { ObjectBackend }] = await Promise.all([
    import('./rclone/rclone-store.ts'),
    import('./objects/object-backend.ts'),
  ]);
  return new ObjectBackend(place, new RcloneStore(rcloneCommand, address, signal), { retryForMs, signal, onTrouble });
}

function sshArguments({ user, host, port }: SftpAddress): string[] {
  return [
    ...KEEP_ALIVE,
    ...(port === undefined ? [] : ['-p', String(port)]),
    ...(user === undefined ? [] : ['-l', user]),
    '-s',
    '--',
    host,
    'sftp',
  ];
}
