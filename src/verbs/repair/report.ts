import { EXIT_DAMAGED, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { RepairResult } from './repair.ts';
import type { Output } from '../../console/output/output.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { countNoun } from '../../console/output/words.ts';
import { describeAction } from './action-text.ts';
import { describeFetched, fetchedFields } from '../../console/reports/fetched-report.ts';
import { findingFields, formatFindings, whatHelps } from '../../console/reports/finding-lines.ts';

/** Reports `repair`: what was repaired or would be, and what cannot be repaired. */
export function reportRepair(output: Output, { actions, remaining, dryRun, roomBytes, fetched }: RepairResult): void {
  for (const line of describeFetched(fetched)) output.remark(line);
  if (actions.length > 0) output.remark(dryRun ? 'Repairs to be made:' : 'Repairs made:');
  for (const action of actions) {
    const { file, message } = describeAction(action);
    output.message('action', { kind: action.kind, file, message });
    output.remark(`  ${escapeForTerminal(message)}`);
  }
  for (const finding of remaining) output.message('finding', findingFields(finding));
  output.message('summary', {
    dry_run: dryRun,
    num_actions: actions.length,
    num_remaining: remaining.length,
    room_bytes: roomBytes,
    ...fetchedFields(fetched),
  });
  if (output.json) return;
  if (dryRun && roomBytes > 0) output.remark(`needs up to ${formatBytes(roomBytes)} of free space for copies`);
  if (dryRun) output.remark('dry run: nothing was changed');
  if (remaining.length > 0) {
    output.line(`${countNoun(remaining.length, 'finding')} cannot be repaired:`);
    for (const line of formatFindings(remaining, output.verbosity)) output.line(line);
    const helps = whatHelps(remaining);
    if (helps !== undefined) output.line(helps);
  } else if (actions.length === 0 && (fetched?.chunks ?? 0) === 0) {
    output.remark('the repository is healthy: nothing to repair');
  } else {
    output.remark(`${countNoun(actions.length, 'repair')} ${dryRun ? 'to be done' : 'done'}`);
  }
}

/** A dry run ends with the code that the repair will end with. */
export function exitCodeOfRepair({ remaining }: Pick<RepairResult, 'remaining'>): number {
  return remaining.some(({ kind }) => kind !== 'copies-missing') ? EXIT_DAMAGED : EXIT_SUCCESS;
}
