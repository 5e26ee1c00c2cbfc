import { displayPath, escapeForTerminal } from './display-path.ts';
import type { Notice } from '../../core/session/notices.ts';
import type { Output } from './output.ts';
import { wasGiven } from './given-notices.ts';
import { itemFields, pathFields } from './byte-fields.ts';
import { describeNotice, levelOf } from '../reports/notice-text.ts';
import { withoutIds } from '../reports/without-ids.ts';
import { formatCount } from './words.ts';

type FileNotice = Extract<Notice, { readonly kind: 'source-problem' | 'restore-problem' }>;

/** The maximum number of lines about single files. Further ones are only counted. */
const FILE_LINES_MAX = 20;

/**
 * Notices about a state that lasts: each is given once in 7 days, unless its words change. Not among them is what may be
 * a danger, such as damage, an older state, a wrong clock, copies out of reach or a plain repository, and what is a result
 * of the command.
 */
const LASTING: ReadonlySet<Notice['kind']> = new Set([
  'read-without-lock',
  'repository-left-out',
  'times-in-milliseconds',
  'unindexed-packs-stay',
] as const);

/** Prints the notices of a running operation. */
export class NoticePrinter {
  readonly #output: Output;
  readonly #verbosity: number;
  readonly #repository: string;
  #fileLineCount = 0;

  /** `repository`: the place that notices without one are about. */
  constructor(output: Output, verbosity: number, repository: string) {
    this.#output = output;
    this.#verbosity = verbosity;
    this.#repository = repository;
  }

  /** Problems and warnings are always printed, waiting and notes unless `--quiet`. */
  print(notice: Notice): void {
    const output = this.#output;
    const level = levelOf(notice);
    if ((level === 'lock-wait' || level === 'note') && output.quiet) return;
    const message = this.#describe(notice);
    if (this.#isRepetition(notice, message)) return;
    if (notice.kind === 'source-problem' || notice.kind === 'restore-problem')
      return this.#printOfFile(notice, message);
    if (notice.kind === 'copy-problem')
      return output.problem(`ldm: ${escapeForTerminal(message)}`, 'error', {
        error: { message },
        during: 'copy',
        ...(notice.path === undefined ? {} : itemFields(notice.path)),
        snapshot_id: notice.snapshotId,
      });
    const prefix = level === 'warning' ? 'ldm: warning: ' : 'ldm: ';
    output.problem(`${prefix}${escapeForTerminal(message)}`, 'notice', {
      kind: level,
      message,
      ...('path' in notice ? pathFields(notice.path) : {}),
    });
  }

  /** Prints how many lines were left out. Call it before the summary; a second call has no effect. */
  finish(): void {
    const hiddenCount = this.#fileLineCount - FILE_LINES_MAX;
    if (hiddenCount > 0 && !this.#printsAll)
      this.#output.problem(`ldm: ... and ${formatCount(hiddenCount)} more (-v lists them all)`, 'notice', {});
    this.#fileLineCount = 0;
  }

  /** Scripts get all of it, and people with `-v`. */
  #describe(notice: Notice): string {
    const message = describeNotice(notice);
    return this.#printsAll ? message : withoutIds(message);
  }

  #isRepetition({ kind, place = this.#repository }: Notice, message: string): boolean {
    if (!LASTING.has(kind) || this.#printsAll || this.#output.silent) return false;
    return wasGiven([place, kind, message]);
  }

  #printOfFile(notice: FileNotice, message: string): void {
    this.#fileLineCount += 1;
    if (this.#fileLineCount > FILE_LINES_MAX && !this.#printsAll) return;
    const during = 'during' in notice ? notice.during : undefined;
    const text = describeFile(displayPath(notice.path), escapeForTerminal(message));
    this.#output.problem(`ldm: ${text}`, 'error', { error: { message }, during, ...itemFields(notice.path) });
  }

  get #printsAll(): boolean {
    return this.#output.json || this.#verbosity > 0;
  }
}

/** Most messages of the system name the file already. */
function describeFile(path: string, message: string): string {
  return path === '' || message.includes(` ${path}: `) ? message : `${path}: ${message}`;
}
