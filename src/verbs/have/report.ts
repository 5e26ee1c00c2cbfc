import { EXIT_ABSENT, EXIT_INCOMPLETE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import type { HaveResult, SoughtFile } from './have.ts';
import { bytesOf } from '../../core/util/byte-string.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { displayPath } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { OutputClosedError } from '../../console/output/output.ts';
import { pathFields } from '../../console/output/byte-fields.ts';
import { countNoun, formatCount } from '../../console/output/words.ts';

interface HaveReportOptions {
  /** Lists the files that are there instead of those that are not. */
  readonly present: boolean;
  /** Ends each path with a NUL byte, and prints nothing else. */
  readonly separatesByNul: boolean;
}

const NUL = Buffer.of(0);

/** Reports `have`: the files that are missing, one per line, and the counts. */
export class HaveReport {
  readonly #output: Output;
  readonly #options: HaveReportOptions;

  constructor(output: Output, options: HaveReportOptions) {
    this.#output = output;
    this.#options = options;
  }

  readonly visit = ({ path, sizeBytes, isThere }: SoughtFile): void => {
    const output = this.#output;
    if (output.failure !== undefined) throw new OutputClosedError();
    output.message('file', { ...pathFields(path), size: sizeBytes, present: isThere });
    if (output.json || isThere !== this.#options.present) return;
    if (this.#options.separatesByNul) output.bytes(Buffer.concat([bytesOf(path), NUL]));
    else output.line(displayPath(path));
  };

  finish(result: HaveResult): void {
    const { files, missingFiles, bytes, missingBytes, unreadable } = result;
    const fields = { files, missing_files: missingFiles, bytes, missing_bytes: missingBytes, unreadable };
    this.#output.message('summary', fields);
    if (this.#options.separatesByNul) return;
    this.#output.remark(describe(result));
  }
}

function describe({ files, missingFiles, bytes, missingBytes, unreadable }: HaveResult): string {
  const total = `${countNoun(files, 'file')} (${formatBytes(bytes)})`;
  const found = files === 0 ? '' : `: ${subjectOf(files, missingFiles, missingBytes)} in the repository`;
  const failed = unreadable === 0 ? '' : `; ${countNoun(unreadable, 'path')} could not be read`;
  return total + found + failed;
}

/** `it is`, `all of them are`, `1 of them (3 B) is not` */
function subjectOf(files: number, missingFiles: number, missingBytes: number): string {
  if (files === 1) return missingFiles === 0 ? 'it is' : 'it is not';
  if (missingFiles === 0) return 'all of them are';
  if (missingFiles === files) return 'none of them is';
  return `${formatCount(missingFiles)} of them (${formatBytes(missingBytes)}) ${missingFiles === 1 ? 'is' : 'are'} not`;
}

/** What is not there counts more than what could not be read: either way, not everything is known to be there. */
export function exitCodeOfHave({ missingFiles, unreadable }: Pick<HaveResult, 'missingFiles' | 'unreadable'>): number {
  if (missingFiles > 0) return EXIT_ABSENT;
  return unreadable > 0 ? EXIT_INCOMPLETE : EXIT_SUCCESS;
}
