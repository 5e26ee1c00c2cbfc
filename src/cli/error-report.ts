import { CommanderError } from 'commander';
import { LdmError, RepositoryNotFoundError, UnsupportedFormatError, UsageError } from '../errors.ts';
import { escapeForTerminal } from '../files/display-path.ts';
import { OutputClosedError } from './output.ts';
import { EXIT_FAILURE, EXIT_SUCCESS, EXIT_USAGE } from './exit-codes.ts';

/** How a command that threw ends. */
export interface Failure {
  readonly exitCode: number;
  /** What a person reads; undefined if everything has been said. */
  readonly text: string | undefined;
  /** The same for a script, without the stack. */
  readonly message: string;
  readonly hint: string | undefined;
}

const NO_REPOSITORY_HINT = 'Create one there with `ldm init`, or name another with -r or LDM_REPOSITORY.';
const NEWER_HINT = 'A newer ldm has written this; use that one.';

/** Whether errors go out as JSON. The command line may be what is wrong, so it is not parsed for this. */
export function wantsJson(commandLine: readonly string[], environment: NodeJS.ProcessEnv): boolean {
  return commandLine.includes('--json') || /^(1|true)$/.test(environment['LDM_JSON'] ?? '');
}

/** Turns anything that was thrown into an exit code and words. `helpCommand` is where wrong usage is explained. */
export function describeFailure(error: unknown, helpCommand = 'ldm --help'): Failure {
  if (error instanceof CommanderError) return describeUsageFailure(error, helpCommand);
  if (error instanceof LdmError) return describeExpectedFailure(error);
  if (error instanceof OutputClosedError)
    return { exitCode: EXIT_SUCCESS, text: undefined, message: '', hint: undefined };
  if (error instanceof RangeError && /allocat/i.test(error.message)) {
    const hint = 'Give the process more memory (see ulimit -v), or end others.';
    return describeExpectedFailure(
      new LdmError(`there is too little memory: ${error.message}`, { hint, cause: error }),
    );
  }
  const stack = error instanceof Error ? (error.stack ?? String(error)) : String(error);
  const message = `internal error, please report: ${error instanceof Error ? error.message : String(error)}`;
  return { exitCode: EXIT_FAILURE, text: `ldm: internal error, please report\n${stack}`, message, hint: undefined };
}

function describeExpectedFailure(error: LdmError): Failure {
  const message = escapeForTerminal(error.message);
  const hint = error.hint ?? usualHint(error);
  const lines = [`ldm: ${message}`, ...(hint === undefined ? [] : [escapeForTerminal(hint)])];
  // One line is enough for somebody who mistyped; the rest may need the next step spelled out.
  return { exitCode: error.exitCode, text: lines.join(error instanceof UsageError ? ' - ' : '\n'), message, hint };
}

function usualHint(error: LdmError): string | undefined {
  if (error instanceof RepositoryNotFoundError) return NO_REPOSITORY_HINT;
  return error instanceof UnsupportedFormatError ? NEWER_HINT : undefined;
}

/** Commander throws for wrong usage, and also to end after it has printed help. */
function describeUsageFailure(error: CommanderError, helpCommand: string): Failure {
  if (error.exitCode === EXIT_SUCCESS) return { exitCode: EXIT_SUCCESS, text: undefined, message: '', hint: undefined };
  const hint = `see \`${helpCommand}\``;
  if (error.code === 'commander.help')
    return { exitCode: EXIT_USAGE, text: undefined, message: 'no command was given', hint };
  const message = escapeForTerminal(error.message.replace(/^error: /, '').replaceAll('\n', ' '));
  return { exitCode: EXIT_USAGE, text: `ldm: ${message} (${hint})`, message, hint };
}
