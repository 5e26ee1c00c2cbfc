import type { TargetError } from '../../core/errors.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { LOCKED_APART } from './file-planning.ts';
import type { HardlinkGroups } from './hardlink-groups.ts';
import type { LockedFiles } from './locked-files.ts';
import type { PlannedFile } from './planned-file.ts';
import type { RestoreTally } from './restore-tally.ts';
import type { TargetDirectory } from './target-directories.ts';

interface WrittenFilesOptions {
  readonly groups: HardlinkGroups;
  readonly locked: LockedFiles;
  readonly tally: RestoreTally;
  readonly pacer: Pacer;
  /** Makes sure that the directory of a file can be used. */
  readonly prepare: (file: PlannedFile) => Promise<void>;
  /** Called once for each file: its directory is not needed for it any more. */
  readonly release: (directory: TargetDirectory) => void;
}

/** What remains to be done for a file whose content is written. */
export class WrittenFiles {
  readonly #options: WrittenFilesOptions;
  /** Those that may become links to names that existed before the restore. */
  readonly #joining: PlannedFile[] = [];

  constructor(options: WrittenFilesOptions) {
    this.#options = options;
  }

  /** `failure`: metadata that could not be set. */
  complete(file: PlannedFile, failure: TargetError | undefined): void {
    const { linked } = file;
    this.#options.tally.noteFailure(file, failure);
    if (linked !== undefined && this.#options.groups.mayJoin(linked)) this.#joining.push(file);
    else this.#finish(file, linked !== undefined);
  }

  fail(file: PlannedFile, error: unknown): void {
    const { tally, release } = this.#options;
    if (file.directory.isLost) tally.fileDone(file);
    else tally.fail(file, error);
    release(file.directory);
  }

  /**
   * Links files to names that existed before and have the same bytes. Separate from `complete`, because comparing them
   * takes time, in which the restore may be interrupted.
   */
  async join(): Promise<void> {
    const { groups, tally, pacer, prepare } = this.#options;
    for (const file of this.#joining.splice(0)) {
      await prepare(file);
      const outcome = await groups.joinWritten(file.linked!, file.path, () => pacer.pause());
      if (outcome === 'locked') tally.note(file, LOCKED_APART.message, LOCKED_APART.code);
      this.#finish(file, outcome !== 'joined');
    }
  }

  /** `isFirst`: whether other names can be linked to it. */
  #finish(file: PlannedFile, isFirst: boolean): void {
    const { groups, locked, tally, release } = this.#options;
    const { linked, directory } = file;
    if (isFirst) groups.note(linked!, directory.location, { isWritten: true });
    locked.note(file, directory.location, linked !== undefined);
    tally.countFile(file);
    release(directory);
  }
}
