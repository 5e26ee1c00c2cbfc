import { openDirectoryPath } from '../../files/directory-path.ts';
import type { DirectoryPath } from '../../files/directory-path.ts';
import { createSpecial, createSymlink, finishTargetDirectory, makeTargetDirectory } from '../../files/target-writer.ts';
import type { SpecialOutcome } from '../../files/target-writer.ts';
import type { TargetError } from '../../errors.ts';
import type { TargetPolicy } from '../../files/target-policy.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { Pacer, Progress } from '../context.ts';
import { decide, replaceTarget, temporaryPathBeside, writeFile } from './file-restorer.ts';
import type { FileDecision, OverwriteMode } from './file-restorer.ts';
import { HardlinkGroups } from './hardlink-groups.ts';
import type { RestoreStep } from './restore-steps.ts';
import type { RestoreTally } from './restore-result.ts';

/** The chunks of the file that is next in line. */
export interface FileChunks {
  next(): Uint8Array | Promise<Uint8Array>;
  skip(count: number): void;
}

export interface RestorerOptions {
  readonly target: ByteString;
  readonly policy: TargetPolicy;
  readonly overwrite: OverwriteMode;
  readonly dryRun: boolean;
  readonly chunks: FileChunks;
  readonly tally: RestoreTally;
  readonly pacer: Pacer;
  readonly progress: Progress | undefined;
}

/** A directory that is being filled. */
interface OpenTarget {
  readonly location: DirectoryPath;
  /** Whether this restore made it. */
  readonly isNew: boolean;
}

/** Carries out the steps of a restore. */
export class Restorer {
  readonly #options: RestorerOptions;
  readonly #directories: (OpenTarget | undefined)[];
  readonly #groups = new HardlinkGroups();

  constructor(options: RestorerOptions) {
    this.#options = options;
    const { dryRun, target } = options;
    this.#directories = [
      dryRun ? undefined : { location: openDirectoryPath(target, { side: 'target' }), isNew: false },
    ];
  }

  close(): void {
    for (const directory of this.#directories) directory?.location.close();
  }

  /** `chunkCount` is how many chunks the sequence holds for a file; undefined if one of them is missing. */
  async run(step: RestoreStep, chunkCount: number | undefined): Promise<void> {
    const { tally } = this.#options;
    try {
      if (step.kind === 'unreadable') tally.report(step.path, step.error);
      else if (step.kind === 'enter') this.#enter(step.entry);
      else if (step.kind === 'leave') this.#leave(step);
      else if (step.entry.type === 'file') await this.#restoreFile(step, chunkCount ?? 0);
      else this.#restoreOther(step);
    } catch (error) {
      tally.report(step.path, error);
    }
  }

  #enter(entry: TreeEntry): void {
    const parent = this.#directories.at(-1);
    // What lies below a directory that could not be made is passed over; its failure was reported once.
    let made: OpenTarget | undefined;
    try {
      if (parent !== undefined) {
        const isNew = makeTargetDirectory(parent.location.childPath(entry.name));
        made = { location: parent.location.enter(entry.name), isNew };
      }
    } finally {
      this.#directories.push(made);
    }
  }

  #leave({ path, entry }: RestoreStep): void {
    const { tally, policy, dryRun } = this.#options;
    const directory = this.#directories.pop();
    directory?.location.close();
    const parent = this.#directories.at(-1);
    if (dryRun) tally.directoriesRestored += 1;
    if (directory === undefined || parent === undefined) return;
    tally.directoriesRestored += 1;
    this.#note(path, finishTargetDirectory(parent.location.childPath(entry.name), entry, policy));
  }

  async #restoreFile({ path, entry }: RestoreStep, chunkCount: number): Promise<void> {
    const { chunks, tally, dryRun, progress, policy, pacer } = this.#options;
    const directory = this.#directories.at(-1);
    let used = 0;
    const next = (): Uint8Array | Promise<Uint8Array> => {
      used += 1;
      return chunks.next();
    };
    try {
      if (dryRun) return this.#countFile(entry);
      if (directory === undefined) return;
      const location = directory.location.childPath(entry.name);
      const decision = this.#decide(directory, location, entry);
      if (decision === 'unchanged') this.#groups.note(entry, location, { isWritten: false });
      if (this.#isSettled(decision, path)) return;
      const replaces = decision === 'replace';
      if (this.#groups.link(entry, location, { replaces })) return this.#countFile(entry);
      const target = { path: location, policy, replaces };
      const failure = await writeFile(target, entry, { count: chunkCount, next }, pacer);
      if (!this.#groups.join(entry, location)) this.#groups.note(entry, location, { isWritten: true });
      this.#note(path, failure);
      this.#countFile(entry);
    } finally {
      chunks.skip(chunkCount - used);
      if (progress !== undefined) progress.filesDone += 1;
      if (entry.changedWhileRead)
        tally.note(path, 'had changed while it was backed up; it may mix two states', 'CHANGED');
    }
  }

  /** In a directory that this restore made there is nothing to look for; files are created exclusively all the same. */
  #decide({ isNew }: OpenTarget, location: ByteString, entry: TreeEntry): FileDecision {
    return isNew ? 'create' : decide(location, entry, this.#options.overwrite);
  }

  /** Whether nothing is left to do for a file, because of what has its name. */
  #isSettled(decision: FileDecision, path: ByteString): boolean {
    const { tally } = this.#options;
    if (decision === 'unchanged') tally.filesUnchanged += 1;
    if (decision === 'keep' || decision === 'refuse') tally.filesKept += 1;
    if (decision === 'refuse') {
      tally.note(path, 'exists and differs; it was kept (choose with --overwrite)', 'EXISTS');
    }
    return decision !== 'create' && decision !== 'replace';
  }

  #restoreOther({ path, entry }: RestoreStep): void {
    // Sockets are made by the programs that listen on them.
    if (entry.type === 'socket') return;
    const { tally, dryRun } = this.#options;
    const directory = this.#directories.at(-1);
    if (dryRun) tally.othersRestored += 1;
    if (directory === undefined) return;
    const location = directory.location.childPath(entry.name);
    const decision = this.#decide(directory, location, entry);
    if (decision === 'unchanged') this.#groups.note(entry, location, { isWritten: false });
    if (this.#isSettled(decision, path)) return;
    const replaces = decision === 'replace';
    if (!this.#groups.link(entry, location, { replaces })) {
      const { skipped, failure } = this.#makeOther(entry, location, { replaces });
      this.#note(path, failure);
      if (skipped !== undefined) return tally.note(path, 'is a device file; only root makes those', 'SKIPPED');
      this.#groups.note(entry, location, { isWritten: true });
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

  #note(path: ByteString, failure: TargetError | undefined): void {
    if (failure !== undefined) this.#options.tally.note(path, failure.message, failure.code);
  }
}
