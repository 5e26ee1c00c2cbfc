import { EXIT_DAMAGED, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import type { GroupRecovery } from './group-recover.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { countNoun } from '../../console/output/words.ts';

/** Reports `group recover`. */
export function reportRecovery(output: Output, recovery: GroupRecovery): void {
  const { repositoryId, location, fileCount, bytes, snapshotCount, from, missing, leftOut, unreadableNames } = recovery;
  for (const name of unreadableNames) {
    output.problem(`${name}: no group has a sound copy; run \`ldm check\``, 'unrecovered', { name });
  }
  output.message('summary', {
    change: 'recovered',
    repository_id: repositoryId,
    files: fileCount,
    bytes,
    snapshots: snapshotCount,
    from_groups: from,
    groups_missing: missing,
    groups_left_out: leftOut,
    files_unrecovered: unreadableNames.length,
  });
  output.remark(
    `recovered ${countNoun(snapshotCount, 'snapshot')} (${countNoun(fileCount, 'file')}, ${formatBytes(bytes)}) from ${from.join(', ')} to ${escapeForTerminal(location)}`,
  );
  if (missing.length > 0) output.remark(`not reached: ${missing.join(', ')}; what was saved only there is missing`);
  if (leftOut.length > 0)
    output.remark(`not used: the newest copies, in ${leftOut.join(', ')}; what was saved only there is missing`);
  output.remark('run `ldm check`; for a group that is at another place now, run `ldm group move`');
}

/** What is missing is not in the repository that was recovered. */
export function exitCodeOfRecovery({ unreadableNames }: Pick<GroupRecovery, 'unreadableNames'>): number {
  return unreadableNames.length > 0 ? EXIT_DAMAGED : EXIT_SUCCESS;
}
