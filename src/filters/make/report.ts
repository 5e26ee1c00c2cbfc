import { formatBytes } from '../../core/util/format-bytes.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import { pathFields } from '../../console/output/byte-fields.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { countNoun, formatPercent } from '../../console/output/words.ts';
import type { MakeResult } from './make.ts';

/** Reports `filter make` on stdout, or on stderr if the filter went to stdout. */
export function reportMade(output: Output, result: MakeResult, path: string | undefined): void {
  const { kind, filter, made, bytes } = result;
  const rate = filter.falsePositiveRate();
  warnIfOverfull(output, result);
  const fields = {
    kind,
    keys_read: made!.keysRead,
    expected: made!.expected,
    bytes: bytes.length,
    fpr_predicted: rate,
    fpr_target: made!.falsePositiveRate,
  };
  const exactness = rate === 0 ? 'exact' : `says "perhaps" to ${formatPercent(rate)} of the absent keys`;
  const size = `${kind}, ${formatBytes(bytes.length)}, ${exactness}`;
  const text = `made a filter of ${countNoun(made!.keysRead, 'key')}`;
  if (path === undefined) {
    if (!output.quiet) output.problem(`${text} to stdout (${size})`, 'made', fields);
    return;
  }
  output.remark(`${text}: ${escapeForTerminal(path)} (${size})`);
  output.message('made', { ...fields, ...pathFields(recoverBytes([path])[0]!) });
}

/** The filter is still right, but not what was asked for. */
function warnIfOverfull(output: Output, { filter, made }: MakeResult): void {
  const { expected, keysRead, falsePositiveRate } = made!;
  const rate = filter.falsePositiveRate();
  if (expected === undefined || keysRead <= expected || rate <= falsePositiveRate) return;
  const message = `the filter was made for ${countNoun(expected, 'key')} and has read ${countNoun(keysRead, 'key')}: its rate is ${formatPercent(rate)}, not ${formatPercent(falsePositiveRate)}`;
  output.problem(`ldm: warning: ${message}`, 'notice', { kind: 'warning', message });
}
