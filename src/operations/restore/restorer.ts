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
import { WriteBehind } from './write-behind.ts';

/** So many more directories may be held open before most of those above the current one are closed for a while. */
const HELD_MAX = 128;

/** The chunks of the file that is next in line. */
export interface FileChunks {
  sizeOf(count: number): number;
  next: ChunksOfFile['next'];
  skip(count: number): void;
}

export interface RestorerOptions {
  readonly target: ByteString;
  readonly policy: TargetPolicy;
  readonly overwrite: OverwriteMode;
  readonly dryRun: boolean;
  readonly sparse: boolean;
  readonly chunks: FileChunks;
  readonly tally: RestoreTally;
  readonly pacer: Pacer;
  readonly progress: Progress | undefined;
}

/** Carries out the steps of a restore. */
export class Restorer {
  readonly #options: RestorerOptions;
  readonly #directories: (OpenTarget | undefined)[];
  readonly #groups = new HardlinkGroups();
  readonly #behind: WriteBehind;
  #heldMax = HELD_MAX;

  constructor(options: RestorerOptions) {
    this.#options = options;
    const { dryRun, target, policy } = options;
    this.#behind = new WriteBehind(policy);
    this.#directories = [openTarget(target, { dryRun })];
  }

  /** Waits until everything is at the target. */
  async finish(): Promise<void> {
    await this.#behind.finish();
  }

  /** When it returns, nobody works at the target any more. */
  async close(): Promise<void> {
    await this.#behind.stop();
    for (const directory of this.#directories) directory?.location.close();
  }

  /** `chunkCount` is how many chunks the sequence holds for a file; undefined if one of them is missing. */
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

  /** Closes most of the open directories above the current one. Files that are being written have paths through them. */
  async #restOuter(): Promise<void> {
    await this.#behind.finish();
    this.#directories.findLast((directory) => directory !== undefined)?.location.restOuter();
    this.#heldMax = heldDirectoryCount() + HELD_MAX;
  }

  #enter(entry: TreeEntry): void {
    const parent = this.#directories.at(-1);
    // What lies below a directory that could not be made is passed over; its failure was reported once.
    let made: OpenTarget | undefined;
    try {
      if (parent !== undefined)
        made = this.#options.dryRun ? findDirectory(parent, entry.name) : makeDirectory(parent, entry.name);
    } finally {
      this.#directories.push(made);
    }
  }

  /** What is still to be written into a directory would move its time, and may need rights that it is to lose. */
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
      // One that a thread writes counts from here on: they are few, and done before the end is told.
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
    // Other names can be linked only to what is there.
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

  /** In a directory that this restore made there is nothing to look for; files are created exclusively all the same. */
  #decide({ isNew }: OpenTarget, location: ByteString, entry: TreeEntry): FileDecision {
    return isNew ? 'create' : decide(location, entry, this.#options.overwrite);
  }

  /** Whether nothing is left to do for a file, because of what has its name. */
  #isSettled(decision: FileDecision, step: RestoreStep): boolean {
    const { tally } = this.#options;
    if (decision === 'unchanged') tally.filesUnchanged += 1;
    if (decision === 'keep' || decision === 'refuse' || decision === 'blocked') tally.filesKept += 1;
    if (decision === 'refuse')
      tally.note(shownPathOf(step), 'exists and differs, and was kept (see --overwrite)', 'EXISTS');
    if (decision === 'blocked')
      tally.note(
        shownPathOf(step),
        'is a directory at the target, and was kept; move it away to restore the file',
        'EXISTS',
      );
    return decision !== 'create' && decision !== 'replace';
  }

  #restoreOther(step: RestoreStep): void {
    const { entry } = step;
    const { tally, dryRun } = this.#options;
    // A socket is of no use without its program, which creates it when it starts, and may refuse to if there is one.
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
    if (dryRun) {
      tally.othersRestored += 1;
      return;
    }
    const replaces = decision === 'replace';
    if (!this.#groups.link(entry, location, { replaces })) {
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

  /** What has the name stays until what replaces it has been made. */
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
