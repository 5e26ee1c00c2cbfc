import type { Advice } from './util/advice.ts';
import type { ByteString } from './util/byte-string.ts';

/** Details of an error that a user may see, besides its message. */
export interface ErrorDetails {
  /** What to do about it, as one sentence that names no command. */
  readonly hint?: string | undefined;
  readonly advice?: Advice | undefined;
  readonly cause?: unknown;
}

/**
 * An expected failure: something outside the program is wrong, such as a disk, a file or the command line. Programming
 * errors are plain `Error`s or failed assertions instead, and are not caught.
 */
export class LdmError extends Error {
  /** Stable name for scripts. */
  readonly code: string = 'ERROR';
  readonly hint: string | undefined;
  readonly advice: Advice | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.hint = details.hint;
    this.advice = details.advice;
  }
}

/** The command line, the environment or a configuration value is wrong. */
export class UsageError extends LdmError {
  override readonly code: string = 'USAGE';
}

export class RepositoryNotFoundError extends LdmError {
  override readonly code: string = 'REPOSITORY_NOT_FOUND';
}

export class RepositoryLockedError extends LdmError {
  override readonly code: string = 'REPOSITORY_LOCKED';
}

/** The repository or one of its files needs a different version of ldm. */
export class UnsupportedFormatError extends LdmError {
  override readonly code: string = 'UNSUPPORTED_FORMAT';
}

/** A password is needed, and there is none. */
export class NoPasswordError extends LdmError {
  override readonly code: string = 'NO_PASSWORD';
}

/** The password opens no key of the repository. */
export class WrongPasswordError extends LdmError {
  override readonly code: string = 'WRONG_PASSWORD';
}

/** A repository without encryption where this machine has seen an encrypted one. */
export class RepositoryChangedError extends LdmError {
  override readonly code: string = 'REPOSITORY_CHANGED';
}

/** Bytes in the repository differ from those that were written. */
export class CorruptDataError extends LdmError {
  override readonly code: string = 'CORRUPT_DATA';
}

/** A part of the installation is missing or broken. Thrown before a repository is opened; never a sign of damage. */
export class InstallationError extends LdmError {
  override readonly code: string = 'INSTALLATION';
}

/**
 * What a failure of the place of the repository means, whatever kind of place that is:
 * - `absent`: the file or directory does not exist.
 * - `no-directory`: something on the way to it is not a directory.
 * - `exists`: there is a file with that name already.
 * - `full`: no space left, or the quota is used up.
 * - `denied`: this user may not do that.
 * - `read-only`: writing there is not possible now.
 * - `damaged`: the place cannot read what it stored.
 * - `offline`: the part of the place that has it, or may have it, cannot be reached. Nothing is known to be lost.
 * - `transient`: it may work later, such as after a timeout. Says nothing about what is stored.
 * - `other`: anything else. Says nothing about what is stored either.
 */
export type BackendErrorKind =
  | 'absent'
  | 'no-directory'
  | 'exists'
  | 'full'
  | 'denied'
  | 'read-only'
  | 'damaged'
  | 'offline'
  | 'transient'
  | 'other';

/** Reading or writing the repository failed. It cannot be skipped: the command ends. */
export class BackendError extends LdmError {
  override readonly code: string = 'BACKEND';
  readonly kind: BackendErrorKind;
  /** The name of the system error, such as ENOSPC, to be shown. Not every kind of place has one. */
  readonly errno: string | undefined;

  constructor(
    message: string,
    details: ErrorDetails & { readonly kind: BackendErrorKind; readonly errno?: string | undefined },
  ) {
    super(message, details);
    this.kind = details.kind;
    this.errno = details.errno;
  }

  rephrase(message: string, hint: string | undefined = this.hint): BackendError {
    const Kind = this instanceof UnreliableReadError ? UnreliableReadError : BackendError;
    return new Kind(message, { kind: this.kind, errno: this.errno, hint, advice: this.advice, cause: this });
  }
}

/** Every read of a file gave other wrong bytes: something damages them on the way. Says nothing about what is stored. */
export class UnreliableReadError extends BackendError {
  override readonly code: string = 'UNRELIABLE_READ';
}

/** The repository does not have the bytes of a chunk: another domain keeps them, and did not give them. */
export class BorrowedChunkError extends BackendError {
  /** The repository id of the domain: 64 hex digits. */
  readonly domainId: string;

  constructor(domainId: string, message: string, details: ErrorDetails = {}) {
    super(message, { ...details, kind: 'offline' });
    this.domainId = domainId;
  }
}

function isOfKind(error: unknown, kind: BackendErrorKind): error is BackendError {
  return error instanceof BackendError && error.kind === kind;
}

/** Returns whether the requested file or directory is missing from the repository. */
export function isAbsent(error: unknown): error is BackendError {
  return isOfKind(error, 'absent');
}

export function isDiskFull(error: unknown): error is BackendError {
  return isOfKind(error, 'full');
}

/** Returns whether this user may not read or write something. */
export function isDenied(error: unknown): error is BackendError {
  return isOfKind(error, 'denied');
}

/** Returns whether a place takes nothing new, although it can be reached and has room: it may be failing. */
export function isWriteRefused(error: unknown): error is BackendError {
  return isOfKind(error, 'read-only') || isDenied(error) || isOfKind(error, 'damaged');
}

/** Returns whether a part of the repository cannot be read now, because a part of its place cannot be reached. */
export function isOffline(error: unknown): error is BackendError {
  return isOfKind(error, 'offline');
}

/**
 * Returns whether a part of the repository cannot be used: its bytes are wrong, the disk cannot read them, this user may
 * not, or they are offline. Only a `CorruptDataError` surely means that it is lost.
 */
export function isDamage(error: unknown): error is CorruptDataError | BackendError {
  return error instanceof CorruptDataError || isOfKind(error, 'damaged') || isDenied(error) || isOffline(error);
}

/** Details of an error about one path of a source or target, besides the message. */
export interface PathErrorDetails extends ErrorDetails {
  /** The name of the system error, such as EACCES. */
  readonly errno?: string | undefined;
  /** The raw path; escape it before printing it. */
  readonly path?: ByteString | undefined;
}

/** Something is wrong with one path of a source or target. */
class PathError extends LdmError {
  readonly errno: string | undefined;
  readonly path: ByteString | undefined;

  constructor(message: string, details: PathErrorDetails = {}) {
    super(message, details);
    this.errno = details.errno;
    this.path = details.path;
  }
}

/** A source could not be read. It is skipped: the rest is saved and the command exits with 3. */
export class SourceError extends PathError {
  override readonly code: string = 'SOURCE';
}

/** An archive to be imported is damaged, incomplete, or of an unknown format. */
export class ArchiveError extends LdmError {
  override readonly code: string = 'ARCHIVE';
}

/** A file could not be written at the target of a restore. */
export class TargetError extends PathError {
  override readonly code: string = 'TARGET';
}

export class SnapshotNotFoundError extends LdmError {
  override readonly code: string = 'SNAPSHOT_NOT_FOUND';
}

/** The state of the repository does not allow the requested operation. */
export class RefusedError extends LdmError {
  override readonly code: string = 'REFUSED';
}

/** An optional package that is needed is not installed or cannot be loaded. */
export class MissingPackageError extends LdmError {
  override readonly code: string = 'MISSING_PACKAGE';
}

/** Snapshots cannot be shown as a file system at a place. */
export class MountError extends LdmError {
  override readonly code: string = 'MOUNT';
}

/** A directory cannot be served, or its client does not speak SFTP. */
export class ServeError extends LdmError {
  override readonly code: string = 'SERVE';
}

/** A filter has no room for another id. Its contents are unchanged. */
export class FilterFullError extends LdmError {
  override readonly code: string = 'FILTER_FULL';
}

export type InterruptionSignal = 'SIGHUP' | 'SIGINT' | 'SIGTERM';

export class CancelledError extends LdmError {
  override readonly code: string = 'CANCELLED';
  readonly signal: InterruptionSignal | undefined;
  /** What was completed before the interruption. */
  readonly completed: 'delete' | undefined;

  constructor(signal: InterruptionSignal | undefined, completed?: 'delete') {
    const end = completed === undefined ? '' : ': the snapshots are deleted';
    super(signal === undefined ? `cancelled${end}` : `interrupted by ${signal}${end}`);
    this.signal = signal;
    this.completed = completed;
  }
}
