import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { ExportResult } from './export.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { pathFields } from '../../console/output/byte-fields.ts';
import type { Output } from '../../console/output/output.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import { countNoun, formatPercent } from '../../console/output/words.ts';

/** Reports `filter export` on stdout, or on stderr if the exported bytes went to stdout. */
export function reportExport(output: Output, result: ExportResult, path: string | undefined): void {
  const { chunkCount, bytes, falsePositiveRate, format, repositoryId } = result;
  const fields = {
    format,
    chunks: chunkCount,
    bytes: bytes.length,
    fpr_predicted: falsePositiveRate,
    repository_id: repositoryId,
    keyed: true,
  };
  if (path === undefined) {
    if (!output.quiet) output.problem(describeExport(result, 'stdout'), 'exported', fields);
    return;
  }
  output.remark(describeExport(result, escapeForTerminal(path)));
  output.message('exported', { ...fields, ...pathFields(recoverBytes([path])[0]!) });
}

function describeExport(
  { chunkCount, bytes, falsePositiveRate, format, repositoryId }: ExportResult,
  to: string,
): string {
  const rate =
    falsePositiveRate === 0 ? 'exact' : `says "perhaps" to ${formatPercent(falsePositiveRate)} of the absent ids`;
  return [
    `exported ${countNoun(chunkCount, 'chunk')} to ${to} (${format}, ${formatBytes(bytes.length)}, ${rate})`,
    `the ids are keyed for repository ${repositoryId.slice(0, 10)}: look up ids that ldm printed for it`,
  ].join('\n');
}

interface Converted {
  readonly format: string;
  readonly kind: string;
  /** Of the file. */
  readonly bytes: number;
  readonly rate: number;
}

/** Reports `filter export` of a filter of keys. */
export function reportConverted(
  output: Output,
  { format, kind, bytes, rate }: Converted,
  path: string | undefined,
): void {
  const fields = { format, kind, bytes, fpr_predicted: rate };
  const size = `(${format}, ${formatBytes(bytes)}, says "perhaps" to ${formatPercent(rate)} of the absent keys)`;
  if (path === undefined) {
    if (!output.quiet) output.problem(`exported a filter of the kind ${kind} to stdout ${size}`, 'converted', fields);
    return;
  }
  output.remark(`exported a filter of the kind ${kind} to ${escapeForTerminal(path)} ${size}`);
  output.message('converted', { ...fields, ...pathFields(recoverBytes([path])[0]!) });
}
