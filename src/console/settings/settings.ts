import type { GlobalOptions } from './environment.ts';
import { join, resolve } from 'node:path';
import { formatSftpPlace, isSftpPlace, parseSftpPlace } from '../../places/place.ts';
import { formatRclonePlace, isRclonePlace, parseRclonePlace } from '../../places/rclone/rclone-place.ts';
import { formatS3Place, isS3Place, parseS3Place } from '../../places/s3/s3-place.ts';
import type { S3Writes } from '../../places/s3/s3-writes.ts';
import { UsageError } from '../../core/errors.ts';
import { readProgressFps } from './environment.ts';
import { expandHome } from '../input/paths.ts';
import { checksDirectoryOf } from '../check-memory.ts';
import { cacheDirectory, xdgDirectory } from './directories.ts';
import { splitWords } from '../password/split-words.ts';
import type { WorkLimits } from '../../core/util/work-limits.ts';
import { isDamagedText } from '../../core/util/byte-string.ts';

/** `rest:https://...`, or `host:path` as for scp: a colon before any slash. */
const REMOTE_PLACE = /^([^/]*?:)(\/\/)?/;
const SCHEME = /^[a-z][a-z0-9+-]*:$/i;

/** The settings from options, environment and profile, in this order of precedence. */
export interface Settings {
  readonly repository: string;
  /** No repository was named. The first backup may create one at the default place. */
  readonly isDefaultRepository: boolean;
  /** Undefined for the default of the operation. */
  readonly lockWaitMs: number | undefined;
  /** For how long what fails on another machine is repeated; undefined for the default. */
  readonly retryForMs: number | undefined;
  /** How to start ssh, in words; undefined for the default. */
  readonly sshCommand: readonly string[] | undefined;
  /** The same for rclone. */
  readonly rcloneCommand: readonly string[] | undefined;
  /** Bytes per second; undefined for no limit. */
  readonly uploadLimit: number | undefined;
  readonly downloadLimit: number | undefined;
  /** Requests to another machine under way at once; undefined for the default. */
  readonly connections: number | undefined;
  /** How what is written to a bucket is kept. */
  readonly s3Writes: S3Writes;
  /** A bucket is read as it was at this time (RFC 3339); undefined for now. */
  readonly s3AsOf: string | undefined;
  /** How much of this machine to use. */
  readonly limits: WorkLimits;
  /** Where this machine keeps copies of files of repositories on other machines; undefined for none. */
  readonly cacheDirectory: string | undefined;
  /** How often to show progress per second; undefined for the default. */
  readonly progressFps: number | undefined;
  /** What this machine remembers of repositories. Undefined if there is no home directory. */
  readonly memoryDirectory: string | undefined;
  /** The same about their last checks. */
  readonly checksDirectory: string | undefined;
  /** The same about when the retention of buckets was extended. */
  readonly retentionDirectory: string | undefined;
}

/** `options`: from the command line, the environment and the profile. */
export function resolveSettings(options: GlobalOptions, environment: NodeJS.ProcessEnv): Settings {
  const { repo: named } = options;
  const state = xdgDirectory(environment, 'XDG_STATE_HOME', '.local/state');
  const repository = named === undefined ? defaultLocation(environment) : resolveLocation(named);
  if (options.s3AsOf !== undefined && !isS3Place(repository))
    throw new UsageError('--s3-as-of is for a repository in a bucket', { hint: 'Name one with -r, such as s3:...' });
  return {
    repository,
    isDefaultRepository: named === undefined,
    lockWaitMs: options.lockWait,
    retryForMs: options.retryFor,
    sshCommand: options.sshCommand === undefined ? undefined : splitWords(options.sshCommand, '--ssh-command'),
    rcloneCommand:
      options.rcloneCommand === undefined ? undefined : splitWords(options.rcloneCommand, '--rclone-command'),
    uploadLimit: options.limitUpload,
    downloadLimit: options.limitDownload,
    connections: options.connections,
    s3AsOf: options.s3AsOf,
    s3Writes: { retention: options.s3Retention, storageClass: options.s3StorageClass },
    limits: { threads: options.threads, memoryBytes: options.memory },
    cacheDirectory: options.cache !== false ? cacheDirectory(environment) : undefined,
    progressFps: readProgressFps(environment),
    memoryDirectory: state === undefined ? undefined : join(state, 'ldm', 'repositories'),
    checksDirectory: checksDirectoryOf(environment),
    retentionDirectory: state === undefined ? undefined : join(state, 'ldm', 'retention'),
  };
}

function defaultLocation(environment: NodeJS.ProcessEnv): string {
  const directory = xdgDirectory(environment, 'XDG_DATA_HOME', '.local/share');
  if (directory !== undefined) return assertText(join(directory, 'ldm', 'repository'));
  throw new UsageError('no home directory for the default repository', {
    hint: 'Set HOME, or name a repository with -r.',
  });
}

/** Returns the place of a repository that was named. */
export function resolveLocation(location: string): string {
  if (isSftpPlace(location)) return assertText(formatSftpPlace(parseSftpPlace(location)));
  if (isS3Place(location)) return assertText(formatS3Place(parseS3Place(location)));
  if (isRclonePlace(location)) return assertText(formatRclonePlace(parseRclonePlace(location)));
  const [, start, slashes] = REMOTE_PLACE.exec(location) ?? [];
  if (start !== undefined) throw remotePlace(start, slashes);
  return assertText(resolve(expandHome(location)));
}

/** The message shows only the start, because a URL may contain a password. */
function remotePlace(start: string, slashes = ''): UsageError {
  const what = SCHEME.test(start) ? `at ${start}${slashes}` : `on another machine (${start})`;
  return new UsageError(`a repository ${what} is not supported`, {
    hint: 'Name a directory, sftp:user@host:/path, s3:https://endpoint/bucket or rclone:remote:path; write ./ before a name with a colon.',
  });
}

function assertText(place: string): string {
  if (!isDamagedText(place)) return place;
  throw new UsageError(`the path of the repository is not UTF-8: ${place}`, { hint: 'Rename it.' });
}
