import type { CheckResult } from '../../operations/check.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import type { Output } from '../output.ts';
import { countNoun } from '../words.ts';
import { WHAT_HELPS, findingFields, formatFindings } from './finding-lines.ts';

/** Reports the findings of `check`. They are results, so they go to stdout, even with `--quiet`. */
export function reportCheck(output: Output, result: CheckResult): void {
  const { findings } = result;
  for (const finding of findings) output.message('finding', findingFields(finding));
  const errorCount = findings.filter(({ severity }) => severity === 'error').length;
  output.message('summary', {
    num_errors: errorCount,
    num_warnings: findings.length - errorCount,
    snapshots_checked: result.snapshotsChecked,
    chunks_checked: result.chunksChecked,
    packs_checked: result.packsChecked,
    read_data: result.readData,
    bytes_read: result.bytesRead,
  });
  for (const line of output.json ? [] : formatFindings(findings)) output.line(line);
  const read = result.readData
    ? `, ${formatBytes(result.bytesRead)} read and verified`
    : '; data not read (use --read-data)';
  output.remark(
    `checked ${countNoun(result.snapshotsChecked, 'snapshot')}, ${countNoun(result.chunksChecked, 'chunk')}, ${countNoun(result.packsChecked, 'pack')}${read}`,
  );
  if (errorCount > 0) {
    output.line(`${countNoun(errorCount, 'error')} found`);
    output.line('`ldm repair --dry-run` prints what can be repaired.');
    output.line(WHAT_HELPS);
  } else output.remark('no errors found');
}
