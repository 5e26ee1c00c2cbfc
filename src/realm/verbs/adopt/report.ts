import type { AdoptResult } from './adopt.ts';
import { formatBytes } from '../../../core/util/format-bytes.ts';
import { escapeForTerminal } from '../../../console/output/display-path.ts';
import type { Output } from '../../../console/output/output.ts';
import { countNoun } from '../../../console/output/words.ts';
import { describeNotReclaimed } from '../../../console/reports/delete-report.ts';

/** Reports `adopt`: what was copied home, and whether the space of its packs was reclaimed. */
export function reportAdopt(output: Output, result: AdoptResult): void {
  const { chunks, bytes, failed, failure, snapshotsChanged, dryRun } = result;
  const notReclaimed = describeNotReclaimed(result);
  output.message('summary', {
    dry_run: dryRun,
    chunks,
    bytes,
    failed,
    failure,
    snapshots_changed: snapshotsChanged,
    not_reclaimed: notReclaimed,
  });
  const copied = `${countNoun(chunks, 'chunk')} (${formatBytes(bytes)})`;
  if (dryRun) output.remark(`would copy ${copied}`);
  else if (chunks + failed === 0) output.remark('nothing to copy: this repository has everything itself');
  else output.remark(`copied ${copied}`);
  if (failed > 0)
    output.line(`${countNoun(failed, 'chunk')} could not be copied, such as: ${escapeForTerminal(failure ?? '')}`);
  if (snapshotsChanged > 0) output.remark(`${countNoun(snapshotsChanged, 'snapshot')} changed, with new ids`);
  if (dryRun) output.remark('dry run: nothing was changed');
  if (notReclaimed !== undefined)
    output.remark(`the other domains still keep the data: ${escapeForTerminal(notReclaimed)}`);
}
