import { SourceError } from '../errors.ts';
import type { ByteString } from '../util/byte-string.ts';
import { joinPath } from '../util/byte-string.ts';
import { shownPathOf } from '../util/path-node.ts';
import type { PathNode } from '../util/path-node.ts';
import type { OperationContext } from '../session/context.ts';
import type { BackupTally } from './backup-tally.ts';
import type { SkippedRepository } from '../sources/own-repository.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';

/** A source that is missing from the snapshot or incomplete in it. All other sources are saved. */
export interface SourceProblem {
  /** The path, shortened if it is very long. */
  readonly path: ByteString;
  readonly during: 'open' | 'read' | 'list' | 'stat' | 'changed' | 'missing' | 'attributes' | 'import';
  readonly message: string;
}

/** Reports the sources that a backup skips. */
export class ProblemReport {
  readonly #base: ByteString;
  readonly #onProblem: (problem: SourceProblem) => void;

  /** `base`: the directory that reported paths are relative to. */
  constructor(base: ByteString, onProblem: (problem: SourceProblem) => void) {
    this.#base = base;
    this.#onProblem = onProblem;
  }

  report(place: PathNode, during: SourceProblem['during'], message: string): void {
    const path = shownPathOf(place);
    this.#onProblem({ path: path === '' ? this.#base : joinPath(this.#base, path), during, message });
  }

  /** Skips a source after a SourceError. Any other error, such as a full repository, ends the backup. */
  skip(place: PathNode, during: SourceProblem['during'], error: unknown, options = { mustExist: true }): void {
    if (!(error instanceof SourceError)) throw error;
    // A file that was removed after its directory was listed is not a failure.
    if (error.errno === 'ENOENT' && !options.mustExist) return;
    this.report(place, during, error.message);
  }
}

/** Throws SourceError if there were problems and nothing was saved: an empty snapshot would look like a backup. */
export function assertAnythingRead(tally: BackupTally, problems: readonly SourceProblem[]): void {
  if (problems.length === 0 || isAnythingSaved(tally)) return;
  throw new SourceError('nothing could be read, so no snapshot was made');
}

/** Warns about a snapshot without files and about copies of the repository that were left out. */
export function warnOfSources(
  { onNotice }: OperationContext,
  tally: BackupTally,
  skipped: readonly SkippedRepository[],
): void {
  if (!isAnythingSaved(tally)) onNotice?.({ kind: 'snapshot-without-files' });
  for (const { path, isElsewhere } of skipped) if (isElsewhere) onNotice?.({ kind: 'repository-left-out', path });
}

function isAnythingSaved({ filesCount, othersCount }: BackupTally): boolean {
  return filesCount + othersCount > 0;
}

/** Warns because a backup of a damaged repository continues, and may reuse damaged chunks for unchanged files. */
export function warnOfDamage({ onNotice }: OperationContext, opened: OpenedState): void {
  const { unreadableCount } = opened.damage;
  if (unreadableCount > 0) onNotice?.({ kind: 'repository-damaged', unreadableCount });
}

/** Returns a handler for unreadable trees of the parent snapshot: stores them again, and warns about the first. */
export function damageWarner(
  { onNotice }: OperationContext,
  chunks: RepositoryChunkSaver,
): (treeId: Uint8Array) => void {
  let isReported = false;
  return (treeId) => {
    // Missing trees were already reported when the repository was opened.
    if (!chunks.distrust(treeId) || isReported) return;
    isReported = true;
    onNotice?.({ kind: 'parent-damaged' });
  };
}
