import type { PasswordOptions } from '../password/password-source.ts';
import { UsageError } from '../../core/errors.ts';
import { parseSize } from '../../core/util/format-bytes.ts';
import { MEMORY_BYTES_MIN } from '../../core/util/work-limits.ts';
import { parseDuration } from '../../core/util/format-time.ts';
import { parseTime } from '../options/option-values.ts';
import type { S3Retention } from '../../places/s3/s3-writes.ts';
import { RETENTION_FORM, STORAGE_CLASS_FORM, parseS3Retention, parseS3StorageClass } from '../options/s3-values.ts';

const MAX_FPS = 60;
const TRUE_VALUES = ['1', 'true'];
const FALSE_VALUES = ['0', 'false'];

/**
 * Returns the global options, with values from the environment for those not given. The password has an order of its
 * own, see `findPasswordOrigin`.
 */
export function withEnvironment(options: GlobalOptions, environment: NodeJS.ProcessEnv): GlobalOptions {
  const { repo, json, quiet, verbose, lockWait, retryFor, sshCommand, rcloneCommand, progress } = options;
  const { limitUpload, limitDownload, connections, threads, memory, s3Retention, s3StorageClass, s3AsOf } = options;
  const read = <T>(name: string, parse: (text: string) => T | undefined, wanted: string): T | undefined =>
    readVariable(environment, name, { parse, wanted });
  const readFlag = (name: string): boolean | undefined => read(name, parseFlag, '1 or 0');
  const given = {
    ...options,
    repo: repo ?? read('LDM_REPOSITORY', (text) => text, 'a place'),
    json: json ?? readFlag('LDM_JSON'),
    quiet: quiet ?? readFlag('LDM_QUIET'),
    verbose: verbose > 0 ? verbose : (read('LDM_VERBOSE', parseCount, 'a number from 0 to 9') ?? 0),
    lockWait: lockWait ?? read('LDM_LOCK_WAIT', parseDuration, 'a time span such as 30s, 5m or 1h'),
    retryFor: retryFor ?? read('LDM_RETRY_FOR', parseDuration, 'a time span such as 30s, 5m or 1h'),
    sshCommand: sshCommand ?? read('LDM_SSH_COMMAND', (text) => text, 'a command'),
    rcloneCommand: rcloneCommand ?? read('LDM_RCLONE_COMMAND', (text) => text, 'a command'),
    limitUpload: limitUpload ?? read('LDM_LIMIT_UPLOAD', parseRate, 'bytes per second such as 2MiB'),
    limitDownload: limitDownload ?? read('LDM_LIMIT_DOWNLOAD', parseRate, 'bytes per second such as 2MiB'),
    connections: connections ?? read('LDM_CONNECTIONS', parseConnections, 'a number from 1 to 32'),
    s3Retention: s3Retention ?? read('LDM_S3_RETENTION', parseS3Retention, RETENTION_FORM),
    s3StorageClass: s3StorageClass ?? read('LDM_S3_STORAGE_CLASS', parseS3StorageClass, STORAGE_CLASS_FORM),
    s3AsOf: s3AsOf ?? read('LDM_S3_AS_OF', parseTime, 'a time such as 2026-01-31T18:00:00Z'),
    threads: threads ?? read('LDM_THREADS', parseThreads, 'a whole number from 1 up'),
    memory:
      memory ?? read('LDM_MEMORY', parseMemory, `a size from ${MEMORY_BYTES_MIN / 2 ** 20}MiB up, such as 200MiB`),
    // A password on the command line is meant for this repository.
    encryption: options.encryption !== false && (hasPassword(options) || readFlag('LDM_NO_ENCRYPTION') !== true),
    cache: options.cache !== false && readFlag('LDM_NO_CACHE') !== true,
    progress: progress && readFlag('LDM_NO_PROGRESS') !== true,
  };
  return given as GlobalOptions;
}

/** Whether the command line names the source of a password. */
export function hasPassword({ passwordFile, passwordCommand }: GlobalOptions): boolean {
  return (passwordFile ?? passwordCommand) !== undefined;
}

/** Returns how often to show progress per second, if the environment sets that. */
export function readProgressFps(environment: NodeJS.ProcessEnv): number | undefined {
  const parse = (text: string): number | undefined => {
    const fps = Number(text);
    return fps > 0 && fps <= MAX_FPS ? fps : undefined;
  };
  const wanted = `a number above 0 and up to ${MAX_FPS}, such as 1 or 0.1`;
  return readVariable(environment, 'LDM_PROGRESS_FPS', { parse, wanted });
}

/** An empty value is an error: a script that sets one has probably lost the real value. */
export function readVariable<T>(
  environment: NodeJS.ProcessEnv,
  name: string,
  { parse, wanted }: { readonly parse: (text: string) => T | undefined; readonly wanted: string },
): T | undefined {
  const text = environment[name];
  if (text === undefined) return undefined;
  const value = text === '' ? undefined : parse(text);
  if (value !== undefined) return value;
  throw new UsageError(text === '' ? `${name} is empty` : `${name} is ${JSON.stringify(text)}`, {
    hint: `Give ${wanted}, or remove the variable.`,
  });
}

function parseFlag(text: string): boolean | undefined {
  if (TRUE_VALUES.includes(text)) return true;
  return FALSE_VALUES.includes(text) ? false : undefined;
}

function parseRate(text: string): number | undefined {
  const bytesPerSecond = parseSize(text);
  return bytesPerSecond === 0 ? undefined : bytesPerSecond;
}

function parseConnections(text: string): number | undefined {
  return /^([1-9]|[12]\d|3[0-2])$/.test(text) ? Number(text) : undefined;
}

function parseThreads(text: string): number | undefined {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
}

function parseMemory(text: string): number | undefined {
  const bytes = parseSize(text) ?? 0;
  return bytes < MEMORY_BYTES_MIN ? undefined : bytes;
}

function parseCount(text: string): number | undefined {
  return /^\d$/.test(text) ? Number(text) : undefined;
}

/** The options of every command, as commander provides them. */
export interface GlobalOptions {
  readonly repo?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose: number;
  readonly lockWait?: number;
  readonly progress: boolean;
  readonly retryFor?: number;
  readonly sshCommand?: string;
  readonly rcloneCommand?: string;
  readonly limitUpload?: number;
  readonly limitDownload?: number;
  readonly connections?: number;
  readonly s3Retention?: S3Retention;
  readonly s3StorageClass?: string;
  /** RFC 3339. */
  readonly s3AsOf?: string;
  readonly threads?: number;
  /** In bytes. */
  readonly memory?: number;
  readonly cache?: boolean;
  /** False if the repository is expected not to be encrypted, so that no password is for it. */
  readonly encryption?: boolean;
  readonly passwordFile?: string;
  readonly passwordCommand?: string;
  readonly profile?: string;
  /** Where the profile takes the password from. The options above are those of the command line. */
  readonly profilePassword?: PasswordOptions;
}
