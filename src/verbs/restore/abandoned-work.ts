import { TargetError } from '../../core/errors.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { isWorkName, removeAbandonedWork } from '../../core/files/target/work-names.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';

const TOP = '' as ByteString;

/**
 * The temporary files that killed restores have left in the directories of the target. Files of the snapshot stay even
 * if they are named like that: a backup may have saved such a leftover, and this or an earlier restore has restored it.
 */
export class AbandonedWork {
  /** Paths in the snapshot. */
  readonly #saved = new Set<ByteString>();
  /** Directories of which the snapshot may have files that are not known. */
  readonly #unknown = new Set<ByteString>();

  /** `isWholeDirectory`: see `SnapshotPlace`. */
  constructor({ isWholeDirectory }: { readonly isWholeDirectory: boolean }) {
    if (!isWholeDirectory) this.#unknown.add(TOP);
  }

  /** Call it with each step of the walk, selected or not. */
  observe(step: TreeStep): void {
    if (step.kind === 'unreadable') this.#unknown.add(pathOf(step));
    else if (step.kind !== 'leave' && isWorkName(step.name)) this.#saved.add(pathOf(step));
  }

  /** Call it when the walk has left a directory; `step` is undefined for the target itself. Ignores errors. */
  removeFrom(location: DirectoryPath, step: TreeStep | undefined): void {
    const directory = step === undefined ? TOP : pathOf(step);
    if (this.#unknown.has(directory)) return;
    try {
      removeAbandonedWork(location.prefix, (name) => this.#saved.has(joinPath(directory, name)));
    } catch (error) {
      if (!(error instanceof TargetError)) throw error;
    }
  }
}
