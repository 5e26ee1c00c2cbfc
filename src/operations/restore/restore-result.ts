import { LdmError, TargetError, isDamage } from '../../errors.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { TreeStep } from '../../repository/tree-walk.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { shownPathOf } from '../../util/path-node.ts';
import type { PathNode } from '../../util/path-node.ts';
import type { Progress } from '../context.ts';
import type { FileDecision } from './overwrite.ts';

/** Why an existing file or directory was kept. */
const KEPT = {
  refuse: ['exists and differs, and was kept', 'EXISTS'],
  blocked: ['is a directory at the target, and was kept; move it away to restore the file', 'IS_DIRECTORY'],
} as const;

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
  /** How often a block with content of files was read. */
  readonly blocksRead: number;
  /** The number of different blocks among them. A restore that fits into the memory of one plan reads each once. */
  readonly blocksNeeded: number;
  readonly problems: readonly RestoreProblem[];
}

/** The parts of a step that are counted and reported. */
export interface TalliedStep extends PathNode {
  readonly kind: TreeStep['kind'];
  readonly entry: Pick<TreeEntry, 'type' | 'sizeBytes' | 'changedWhileRead'>;
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
  readonly #progress: Progress | undefined;

  constructor(onProblem: (problem: RestoreProblem) => void, progress: Progress | undefined) {
    this.#onProblem = onProblem;
    this.#progress = progress;
  }

  /** Every file must be reported exactly once, by this method or by one that calls it. */
  fileDone(step: TalliedStep): void {
    if (this.#progress !== undefined) this.#progress.filesDone += 1;
    if (step.entry.changedWhileRead)
      this.note(step, 'changed while it was backed up; it may mix old and new content', 'CHANGED');
  }

  /** Counts a restored file; it is done. */
  countFile(step: TalliedStep): void {
    const { sizeBytes } = step.entry;
    this.filesRestored += 1;
    this.bytesRestored += sizeBytes;
    if (this.#progress !== undefined) this.#progress.bytesDone += sizeBytes;
    this.fileDone(step);
  }

  /** Counts a file that is not written because of what exists at its path. Returns whether it is done. */
  isSettled(decision: FileDecision, step: TalliedStep): boolean {
    if (decision === 'create' || decision === 'replace') return false;
    if (decision === 'unchanged') this.filesUnchanged += 1;
    else this.filesKept += 1;
    if (decision === 'refuse' || decision === 'blocked') {
      const [message, code] = KEPT[decision];
      this.note(step, message, code);
    }
    if (step.entry.type === 'file') this.fileDone(step);
    return true;
  }

  /** Counts an entry that was not restored; if it is a file, it is done. Throws like `report`. */
  fail(step: TalliedStep, error: unknown): void {
    this.report(step, error);
    if (step.kind !== 'entry') this.directoriesFailed += 1;
    else if (step.entry.type !== 'file') this.othersFailed += 1;
    else {
      this.filesFailed += 1;
      this.fileDone(step);
    }
  }

  /** Records an error of the target or damage in the repository. Throws any other error, which ends the restore. */
  report(step: TalliedStep, error: unknown): void {
    if (!(error instanceof TargetError || isDamage(error))) throw error;
    if (error instanceof TargetError && error.errno === 'ENOSPC') throw fullTarget(error);
    this.note(step, error.message, error.code);
  }

  /** Records metadata that could not be set. */
  noteFailure(step: TalliedStep, failure: TargetError | undefined): void {
    if (failure !== undefined) this.note(step, failure.message, failure.code);
  }

  note(step: TalliedStep, message: string, code: string): void {
    const problem = { path: shownPathOf(step), message, code };
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
    advice: { code: 'free-space-and-repeat-restore' },
  });
}
