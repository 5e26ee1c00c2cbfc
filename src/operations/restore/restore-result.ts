import { LdmError, TargetError, isDamage } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';

/** An entry that differs at the target from the snapshot. */
export interface RestoreProblem {
  readonly path: ByteString;
  readonly message: string;
  /** The code of the error. */
  readonly code: string;
}

export interface RestoreResult {
  readonly snapshotId: string;
  readonly target: string;
  readonly filesRestored: number;
  /** They existed with the same size and time. */
  readonly filesUnchanged: number;
  /** They existed, differ, and were kept. */
  readonly filesKept: number;
  /** They could not be restored: they are damaged in the repository, or could not be written. */
  readonly filesFailed: number;
  readonly directoriesRestored: number;
  /** Nothing below them was restored either: they are damaged in the repository, or could not be created. */
  readonly directoriesFailed: number;
  /** Symlinks, FIFOs and devices. */
  readonly othersRestored: number;
  readonly othersFailed: number;
  /** Sockets are not restored: the programs that listen on them create them. */
  readonly socketsSkipped: number;
  readonly bytesRestored: number;
  readonly problems: readonly RestoreProblem[];
}

/** Counts the results and collects the problems of a restore. */
export class RestoreTally {
  filesRestored = 0;
  filesUnchanged = 0;
  filesKept = 0;
  filesFailed = 0;
  directoriesRestored = 0;
  directoriesFailed = 0;
  othersRestored = 0;
  othersFailed = 0;
  socketsSkipped = 0;
  bytesRestored = 0;
  readonly problems: RestoreProblem[] = [];
  readonly #onProblem: (problem: RestoreProblem) => void;

  constructor(onProblem: (problem: RestoreProblem) => void) {
    this.#onProblem = onProblem;
  }

  /** Counts an entry that was not restored; `kind` is its kind. Throws like `report`. */
  fail(path: ByteString, error: unknown, kind: 'file' | 'directory' | 'other'): void {
    this.report(path, error);
    if (kind === 'file') this.filesFailed += 1;
    else if (kind === 'directory') this.directoriesFailed += 1;
    else this.othersFailed += 1;
  }

  /** Records an error of the target or damage in the repository. Throws any other error, which ends the restore. */
  report(path: ByteString, error: unknown): void {
    if (!(error instanceof TargetError || isDamage(error))) throw error;
    if (error instanceof TargetError && error.errno === 'ENOSPC') throw fullTarget(error);
    this.note(path, error.message, error.code);
  }

  note(path: ByteString, message: string, code: string): void {
    const problem = { path, message, code };
    this.problems.push(problem);
    this.#onProblem(problem);
  }
}

/** A full target ends the restore: every further file would fail in the same way. */
function fullTarget(cause: TargetError): LdmError {
  return new TargetError(`the target is full: ${cause.message}`, {
    path: cause.path,
    errno: cause.errno,
    cause,
    hint: 'Free some space and run the restore again with `--overwrite if-changed`.',
  });
}
