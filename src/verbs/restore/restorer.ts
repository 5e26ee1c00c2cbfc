import { finishTargetDirectory } from '../../core/files/target/target-directory.ts';
import { removesInheritedAcls } from '../../core/files/target/xattr-choice.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { chunksOfFile } from '../../core/snapshots/file-chunks.ts';
import type { AbandonedWork } from './abandoned-work.ts';
import type { BlocksAhead } from './blocks-ahead.ts';
import { ContentWriter } from './content-writer.ts';
import { decideIn, planFile } from './file-planning.ts';
import type { PlanningOptions } from './file-planning.ts';
import { HardlinkGroups } from './hardlink-groups.ts';
import type { InPlace } from './in-place.ts';
import { restoreOther } from './other-entries.ts';
import { LockedFiles } from './locked-files.ts';
import type { OverwriteMode } from './overwrite.ts';
import { PlannedFile } from './planned-file.ts';
import { RestorePlan } from './restore-plan.ts';
import type { RestoreTally } from './restore-tally.ts';
import type { SetAside } from './set-aside.ts';
import { TargetDirectories } from './target-directories.ts';
import type { TargetDirectory } from './target-directories.ts';
import { WriteBehind } from './write-behind.ts';
import type { WriterThreads } from './write-behind.ts';
import { WrittenFiles } from './written-files.ts';

interface RestorerOptions {
  readonly opened: OpenedState;
  readonly target: ByteString;
  /** See `TargetDirectories`. */
  readonly targetEntry: TreeEntry | undefined;
  readonly policy: TargetPolicy;
  readonly threads: WriterThreads;
  readonly atOnce: number;
  readonly overwrite: OverwriteMode;
  readonly dryRun: boolean;
  readonly sparse: boolean;
  readonly tally: RestoreTally;
  readonly pacer: Pacer;
  /** If given, things in the way of entries of another kind are set aside. */
  readonly setAside: SetAside | undefined;
  readonly abandoned: AbandonedWork;
  /** If given, files that exist may be changed instead of replaced. */
  readonly inPlace: InPlace | undefined;
  readonly planBytesMax: number;
  readonly ahead: BlocksAhead;
}

/**
 * Runs the steps of a restore: creates directories, links and special files at once, and plans the files, which
 * `writePlanned` then writes in the order of the repository.
 */
export class Restorer {
  readonly #options: RestorerOptions;
  readonly #directories: TargetDirectories;
  readonly #groups = new HardlinkGroups();
  readonly #locked: LockedFiles;
  readonly #behind: WriteBehind<PlannedFile>;
  readonly #content: ContentWriter;
  readonly #written: WrittenFiles;
  /** One object for all files. */
  readonly #planning: PlanningOptions;
  #plan: RestorePlan;

  constructor(options: RestorerOptions) {
    this.#options = options;
    const { dryRun, target, targetEntry, policy, threads, pacer, opened, tally, setAside, abandoned } = options;
    this.#locked = new LockedFiles(policy.attributes, tally);
    this.#planning = { ...options, groups: this.#groups, locked: this.#locked };
    this.#behind = new WriteBehind(policy, threads, {
      batchesMax: 2 * options.atOnce,
      onWritten: (file, failure) => this.#written.complete(file, failure),
      onFailed: (file, error) => this.#content.fail(file, error),
    });
    this.#plan = new RestorePlan(opened.state, options.ahead);
    this.#directories = new TargetDirectories(target, {
      dryRun,
      targetEntry,
      setAside,
      abandoned,
      inheritsNoAcl: removesInheritedAcls(policy.attributes),
      onComplete: (directory, step) => this.#finishDirectory(directory, step),
      onLost: (step, error) => tally.fail(step, error),
    });
    this.#written = new WrittenFiles({
      groups: this.#groups,
      locked: this.#locked,
      tally,
      pacer,
      prepare: async ({ directory }) => this.#prepare(directory),
      release: (directory) => this.#directories.release(directory),
    });
    this.#content = new ContentWriter({
      ...options,
      reader: opened.reader,
      behind: this.#behind,
      prepare: (file) => this.#prepare(file.directory),
      onWritten: (file, failure) => this.#written.complete(file, failure),
      onFailed: (file, error) => this.#written.fail(file, error),
    });
  }

  /** Whether `writePlanned` must be called before the next step. */
  get isPlanFull(): boolean {
    return this.#plan.sizeBytes + this.#directories.sizeBytes >= this.#options.planBytesMax;
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

  /** Returns no promise if there is nothing to wait for. */
  run(step: TreeStep): Promise<void> | undefined {
    const directory = this.#directories.current;
    if (directory === undefined || !this.#usesDirectory(step, directory)) return this.#runNow(step);
    const preparing = this.#prepare(directory);
    return preparing === undefined ? this.#runNow(step) : preparing.then(() => this.#runNow(step));
  }

  /** What is in a new directory only waits for the blocks, without using the directory. */
  #usesDirectory({ kind, entry }: TreeStep, directory: TargetDirectory): boolean {
    if (!directory.isNew) return true;
    if (kind === 'entry') return entry.type !== 'file' || entry.hardlink !== undefined;
    return kind === 'leave' && directory.pendingCount === 1;
  }

  #runNow(step: TreeStep): Promise<void> | undefined {
    try {
      if (step.kind === 'leave') this.#directories.leave();
      else if (step.kind === 'unreadable') throw step.error;
      else if (step.kind === 'enter') this.#directories.enter(step);
      else if (step.entry.type === 'file') return this.#planFile(step);
      else this.#restoreOther(step);
    } catch (error) {
      if (step.kind === 'unreadable') this.#options.setAside?.noteUnreadable(step);
      this.#options.tally.fail(step, error);
    }
    return undefined;
  }

  /** Writes all files planned so far, and waits until they are written. */
  async writePlanned(): Promise<void> {
    const links = await this.#writePlan();
    // If the first name of a group failed or cannot be reached, one other name of it is written, and the rest are linked
    // to that. What still cannot be linked is written too: the file system has no links.
    const written = new HardlinkGroups();
    await this.#writeLinks(links, (entry) => written.isExpected(entry));
    await this.#writeLinks(await this.#writePlan(), () => false);
    await this.#writePlan();
  }

  /** Links files if possible, and plans the others, unless they `wait` to become links to a file in the plan. */
  async #writeLinks(links: readonly PlannedFile[], waits: (entry: TreeEntry) => boolean): Promise<void> {
    for (const file of links) {
      await this.#prepare(file.directory);
      try {
        this.#writeLink(file, waits);
      } catch (error) {
        this.#written.fail(file, error);
      }
      const pause = this.#options.pacer.pause();
      if (pause !== undefined) await pause;
    }
  }

  #writeLink(file: PlannedFile, waits: (entry: TreeEntry) => boolean): void {
    const entry = file.linked!;
    if (file.directory.isLost) this.#written.fail(file, undefined);
    else if (this.#groups.link(entry, file.path, file)) {
      this.#options.tally.countFile(file);
      this.#directories.release(file.directory);
    } else if (waits(entry)) this.#plan.links.push(file);
    else this.#plan.add(file, chunksOfFile(this.#options.opened, entry));
  }

  /** Returns the files that can become links now. */
  async #writePlan(): Promise<readonly PlannedFile[]> {
    const { links } = this.#plan;
    const blocks = this.#plan.sort();
    this.#plan = new RestorePlan(this.#options.opened.state, this.#options.ahead);
    await this.#content.write(blocks);
    await this.#behind.finish();
    await this.#written.join();
    return links;
  }

  /** Completes the restore. */
  async finish(): Promise<void> {
    await this.writePlanned();
    this.#directories.leave();
  }

  /** Makes immutable and append-only what could not be before. Call it when nothing else changes the target. */
  lock(): void {
    this.#locked.setLast();
  }

  /**
   * Makes sure that a directory can be used, unless it is lost, and that there is room for another file to be written.
   * Returns no promise if there is nothing to wait for.
   */
  #prepare(directory: TargetDirectory): Promise<void> | undefined {
    // Decided once: after the wait for room, threads still use directories, even if more are held by then.
    const canRest = this.#directories.needsRest(directory);
    const prepare = (): undefined => this.#directories.prepare(directory, { canRest });
    return canRest ? this.#behind.finish().then(prepare) : (this.#behind.makeRoom()?.then(prepare) ?? prepare());
  }

  #finishDirectory({ location, isNew, parent }: TargetDirectory, step: TreeStep): void {
    const { tally, policy, dryRun } = this.#options;
    if (parent !== undefined) tally.countDirectory(step, { isNew });
    if (dryRun) return;
    try {
      tally.noteFailure(step, finishTargetDirectory(location.prefix, step.entry, policy, { isNew }));
      this.#locked.noteDirectory(step, location);
    } catch (error) {
      tally.report(step, error);
    }
  }

  #planFile(step: TreeStep): Promise<void> | undefined {
    const directory = this.#directories.current;
    if (directory !== undefined && !directory.isLost) return planFile(step, directory, this.#plan, this.#planning);
    this.#options.tally.fileDone(step);
    return undefined;
  }

  #restoreOther(step: TreeStep): void {
    // A socket is useless without its program, which creates it at startup and may refuse to if it exists.
    if (step.entry.type === 'socket') {
      this.#options.tally.socketsSkipped += 1;
      return;
    }
    const directory = this.#directories.current;
    if (directory === undefined || directory.isLost) return;
    const decision = decideIn(directory, step, this.#options);
    restoreOther(step, directory, decision, this.#planning);
  }
}
