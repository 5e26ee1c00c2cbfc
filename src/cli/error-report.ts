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
import { pathFields } from '../console/output/byte-fields.ts';
import { OutputClosedError } from '../console/output/output.ts';
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

/** Splits a message into the problem and its solution: how to write an argument, or a name that was probably meant. */
const COMMANDER_MESSAGE =
  /^(?:error: )?(?:command-argument value )?(.*?)(?:(?<= is invalid(?: for argument '.*')?)\. (.*)|\n\((Did you mean .*\?)\))?$/s;

/** Returns the exit code and the message for any thrown value. `helpCommand` is suggested after wrong usage. */
export function describeFailure(error: unknown, helpCommand = 'ldm --help'): Failure {
  if (error instanceof CommanderError) return describeUsageFailure(error, helpCommand);
  if (error instanceof LdmError) return describeExpectedFailure(error);
  if (error instanceof OutputClosedError)
    return { exitCode: EXIT_SUCCESS, text: undefined, message: '', hint: undefined };
  if (isCurrentDirectoryGone(error)) {
    const hint = 'Change to another directory, or give absolute paths.';
    return describeExpectedFailure(new UsageError('the current directory does not exist any more', { hint }));
  }
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

function describeExpectedFailure(error: LdmError): Failure {
  const message = escapeForTerminal(error.message) + remarkOn(error);
  const hint = hintFor(error) ?? (error instanceof UnsupportedFormatError ? NEWER_HINT : undefined);
  const lines = [`ldm: ${message}`, ...(hint === undefined ? [] : [escapeForTerminal(hint)])];
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
  const [, problem = error.message, advice, suggestion] = COMMANDER_MESSAGE.exec(error.message) ?? [];
  const unknownName = /^unknown command '(.*)'$/.exec(problem)?.[1] ?? '';
  const hint = FOREIGN_COMMANDS.get(unknownName) ?? advice ?? suggestion ?? seeHelp;
  return describeExpectedFailure(new UsageError(problem.replaceAll('\n', ' '), { hint }));
}

/** What to use instead of a command that restic, borg or kopia has and ldm does not have. */
export const FOREIGN_COMMANDS: ReadonlyMap<string, string> = new Map([
  ['break-lock', 'Nobody has to unlock anything: abandoned locks are recognized.'],
  ['connect', 'Name the repository with -r or LDM_REPOSITORY; there is nothing to connect to.'],
  ['create', 'Use `ldm backup` to save files, and `ldm init` to create a repository.'],
  ['export-tar', 'Use `ldm dump`.'],
  ['extract', 'Use `ldm restore`.'],
  ['info', 'Use `ldm stats`, or `ldm snapshots`.'],
  ['list', 'Use `ldm snapshots`, or `ldm ls` for the files of a snapshot.'],
  ['maintenance', 'Use `ldm compact`; `ldm delete` already frees the space.'],
  ['migrate', 'Use `ldm copy` for snapshots; the format of a repository needs no migration.'],
  ['policy', 'Use `ldm forget` for retention, and options of `ldm backup` for the rest.'],
  ['rebuild-index', 'Use `ldm repair`.'],
  ['recover', 'Use `ldm repair`, or `ldm undelete` after `ldm delete --no-reclaim`.'],
  ['recreate', 'Use `ldm copy` to copy snapshots to a repository with other parameters.'],
  ['rename', 'Use `ldm tag`: snapshots have ids and tags instead of names.'],
  ['snapshot', 'Use `ldm backup` to make a snapshot, and `ldm snapshots` to list them.'],
  ['transfer', 'Use `ldm copy`.'],
  ['umount', 'Use `fusermount3 -u`, or end `ldm mount` with Ctrl+C.'],
  ['unlock', 'Nobody has to unlock anything: abandoned locks are recognized.'],
  ['verify', 'Use `ldm check`.'],
]);
