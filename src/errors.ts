import type { ByteString } from './util/byte-string.ts';

/** What every error that a user may see carries besides its message. */
export interface ErrorDetails {
  /** What to do about it, as one sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * An expected failure: something outside the program (a disk, a file, a command line) is not as it must be.
 * Programmer errors are plain `Error`s or failed assertions instead, and nobody catches those.
 */
export class LdmError extends Error {
  /** Stable name for scripts. */
  readonly code: string = 'ERROR';
  /** What the process exits with when this error ends a command. */
  readonly exitCode: number = 1;
  readonly hint: string | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.hint = details.hint;
  }
}

/** The command line, the environment or a configuration value is wrong. */
export class UsageError extends LdmError {
  override readonly code: string = 'USAGE';
  override readonly exitCode: number = 2;
}

export class RepositoryNotFoundError extends LdmError {
  override readonly code: string = 'REPOSITORY_NOT_FOUND';
  override readonly exitCode: number = 10;
}

export class RepositoryLockedError extends LdmError {
  override readonly code: string = 'REPOSITORY_LOCKED';
  override readonly exitCode: number = 11;
}

/** The repository, or one of its files, needs another version of ldm. */
export class UnsupportedFormatError extends LdmError {
  override readonly code: string = 'UNSUPPORTED_FORMAT';
}

/** Bytes in the repository are not what was written. */
export class CorruptDataError extends LdmError {
  override readonly code: string = 'CORRUPT_DATA';
}

/** A part of ldm's installation is missing or does not work. Thrown before a repository is opened; never a sign of damage. */
export class InstallationError extends LdmError {
  override readonly code: string = 'INSTALLATION';
}

/** Reading or writing the repository's storage failed. Never skippable: the command ends. */
export class BackendError extends LdmError {
  override readonly code: string = 'BACKEND';
  /** The system's error name, such as ENOSPC. */
  readonly errno: string | undefined;

  constructor(message: string, details: ErrorDetails & { readonly errno?: string | undefined } = {}) {
    super(message, details);
    this.errno = details.errno;
  }
}

/** Whether the repository lacks the file or directory that was asked for. */
export function isAbsent(error: unknown): error is BackendError {
  return error instanceof BackendError && error.errno === 'ENOENT';
}

export function isDiskFull(error: unknown): error is BackendError {
  return error instanceof BackendError && (error.errno === 'ENOSPC' || error.errno === 'EDQUOT');
}

/** Whether a part of the repository is lost, by wrong bytes or by a place that the disk cannot read; the rest is not. */
export function isDamage(error: unknown): error is CorruptDataError | BackendError {
  return error instanceof CorruptDataError || (error instanceof BackendError && error.errno === 'EIO');
}

/** What an error about one path of the user's file trees carries besides the message. */
export interface PathErrorDetails extends ErrorDetails {
  /** The system's error name, such as EACCES. */
  readonly errno?: string | undefined;
  /** The raw path; escape it before it reaches a terminal. */
  readonly path?: ByteString | undefined;
}

/** A backed-up source could not be read. Skippable: the rest is saved and the command exits with 3. */
export class SourceError extends LdmError {
  override readonly code: string = 'SOURCE';
  readonly errno: string | undefined;
  readonly path: ByteString | undefined;

  constructor(message: string, details: PathErrorDetails = {}) {
    super(message, details);
    this.errno = details.errno;
    this.path = details.path;
  }
}

/** Something could not be written where a restore puts it. */
export class TargetError extends LdmError {
  override readonly code: string = 'TARGET';
  readonly errno: string | undefined;
  readonly path: ByteString | undefined;

  constructor(message: string, details: PathErrorDetails = {}) {
    super(message, details);
    this.errno = details.errno;
    this.path = details.path;
  }
}

export class SnapshotNotFoundError extends LdmError {
  override readonly code: string = 'SNAPSHOT_NOT_FOUND';
}

/** The state of the repository does not allow what was asked. */
export class RefusedError extends LdmError {
  override readonly code: string = 'REFUSED';
}

/** An optional package is needed that is not installed, or cannot be loaded. */
export class MissingPackageError extends LdmError {
  override readonly code: string = 'MISSING_PACKAGE';
}

/** A filter has no room for another id. It holds what it held before. */
export class FilterFullError extends LdmError {
  override readonly code: string = 'FILTER_FULL';
}

/** The signals that end a command in good order, with the exit code that a shell gives for each: 128 + its number. */
const INTERRUPTION_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type InterruptionSignal = keyof typeof INTERRUPTION_EXIT_CODES;

export class CancelledError extends LdmError {
  override readonly code: string = 'CANCELLED';
  override readonly exitCode: number;

  readonly #signal: InterruptionSignal;

  /** `state`: what was completed before the interruption. */
  constructor(signal: InterruptionSignal, state?: string) {
    super(`interrupted by ${signal}${state === undefined ? '' : `: ${state}`}`);
    this.#signal = signal;
    this.exitCode = INTERRUPTION_EXIT_CODES[signal];
  }

  /** The same error, with what was completed before the interruption. */
  during(state: string): CancelledError {
    return new CancelledError(this.#signal, state);
  }
}
