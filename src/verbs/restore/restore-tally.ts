import { LdmError, TargetError, isDamage } from '../../core/errors.ts';
import { AttributesError } from '../../core/files/target/target-attributes.ts';
import type { AttributesToSet } from '../../core/files/target/target-attributes.ts';
import type { OwnedEntry } from '../../core/files/target/target-policy.ts';
import type { RemovedEntry } from '../../core/files/target/target-removal.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { pathOf, shownPathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { Progress, RestoreProgress } from '../../core/session/progress.ts';
import type { AttributeTally } from './attribute-tally.ts';
import type { FileDecision } from './overwrite.ts';
import type { RestoreAction, RestoreResult, RestoredEntry } from './restore-result.ts';
import type { RestoreProblem } from '../../core/session/notices.ts';

/** Why an existing file or directory was kept. */
const KEPT = {
  refuse: ['exists and differs, and was kept', 'EXISTS'],
  blocked: ['is a directory at the target, and was kept; move it away to restore the file', 'IS_DIRECTORY'],
} as const;

/** The parts of a step that are counted and reported. */
export interface TalliedStep extends PathNode {
  readonly kind: TreeStep['kind'];
  readonly entry: Pick<TreeEntry, 'type' | 'sizeBytes' | 'changedWhileRead'> & OwnedEntry & AttributesToSet;
}

/** A file that was restored. */
interface TalliedFile extends TalliedStep {
  readonly replaces: boolean;
  /** The bytes that were not written, because the existing file had them. */
  readonly keptBytes: number;
}

interface RestoreTallyOptions {
  readonly onProblem: (problem: RestoreProblem) => void;
  readonly onEntry?: ((entry: RestoredEntry) => void) | undefined;
  readonly progress?: Progress | undefined;
  readonly attributes: AttributeTally;
  /** Whether `isUnrestored` will be used. */
  readonly remembersUnrestored?: boolean;
}

/** The counts of a result that a tally keeps. */
type TalliedCounts = Omit<
  RestoreResult,
  'snapshotId' | 'target' | 'blocksRead' | 'blocksNeeded' | 'includesUnmatched' | 'excludesUnmatched' | 'fetched'
>;

/** Counts the results and collects the problems of a restore. */
export class RestoreTally implements Omit<TalliedCounts, 'attributesIncomplete' | 'attributesUnset'>, RestoreProgress {
  filesRestored = 0;
  filesUnchanged = 0;
  filesKept = 0;
  filesFailed = 0;
  directoriesRestored = 0;
  directoriesFailed = 0;
  othersRestored = 0;
  othersFailed = 0;
  socketsSkipped = 0;
  filesDeleted = 0;
  directoriesDeleted = 0;
  deletesFailed = 0;
  filesVerified = 0;
  bytesVerified = 0;
  verifiesFailed = 0;
  bytesTotal = 0;
  bytesRestored = 0;
  bytesSkipped = 0;
  readonly problems: RestoreProblem[] = [];
  /** The paths of what was not restored. */
  readonly #unrestored = new Set<ByteString>();
  readonly #options: RestoreTallyOptions;
  readonly #progress: Progress | undefined;

  constructor(options: RestoreTallyOptions) {
    this.#options = options;
    this.#progress = options.progress;
    if (options.progress !== undefined) options.progress.restored = this;
  }

  get filesSkipped(): number {
    return this.filesUnchanged + this.filesKept;
  }

  get result(): TalliedCounts {
    const { filesRestored, filesUnchanged, filesKept, filesFailed, directoriesRestored, directoriesFailed } = this;
    const { othersRestored, othersFailed, socketsSkipped, filesDeleted, directoriesDeleted, deletesFailed } = this;
    const { entryCount: attributesIncomplete, counts: attributesUnset } = this.#options.attributes;
    const { filesVerified, bytesVerified, verifiesFailed } = this;
    const { bytesTotal, bytesRestored, bytesSkipped, problems } = this;
    return {
      filesRestored,
      filesUnchanged,
      filesKept,
      filesFailed,
      directoriesRestored,
      directoriesFailed,
      othersRestored,
      othersFailed,
      socketsSkipped,
      filesDeleted,
      directoriesDeleted,
      deletesFailed,
      filesVerified,
      bytesVerified,
      verifiesFailed,
      bytesTotal,
      bytesRestored,
      bytesSkipped,
      attributesIncomplete,
      attributesUnset,
      problems,
    };
  }

  /** Every file must be reported exactly once, by this method or by one that calls it. */
  fileDone(step: TalliedStep): void {
    this.bytesTotal += step.entry.sizeBytes;
    if (this.#progress !== undefined) this.#progress.filesDone += 1;
    if (step.entry.changedWhileRead)
      this.note(step, 'changed while it was backed up; it may mix old and new content', 'CHANGED');
  }

  /** Counts a restored file; it is done. */
  countFile(file: TalliedFile): void {
    const { sizeBytes } = file.entry;
    this.filesRestored += 1;
    this.bytesRestored += sizeBytes - file.keptBytes;
    this.bytesSkipped += file.keptBytes;
    if (this.#progress !== undefined) this.#progress.bytesDone += sizeBytes;
    this.#list(file, file.replaces ? 'updated' : 'restored');
    this.fileDone(file);
  }

  /** Counts a restored symlink or special file. */
  countOther(step: TalliedStep, { replaces }: { readonly replaces: boolean }): void {
    this.othersRestored += 1;
    this.#list(step, replaces ? 'updated' : 'restored');
  }

  countDirectory(step: TalliedStep, { isNew }: { readonly isNew: boolean }): void {
    this.directoriesRestored += 1;
    this.#list(step, isNew ? 'restored' : 'unchanged');
  }

  countDeleted({ place, type, sizeBytes }: RemovedEntry): void {
    if (type === 'directory') this.directoriesDeleted += 1;
    else this.filesDeleted += 1;
    this.#options.onEntry?.({ path: shownPathOf(place), action: 'deleted', type, sizeBytes });
  }

  failDelete(place: PathNode, error: Pick<RestoreProblem, 'message' | 'code'>): void {
    this.deletesFailed += 1;
    this.note(place, error.message, error.code);
  }

  #noteUnrestored(step: PathNode): void {
    if (this.#options.remembersUnrestored === true) this.#unrestored.add(pathOf(step));
  }

  /** Returns whether a file or directory was kept or could not be restored, and so differs from the snapshot. */
  isUnrestored(place: PathNode): boolean {
    return this.#unrestored.size > 0 && this.#unrestored.has(pathOf(place));
  }

  countVerified(step: TalliedStep): void {
    this.filesVerified += 1;
    this.bytesVerified += step.entry.sizeBytes;
  }

  /** Records a file that does not have the content of the snapshot. */
  failVerify(step: PathNode, message: string): void {
    this.verifiesFailed += 1;
    this.note(step, message, 'NOT_VERIFIED');
  }

  #list(step: TalliedStep, action: RestoreAction): void {
    const { onEntry } = this.#options;
    if (onEntry === undefined) return;
    const { type, sizeBytes } = step.entry;
    onEntry({ path: shownPathOf(step), action, type, sizeBytes: type === 'file' ? sizeBytes : 0 });
  }

  /** Counts a file that is not written because of what exists at its path. Returns whether it is done. */
  isSettled(decision: FileDecision, step: TalliedStep): boolean {
    if (decision === 'create' || decision === 'replace') return false;
    if (decision === 'unchanged') this.filesUnchanged += 1;
    else {
      this.filesKept += 1;
      this.#noteUnrestored(step);
    }
    if (decision === 'refuse' || decision === 'blocked') {
      const [message, code] = KEPT[decision];
      this.note(step, message, code);
    }
    this.#list(step, 'unchanged');
    if (step.entry.type === 'file') {
      this.bytesSkipped += step.entry.sizeBytes;
      if (this.#progress !== undefined) this.#progress.bytesDone += step.entry.sizeBytes;
      this.fileDone(step);
    }
    return true;
  }

  /** Counts an entry that was not restored; if it is a file, it is done. Throws like `report`. */
  fail(step: TalliedStep, error: unknown): void {
    this.report(step, error);
    this.#noteUnrestored(step);
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

  /** Records metadata that could not be set. Call it for each entry whose metadata was to be set. */
  noteFailure(step: TalliedStep, failure: TargetError | undefined): void {
    const { attributes } = this.#options;
    const other = failure instanceof AttributesError ? failure.other : failure;
    if (other !== undefined) this.note(step, other.message, other.code);
    const message = attributes.add(step.entry, failure instanceof AttributesError ? failure.unset : []);
    if (message !== undefined) this.note(step, message, 'ATTRIBUTES');
  }

  note(place: PathNode, message: string, code: string): void {
    const problem = { path: shownPathOf(place), message, code };
    this.problems.push(problem);
    this.#options.onProblem(problem);
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
