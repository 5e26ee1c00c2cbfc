import type { SourceProblem } from '../session/notices.ts';
import { SourceError } from '../errors.ts';
import type { Caller } from '../session/caller.ts';
import type { BackupTally } from './backup-tally.ts';
import type { SkippedRepository } from '../sources/own-repository.ts';
import type { OpenedState } from '../repository/opened-state.ts';
import type { RepositoryChunkSaver } from './repository-chunk-saver.ts';

/** Throws SourceError if there were problems and nothing was saved: an empty snapshot would look like a backup. */
export function assertAnythingRead(tally: BackupTally, problems: readonly SourceProblem[]): void {
  if (problems.length === 0 || isAnythingSaved(tally)) return;
  throw new SourceError('nothing could be read, so no snapshot was made');
}

/** Warns about a snapshot without files and about copies of the repository that were left out. */
export function warnOfSources({ onNotice }: Caller, tally: BackupTally, skipped: readonly SkippedRepository[]): void {
  if (!isAnythingSaved(tally)) onNotice?.({ kind: 'snapshot-without-files' });
  for (const { path, isElsewhere } of skipped) if (isElsewhere) onNotice?.({ kind: 'repository-left-out', path });
}

function isAnythingSaved({ filesCount, othersCount }: BackupTally): boolean {
  return filesCount + othersCount > 0;
}

/** Warns because a backup of a damaged repository continues, and may reuse damaged chunks for unchanged files. */
export function warnOfDamage({ onNotice }: Caller, opened: OpenedState): void {
  const { unreadableCount } = opened.damage;
  if (unreadableCount > 0) onNotice?.({ kind: 'repository-damaged', unreadableCount });
}

/** Returns a handler for unreadable trees of the parent snapshot: stores them again, and warns about the first. */
export function damageWarner({ onNotice }: Caller, chunks: RepositoryChunkSaver): (treeId: Uint8Array) => void {
  let isReported = false;
  return (treeId) => {
    // Missing trees were already reported when the repository was opened.
    if (!chunks.distrust(treeId) || isReported) return;
    isReported = true;
    onNotice?.({ kind: 'parent-damaged' });
  };
}
