import { CommanderError } from 'commander';
import {
  CancelledError,
  LdmError,
  SourceError,
  TargetError,
  UnsupportedFormatError,
  UsageError,
} from '../core/errors.ts';
import { hintFor } from '../console/advice.ts';
import { escapeForTerminal } from '../console/output/display-path.ts';
import { reasonOf } from '../core/files/paths/path-failures.ts';
import { withoutIds } from '../console/reports/without-ids.ts';
import { pathFields } from '../console/output/byte-fields.ts';
import { OutputClosedError } from '../console/output/output.ts';
import { FOREIGN_COMMANDS } from './foreign-commands.ts';
import { describeMissingPart } from './missing-part.ts';
import { FOREIGN_OPTIONS } from './foreign-options.ts';
import { usageProblem } from './usage-sentences.ts';
import { EXIT_FAILURE, EXIT_SUCCESS, EXIT_USAGE, exitCodeOfError } from '../console/exit-codes.ts';

/** How to report a command that threw. */
export interface Failure {
  readonly exitCode: number;
  /** The text for stderr; undefined if everything has been printed already. */
  readonly text: string | undefined;
  /** The same for JSON, without the stack. */
  readonly message: string;
  readonly hint: string | undefined;
  /** The path of a source or target that it is about. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

const NEWER_HINT = 'It was written by a newer version of ldm: use that version.';

/** Returns whether to print errors as JSON. Does not parse the command line, because it may be invalid. */
export function wantsJson(commandLine: readonly string[], environment: NodeJS.ProcessEnv): boolean {
  return commandLine.includes('--json') || /^(1|true)$/.test(environment['LDM_JSON'] ?? '');
}

/** Returns the exit code and the message for any thrown value. `helpCommand` is suggested after wrong usage. */
export function describeFailure(error: unknown, helpCommand = 'ldm --help', verbosity = 0): Failure {
  if (error instanceof CommanderError) return describeUsageFailure(error, helpCommand);
  if (error instanceof LdmError) return describeExpectedFailure(error, verbosity);
  if (error instanceof OutputClosedError)
    return { exitCode: EXIT_SUCCESS, text: undefined, message: '', hint: undefined };
  if (isCurrentDirectoryGone(error)) {
    const hint = 'Change to another directory, or give absolute paths.';
    return describeExpectedFailure(new UsageError('the current directory does not exist any more', { hint }));
  }
  const missing = describeMissingPart(error);
  if (missing !== undefined)
    return describeExpectedFailure(new LdmError(missing.message, { hint: missing.hint, cause: error }));
  if (error instanceof RangeError && /allocat/i.test(error.message)) {
    const hint = 'Let the process use more memory (see `ulimit -v`), or end other programs.';
    return describeExpectedFailure(new LdmError(`out of memory: ${error.message}`, { hint, cause: error }));
  }
  const stack = error instanceof Error ? (error.stack ?? String(error)) : String(error);
  const message = `internal error, please report: ${error instanceof Error ? error.message : String(error)}`;
  return { exitCode: EXIT_FAILURE, text: `ldm: internal error, please report\n${stack}`, message, hint: undefined };
}

/** Describes a failure to write to stdout. `completed` says what the command had done before that. */
export function describeLostOutput(cause: NodeJS.ErrnoException, completed: string | undefined): Failure {
  const details = { cause, ...(completed === undefined ? {} : { hint: completed }) };
  return describeExpectedFailure(new LdmError(`cannot write to standard output: ${reasonOf(cause)}`, details));
}

/** Detects the error of `process.cwd()` and `path.resolve()` after the current directory was deleted. */
function isCurrentDirectoryGone(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall === 'uv_cwd';
}

function describeExpectedFailure(error: LdmError, verbosity = 0): Failure {
  const message = escapeForTerminal(error.message) + remarkOn(error);
  const hint = hintFor(error) ?? (error instanceof UnsupportedFormatError ? NEWER_HINT : undefined);
  const lines = [
    `ldm: ${verbosity > 0 ? message : withoutIds(message)}`,
    ...(hint === undefined ? [] : [escapeForTerminal(hint)]),
  ];
  return { exitCode: exitCodeOfError(error), text: lines.join('\n'), message, hint, fields: fieldsOf(error) };
}

function fieldsOf(error: LdmError): Readonly<Record<string, unknown>> {
  const path = error instanceof SourceError || error instanceof TargetError ? error.path : undefined;
  return path === undefined ? {} : pathFields(path);
}

/** Returns the end of a message that names a command. */
function remarkOn(error: LdmError): string {
  const isDeleted = error instanceof CancelledError && error.completed === 'delete';
  return isDeleted ? '; `ldm compact` reclaims the space' : '';
}

/** Commander throws for wrong usage, and also to exit after it has printed help. */
function describeUsageFailure(error: CommanderError, helpCommand: string): Failure {
  if (error.exitCode === EXIT_SUCCESS) return { exitCode: EXIT_SUCCESS, text: undefined, message: '', hint: undefined };
  const seeHelp = `See \`${helpCommand}\`.`;
  if (error.code === 'commander.help')
    return { exitCode: EXIT_USAGE, text: undefined, message: 'no command given', hint: seeHelp };
  const { problem, advice } = usageProblem(error.message);
  const command = /^unknown command '(.*)'$/.exec(problem)?.[1] ?? '';
  const option = /^unknown option '(.*)'$/.exec(problem)?.[1] ?? '';
  const hint = FOREIGN_COMMANDS.get(command) ?? FOREIGN_OPTIONS.get(option) ?? advice ?? seeHelp;
  return describeExpectedFailure(new UsageError(problem, { hint }));
}
