import type { DirectoryPath } from '../../files/directory-path.ts';
import { replaceTarget, temporaryPathBeside } from '../../files/target-names.ts';
import { createSpecial, createSymlink, finishTargetDirectory } from '../../files/target-writer.ts';
import type { SpecialOutcome } from '../../files/target-writer.ts';
import type { TargetError } from '../../errors.ts';
import type { TargetPolicy } from '../../files/target-policy.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { OpenedState } from '../../repository/opened-state.ts';
import type { TreeStep } from '../../repository/tree-walk.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { Pacer } from '../context.ts';
import { ContentWriter } from './content-writer.ts';
import { HardlinkGroups } from './hardlink-groups.ts';
import { decide } from './overwrite.ts';
import type { FileDecision, OverwriteMode } from './overwrite.ts';
import { PLAN_BYTES_MAX, PlannedFile, RestorePlan } from './restore-plan.ts';
import type { RestoreTally } from './restore-result.ts';
import { TargetDirectories } from './target-directories.ts';
import type { TargetDirectory } from './target-directories.ts';
import { WriteBehind } from './write-behind.ts';
import type { WriterThreads } from './write-behind.ts';

export interface RestorerOptions {
  readonly opened: OpenedState;
  readonly target: ByteString;
  readonly policy: TargetPolicy;
  readonly threads: WriterThreads;
  readonly overwrite: OverwriteMode;
  readonly dryRun: boolean;
  readonly sparse: boolean;
  readonly tally: RestoreTally;
  readonly pacer: Pacer;
}

/**
 * Runs the steps of a restore: creates directories, links and special files at once, and plans the files, which
 * `writePlanned` then writes in the order of the repository.
 */
export class Restorer {
  readonly #options: RestorerOptions;
  readonly #directories: TargetDirectories;
  readonly #groups = new HardlinkGroups();
  readonly #behind: WriteBehind;
  readonly #content: ContentWriter;
  #plan: RestorePlan;

  constructor(options: RestorerOptions) {
    this.#options = options;
    const { dryRun, target, policy, threads, sparse, pacer, opened } = options;
    this.#behind = new WriteBehind(policy, threads);
    this.#plan = new RestorePlan(opened.state);
    const onComplete = (step: TreeStep, location: DirectoryPath): void => this.#finishDirectory(step, location);
    this.#directories = new TargetDirectories(target, { dryRun, onComplete });
    this.#content = new ContentWriter({
      reader: opened.reader,
      behind: this.#behind,
      policy,
      sparse,
      pacer,
      makeRoom: async (file) => this.#makeRoom(file.directory),
      onWritten: (file, failure) => this.#onWritten(file, failure),
      onFailed: (file, error) => this.#onFailed(file, error),
    });
  }

  /** Whether `writePlanned` must be called before the next step. */
  get isPlanFull(): boolean {
    return this.#plan.sizeBytes + this.#directories.sizeBytes >= PLAN_BYTES_MAX;
  }

  get blocks(): { readonly read: number; readonly needed: number } {
    return { read: this.#content.blocksRead, needed: this.#content.blocksNeeded };
  }

  /** When it returns, no thread works at the target any more, and no temporary files are left. */
  async close(): Promise<void> {
    await this.#behind.stop();
    this.#content.close();
    this.#directories.close();
  }

  async run(step: TreeStep): Promise<void> {
    const { tally } = this.#options;
    await this.#makeRoom(this.#directories.current);
    if (step.kind === 'leave') return this.#directories.leave(step);
    try {
      if (step.kind === 'unreadable') throw step.error;
      if (step.kind === 'enter') this.#directories.enter(step.name);
      else if (step.entry.type === 'file') this.#planFile(step);
      else this.#restoreOther(step);
    } catch (error) {
      tally.fail(step, error);
    }
  }

  /** Writes all files planned so far, and waits until they are written. */
  async writePlanned(): Promise<void> {
    const links = await this.#writePlan();
    // If the first name of a group failed or cannot be reached, one other name of it is written, and the rest are linked
    // to that. What still cannot be linked is written too: the file system has no links.
    const written = new HardlinkGroups();
    await this.#writeLinks(links, (file) => written.isExpected(file.entry));
    await this.#writeLinks(await this.#writePlan(), () => false);
    await this.#writePlan();
  }

  /** Links files if possible, and plans the others, unless they `wait` to become links to a file in the plan. */
  async #writeLinks(links: readonly PlannedFile[], waits: (file: PlannedFile) => boolean): Promise<void> {
    for (const file of links) {
      await this.#makeRoom(file.directory);
      try {
        if (this.#groups.link(file.entry, file.path, file)) {
          this.#options.tally.countFile(file.step);
          this.#directories.release(file.directory);
        } else if (waits(file)) this.#plan.links.push(file);
        else this.#add(file, this.#plan.chunksOf(file.entry, this.#options.opened.reader));
      } catch (error) {
        this.#onFailed(file, error);
      }
      const pause = this.#options.pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  /** Returns the files that can become links now. */
  async #writePlan(): Promise<readonly PlannedFile[]> {
    const { links } = this.#plan;
    const blocks = this.#plan.sort();
    this.#plan = new RestorePlan(this.#options.opened.state);
    await this.#content.write(blocks);
    await this.#behind.finish();
    return links;
  }

  /** Completes the restore. */
  async finish(): Promise<void> {
    await this.writePlanned();
    this.#directories.finish();
  }

  /** `near`: the directory that is needed next. */
  async #makeRoom(near: TargetDirectory | undefined): Promise<void> {
    await this.#behind.makeRoom();
    if (!this.#directories.areTooMany) return;
    // Files that are being written have paths through open directories.
    await this.#behind.finish();
    this.#directories.rest(near);
  }

  #finishDirectory(step: TreeStep, location: DirectoryPath): void {
    const { tally, policy, dryRun } = this.#options;
    tally.directoriesRestored += 1;
    if (dryRun) return;
    try {
      tally.noteFailure(step, finishTargetDirectory(location.prefix, step.entry, policy));
    } catch (error) {
      tally.report(step, error);
    }
  }

  #planFile(step: TreeStep): void {
    const { entry } = step;
    const { tally, opened, dryRun } = this.#options;
    const directory = this.#directories.current;
    if (directory === undefined) return tally.fileDone(step);
    const location = directory.location.childPath(entry.name);
    const decision = this.#decide(directory, location, entry);
    if (decision === 'unchanged') this.#groups.note(entry, directory.location, { isWritten: false });
    if (tally.isSettled(decision, step)) return;
    const chunks = this.#plan.chunksOf(entry, opened.reader);
    const replaces = decision === 'replace';
    if (dryRun || this.#groups.link(entry, location, { replaces })) return tally.countFile(step);
    directory.pendingCount += 1;
    const file = new PlannedFile(step, directory, { replaces });
    if (this.#groups.isExpected(entry)) this.#plan.links.push(file);
    else this.#add(file, chunks);
  }

  #add(file: PlannedFile, chunks: readonly number[]): void {
    if (chunks.length === 0) this.#content.writeEmpty(file);
    else this.#plan.add(file, chunks);
  }

  #onWritten(file: PlannedFile, failure: TargetError | undefined): void {
    const { entry, step, directory } = file;
    this.#options.tally.noteFailure(step, failure);
    if (entry.hardlink !== undefined && !this.#groups.join(entry, file.path))
      this.#groups.note(entry, directory.location, { isWritten: true });
    this.#options.tally.countFile(step);
    this.#directories.release(directory);
  }

  #onFailed({ step, directory }: PlannedFile, error: unknown): void {
    this.#options.tally.fail(step, error);
    this.#directories.release(directory);
  }

  /** A directory created by this restore is empty, so nothing is looked up. Files are created exclusively anyway. */
  #decide({ isNew }: TargetDirectory, location: ByteString, entry: TreeEntry): FileDecision {
    return isNew ? 'create' : decide(location, entry, this.#options.overwrite);
  }

  #restoreOther(step: TreeStep): void {
    const { entry } = step;
    const { tally, dryRun } = this.#options;
    // A socket is useless without its program, which creates it at startup and may refuse to if it exists.
    if (entry.type === 'socket') {
      tally.socketsSkipped += 1;
      return;
    }
    const directory = this.#directories.current;
    if (directory === undefined) return;
    const location = directory.location.childPath(entry.name);
    const decision = this.#decide(directory, location, entry);
    if (decision === 'unchanged') this.#groups.note(entry, directory.location, { isWritten: false });
    if (tally.isSettled(decision, step)) return;
    const replaces = decision === 'replace';
    if (!dryRun && !this.#groups.link(entry, location, { replaces })) {
      const { skipped, failure } = this.#makeOther(entry, location, { replaces });
      tally.noteFailure(step, failure);
      if (skipped !== undefined) {
        tally.othersFailed += 1;
        return tally.note(step, 'is a device file, which only root can create', 'SKIPPED');
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
}
