import type { DirectoryPath } from '../../files/directory-path.ts';
import { heldDirectoryCount } from '../../files/held-directories.ts';
import { replaceTarget, temporaryPathBeside } from '../../files/target-file.ts';
import type { FilePlace } from '../../files/target-file.ts';
import { createSpecial, createSymlink, finishTargetDirectory } from '../../files/target-writer.ts';
import type { SpecialOutcome } from '../../files/target-writer.ts';
import type { TargetError } from '../../errors.ts';
import type { TargetPolicy } from '../../files/target-policy.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { shownPathOf } from '../../util/path-node.ts';
import type { Pacer, Progress } from '../context.ts';
import { copyChunks, decide, writeFile } from './file-restorer.ts';
import type { ChunksOfFile, FileDecision, OverwriteMode } from './file-restorer.ts';
import { HardlinkGroups } from './hardlink-groups.ts';
import { findDirectory, makeDirectory, openTarget } from './open-target.ts';
import type { OpenTarget } from './open-target.ts';
import { kindOf } from './restore-steps.ts';
import type { RestoreStep } from './restore-steps.ts';
import type { RestoreTally } from './restore-result.ts';
import { WriteBehind, type WriterThreads } from './write-behind.ts';

/** After this many more directories are held open, most of those above the current one are closed for a while. */
const HELD_MAX = 128;

/** Why an existing file or directory was kept. */
const KEPT = {
  refuse: 'exists and differs, and was kept (see --overwrite)',
  blocked: 'is a directory at the target, and was kept; move it away to restore the file',
};

/** The chunks of the next file. */
export interface FileChunks {
  sizeOf(count: number): number;
  next: ChunksOfFile['next'];
  skip(count: number): void;
}

export interface RestorerOptions {
  readonly target: ByteString;
  readonly policy: TargetPolicy;
  readonly threads: WriterThreads;
  readonly overwrite: OverwriteMode;
  readonly dryRun: boolean;
  readonly sparse: boolean;
  readonly chunks: FileChunks;
  readonly tally: RestoreTally;
  readonly pacer: Pacer;
  readonly progress: Progress | undefined;
}

/** Runs the steps of a restore. */
export class Restorer {
  readonly #options: RestorerOptions;
  readonly #directories: (OpenTarget | undefined)[];
  readonly #groups = new HardlinkGroups();
  readonly #behind: WriteBehind;
  #heldMax = HELD_MAX;

  constructor(options: RestorerOptions) {
    this.#options = options;
    this.#behind = new WriteBehind(options.policy, options.threads);
    this.#directories = [openTarget(options.target, options)];
  }

  /** Waits until everything is written to the target. */
  async finish(): Promise<void> {
    await this.#behind.finish();
  }

  /** When it returns, no thread works at the target any more. */
  async close(): Promise<void> {
    await this.#behind.stop();
    for (const directory of this.#directories) directory?.location.close();
  }

  /** `chunkCount`: the number of chunks in the sequence for this file; undefined if one of them is missing. */
  async run(step: RestoreStep, chunkCount: number | undefined): Promise<void> {
    const { tally } = this.#options;
    await this.#behind.makeRoom();
    if (heldDirectoryCount() >= this.#heldMax) await this.#restOuter();
    try {
      if (step.kind === 'unreadable') tally.fail(shownPathOf(step), step.error, 'directory');
      else if (step.kind === 'enter') this.#enter(step.entry);
      else if (step.kind === 'leave') this.#leave(step);
      else if (step.entry.type === 'file') await this.#restoreFile(step, chunkCount ?? 0);
      else this.#restoreOther(step);
    } catch (error) {
      if (step.kind === 'leave') tally.report(shownPathOf(step), error);
      else tally.fail(shownPathOf(step), error, kindOf(step));
    }
  }

  /** Closes most of the open directories above the current one. Waits first: pending writes have paths through them. */
  async #restOuter(): Promise<void> {
    await this.#behind.finish();
    this.#directories.findLast((directory) => directory !== undefined)?.location.restOuter();
    this.#heldMax = heldDirectoryCount() + HELD_MAX;
  }

  #enter(entry: TreeEntry): void {
    const parent = this.#directories.at(-1);
    // Everything below a directory that could not be created is skipped; the failure was reported once.
    let made: OpenTarget | undefined;
    try {
      if (parent !== undefined)
        made = this.#options.dryRun ? findDirectory(parent, entry.name) : makeDirectory(parent, entry.name);
    } finally {
      this.#directories.push(made);
    }
  }

  /** Sets the metadata of a directory last: pending writes would change its time, or may need permissions it loses. */
  #leave(step: RestoreStep): void {
    const directory = this.#directories.pop();
    if (directory === undefined) return;
    this.#behind.after((isDropped) => {
      if (this.#options.dryRun) this.#options.tally.directoriesRestored += 1;
      else if (!isDropped) this.#finishDirectory(step, directory.location);
      directory.location.close();
    });
  }

  #finishDirectory(step: RestoreStep, location: DirectoryPath): void {
    const { tally, policy } = this.#options;
    tally.directoriesRestored += 1;
    try {
      this.#note(step, finishTargetDirectory(location.prefix, step.entry, policy));
    } catch (error) {
      tally.report(shownPathOf(step), error);
    }
  }

  async #restoreFile(step: RestoreStep, chunkCount: number): Promise<void> {
    const { chunks, tally, dryRun, progress } = this.#options;
    const { entry } = step;
    const directory = this.#directories.at(-1);
    let used = 0;
    const next: ChunksOfFile['next'] = (action) => {
      used += 1;
      return chunks.next(action);
    };
    try {
      if (directory === undefined) return;
      const location = directory.location.childPath(entry.name);
      const decision = this.#decide(directory, location, entry);
      if (decision === 'unchanged') this.#groups.note(entry, directory.location, { isWritten: false });
      if (this.#isSettled(decision, step)) return;
      if (dryRun) return this.#countFile(entry);
      const replaces = decision === 'replace';
      if (this.#groups.link(entry, location, { replaces })) return this.#countFile(entry);
      const ofFile = { count: chunkCount, sizeBytes: chunks.sizeOf(chunkCount), next };
      await this.#writeFile(step, directory.location, { place: { path: location, replaces }, chunks: ofFile });
    } finally {
      chunks.skip(chunkCount - used);
      // Files that a thread is still writing count already: they are few, and complete before the restore ends.
      if (progress !== undefined) progress.filesDone += 1;
      if (entry.changedWhileRead)
        tally.note(shownPathOf(step), 'changed while it was backed up; it may mix old and new content', 'CHANGED');
    }
  }

  async #writeFile(
    step: RestoreStep,
    directory: DirectoryPath,
    { place, chunks }: { readonly place: FilePlace; readonly chunks: ChunksOfFile },
  ): Promise<void> {
    const { entry } = step;
    const { policy, pacer, sparse, tally } = this.#options;
    const onWritten = (failure: TargetError | undefined): void => {
      this.#note(step, failure);
      this.#countFile(entry);
    };
    // A file with hard links is written here, because its other names can be linked only to an existing file.
    if (entry.hardlink === undefined && this.#behind.takes(chunks.sizeBytes)) {
      const onFailed = (error: unknown): void => tally.fail(shownPathOf(step), error, 'file');
      await copyChunks(this.#behind.roomFor(chunks.sizeBytes), chunks);
      this.#behind.add({ place, metadata: entry, sizeBytes: chunks.sizeBytes, onWritten, onFailed });
      return;
    }
    this.#behind.start();
    const failure = await writeFile(place, entry, chunks, { policy, pacer, sparse });
    if (!this.#groups.join(entry, place.path)) this.#groups.note(entry, directory, { isWritten: true });
    onWritten(failure);
  }

  /** A directory created by this restore is empty, so nothing is looked up. Files are created exclusively anyway. */
  #decide({ isNew }: OpenTarget, location: ByteString, entry: TreeEntry): FileDecision {
    return isNew ? 'create' : decide(location, entry, this.#options.overwrite);
  }

  /** Counts a file that is not written because of what exists at its path. Returns whether nothing is left to do. */
  #isSettled(decision: FileDecision, step: RestoreStep): boolean {
    const { tally } = this.#options;
    if (decision === 'unchanged') tally.filesUnchanged += 1;
    if (decision === 'keep' || decision === 'refuse' || decision === 'blocked') tally.filesKept += 1;
    if (decision === 'refuse' || decision === 'blocked') tally.note(shownPathOf(step), KEPT[decision], 'EXISTS');
    return decision !== 'create' && decision !== 'replace';
  }

  #restoreOther(step: RestoreStep): void {
    const { entry } = step;
    const { tally, dryRun } = this.#options;
    // A socket is useless without its program, which creates it at startup and may refuse to if it exists.
    if (entry.type === 'socket') {
      tally.socketsSkipped += 1;
      return;
    }
    const directory = this.#directories.at(-1);
    if (directory === undefined) return;
    const location = directory.location.childPath(entry.name);
    const decision = this.#decide(directory, location, entry);
    if (decision === 'unchanged') this.#groups.note(entry, directory.location, { isWritten: false });
    if (this.#isSettled(decision, step)) return;
    const replaces = decision === 'replace';
    if (!dryRun && !this.#groups.link(entry, location, { replaces })) {
      const { skipped, failure } = this.#makeOther(entry, location, { replaces });
      this.#note(step, failure);
      if (skipped !== undefined) {
        tally.othersFailed += 1;
        return tally.note(shownPathOf(step), 'is a device file, which only root can create', 'SKIPPED');
      }
      this.#groups.note(entry, directory.location, { isWritten: true });
    }
    tally.othersRestored += 1;
  }

  /** An existing file stays until its replacement is complete. */
  #makeOther(entry: TreeEntry, location: ByteString, { replaces }: { readonly replaces: boolean }): SpecialOutcome {
    const { policy } = this.#options;
    const workPath = replaces ? temporaryPathBeside(location) : location;
    const outcome: SpecialOutcome =
      entry.type === 'symlink'
        ? { skipped: undefined, failure: createSymlink(workPath, entry, policy) }
        : createSpecial(workPath, entry, policy);
    if (replaces && outcome.skipped === undefined) replaceTarget(workPath, location);
    return outcome;
  }

  #countFile(entry: TreeEntry): void {
    const { tally, progress } = this.#options;
    tally.filesRestored += 1;
    tally.bytesRestored += entry.sizeBytes;
    if (progress !== undefined) progress.bytesDone += entry.sizeBytes;
  }

  #note(step: RestoreStep, failure: TargetError | undefined): void {
    if (failure !== undefined) this.#options.tally.note(shownPathOf(step), failure.message, failure.code);
  }
}
