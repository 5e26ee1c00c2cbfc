import { createOther } from '../../core/files/target/target-writer.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { HardlinkGroups } from './hardlink-groups.ts';
import type { FileDecision, OverwriteMode } from './overwrite.ts';
import type { RestoreTally } from './restore-tally.ts';
import type { TargetDirectory } from './target-directories.ts';

interface OtherOptions {
  readonly tally: RestoreTally;
  readonly groups: HardlinkGroups;
  readonly policy: TargetPolicy;
  readonly dryRun: boolean;
  readonly overwrite: OverwriteMode;
}

/** Restores a symlink, FIFO or device, as decided. Throws TargetError. */
export function restoreOther(
  step: TreeStep,
  directory: TargetDirectory,
  decided: FileDecision,
  { tally, groups, policy, dryRun, overwrite }: OtherOptions,
): void {
  const { entry } = step;
  const { inheritsAcl } = directory;
  const location = directory.location.childPath(entry.name);
  const isApart = decided === 'unchanged' && overwrite === 'if-changed' && groups.isApart(entry, directory.location);
  const decision = isApart ? 'replace' : decided;
  // With `if-changed`, its metadata was compared, too.
  if (decision === 'unchanged') groups.note(entry, directory.location, { isWritten: overwrite === 'if-changed' });
  if (tally.isSettled(decision, step)) return;
  const replaces = decision === 'replace';
  if (!dryRun && !groups.link(entry, location, { replaces })) {
    const { skipped, failure } = createOther({ path: location, replaces }, { ...entry, inheritsAcl }, policy);
    if (skipped !== undefined) {
      tally.othersFailed += 1;
      return tally.note(step, 'is a device file, which only root can create', 'SKIPPED');
    }
    tally.noteFailure(step, failure);
    if (!groups.joinWrittenOther(entry, location)) groups.note(entry, directory.location, { isWritten: true });
  }
  tally.countOther(step, { replaces });
}
