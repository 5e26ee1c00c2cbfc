import { displayPath, escapeForTerminal } from './display-path.ts';
import type { Notice } from '../operations/context.ts';
import type { Output } from './output.ts';
import { pathFields } from './paths.ts';
import { formatCount } from './words.ts';

/** The maximum number of lines about single files. Further ones are only counted. */
const FILE_LINES_MAX = 20;

/** Prints the notices of a running operation. */
export class NoticePrinter {
  readonly #output: Output;
  readonly #verbosity: number;
  #fileLineCount = 0;

  constructor(output: Output, verbosity: number) {
    this.#output = output;
    this.#verbosity = verbosity;
  }

  /** Problems and warnings are always printed, waiting and notes unless `--quiet`, and the rest only with `-v`. */
  print(notice: Notice): void {
    const output = this.#output;
    if ((notice.kind === 'lock-wait' || notice.kind === 'note') && output.quiet) return;
    if (notice.kind === 'info' && (this.#verbosity === 0 || output.quiet)) return;
    const message = escapeForTerminal(notice.message);
    if (notice.path !== undefined) return this.#printOfFile(notice, describeFile(displayPath(notice.path), message));
    const prefix = notice.kind === 'warning' ? 'ldm: warning: ' : 'ldm: ';
    output.problem(`${prefix}${message}`, 'notice', { kind: notice.kind, message: notice.message });
  }

  /** Prints how many lines were left out. Call it before the summary; a second call has no effect. */
  finish(): void {
    const hiddenCount = this.#fileLineCount - FILE_LINES_MAX;
    if (hiddenCount > 0 && !this.#printsAll)
      this.#output.problem(`ldm: ... and ${formatCount(hiddenCount)} more (-v lists them all)`, 'notice', {});
    this.#fileLineCount = 0;
  }

  #printOfFile({ path, message, during }: Notice, text: string): void {
    this.#fileLineCount += 1;
    if (this.#fileLineCount > FILE_LINES_MAX && !this.#printsAll) return;
    const fields = pathFields(path!);
    this.#output.problem(`ldm: ${text}`, 'error', { error: { message }, during, item: fields.path, ...fields });
  }

  get #printsAll(): boolean {
    return this.#output.json || this.#verbosity > 0;
  }
}

/** Most messages of the system name the file already. */
function describeFile(path: string, message: string): string {
  return message.includes(` ${path}: `) ? message : `${path}: ${message}`;
}
