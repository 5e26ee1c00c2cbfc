import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { NoPasswordError, RepositoryNotFoundError } from '../core/errors.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from './exit-codes.ts';
import type { Output } from './output/output.ts';
import type { Session } from './session.ts';
import type { GlobalOptions } from './settings/environment.ts';

/** The work of a command in its session. Resolves with the exit code. */
type CommandHandler<Arguments extends unknown[]> = (
  session: Session,
  ...commandArguments: Arguments
) => Promise<number>;

/** What a command needs that has no repository of its own. */
export interface Surroundings {
  readonly output: Output;
  /** From the command line and the environment. */
  readonly given: GlobalOptions;
  readonly program: Command;
  /** Runs another command of the program, as if it had been started with these words. */
  readonly runCommand: RunCommand;
}

/** How a command ended. */
export interface CommandOutcome {
  readonly exitCode: number;
  /** Why it failed; undefined if nothing was thrown. */
  readonly message?: string;
  /** The fields of the last JSON object that it printed, or would have printed. */
  readonly summary: Readonly<Record<string, unknown>> | undefined;
}

/** What a command that runs another one changes about its output. */
export interface OutputChanges {
  /** It prints nothing. */
  readonly silent?: boolean;
  /** The command that should come next does so by itself. */
  readonly isFollowed?: boolean;
  /** An earlier command has reported what is wrong in the configuration file. */
  readonly isProfileKnown?: boolean;
  /** Further fields of its summary in JSON. */
  readonly labels?: Readonly<Record<string, string>>;
}

type RunCommand = (words: readonly string[], changes?: OutputChanges) => Promise<CommandOutcome>;

/** The work of a command without a session. Resolves with the exit code. */
type BareHandler<Arguments extends unknown[]> = (
  surroundings: Surroundings,
  ...commandArguments: Arguments
) => Promise<number>;

/** An action as commander calls it: with the arguments, the options and the command. */
type CommandAction = (...received: unknown[]) => Promise<void>;

/** Runs commands for commander and keeps their exit code. */
export interface CommandRunner {
  exitCode: number;
  /** The exit code of errors that have none of their own: another one than 1 where 1 is an answer, as for grep. */
  failureExitCode: number;
  output: Output | undefined;
  /** Returns an action that opens a session and runs the handler in it. */
  inSession<Arguments extends unknown[]>(handler: CommandHandler<Arguments>): CommandAction;
  /** The same for a command that has no repository of its own. Its profile, if any, is not applied. */
  withoutSession<Arguments extends unknown[]>(handler: BareHandler<Arguments>): CommandAction;
}

/** At the default place a missing repository is no sign of a typing error or of a disk that is not mounted. */
function missingDefault(location: string, error: RepositoryNotFoundError): RepositoryNotFoundError {
  if (existsSync(location)) return error;
  const hint = '`ldm backup <path>` creates it. To use another repository, name it with -r or LDM_REPOSITORY.';
  return new RepositoryNotFoundError(`there is no repository yet at the default place, ${location}`, { hint });
}

/** Says what keeps a password from being used, which may be there. */
function passwordUnused(error: NoPasswordError, isOption: boolean, isVariable: boolean): NoPasswordError {
  const setting = isOption ? '--no-encryption' : isVariable ? 'LDM_NO_ENCRYPTION' : '`no-encryption` in the profile';
  return new NoPasswordError(error.message, {
    hint: `${setting} keeps the password from being used: remove it${isOption ? '' : ', or name the source of the password on the command line'}.`,
    cause: error,
  });
}

/** Says with `-v` what was done. */
async function extendRetention({ retention, output, verbosity }: Session): Promise<void> {
  for (const text of await retention.extend()) if (verbosity > 0 && !output.json) output.remark(text);
}

async function noCommand(): Promise<never> {
  throw new Error('this program runs no other commands');
}

function programOf(command: Command): Command {
  return command.parent === null ? command : programOf(command.parent);
}

/** `runCommand`: runs another command of the program. */
export function createCommandRunner(runCommand: RunCommand = noCommand, changes: OutputChanges = {}): CommandRunner {
  const runner: CommandRunner = {
    exitCode: EXIT_SUCCESS,
    failureExitCode: EXIT_FAILURE,
    output: undefined,
    inSession:
      <Arguments extends unknown[]>(handler: CommandHandler<Arguments>): CommandAction =>
      async (...received) => {
        const [{ Output }, { resolveSettings }, { withEnvironment }, profiles] = await Promise.all([
          import('./output/output.ts'),
          import('./settings/settings.ts'),
          import('./settings/environment.ts'),
          import('./settings/profile.ts'),
        ]);
        const command = received.pop() as Command;
        const options = command.optsWithGlobals<GlobalOptions>();
        const given = withEnvironment(options, process.env);
        const profile = await profiles.readProfile(given, process.env, programOf(command));
        if (profile !== undefined) profiles.applyToCommand(profile, command, received);
        const globals = profiles.withProfile(given, profile);
        runner.output = new Output({ json: globals.json === true, quiet: globals.quiet === true, ...changes });
        if (profile !== undefined && changes.isProfileKnown !== true)
          profiles.reportProfile(runner.output, profile, given);
        const settings = resolveSettings(globals, process.env);
        // The operations are loaded only after the command line and the settings were found valid.
        const [{ openSession }, { limitHeap }] = await Promise.all([
          import('./session.ts'),
          import('./heap-limits.ts'),
        ]);
        limitHeap(settings.limits.memoryBytes !== undefined);
        const session = await openSession(
          profile === undefined ? globals : { ...globals, profile: profile.name },
          settings,
          runner.output,
        );
        try {
          runner.exitCode = await handler(session, ...(received as Arguments));
          await extendRetention(session);
        } catch (error) {
          if (error instanceof NoPasswordError && globals.encryption === false) {
            throw passwordUnused(error, options.encryption === false, given.encryption === false);
          }
          const isDefaultMissing = settings.isDefaultRepository && error instanceof RepositoryNotFoundError;
          throw isDefaultMissing ? missingDefault(settings.repository, error) : error;
        } finally {
          await session.close();
        }
      },
    withoutSession:
      <Arguments extends unknown[]>(handler: BareHandler<Arguments>): CommandAction =>
      async (...received) => {
        const [{ Output }, { withEnvironment }] = await Promise.all([
          import('./output/output.ts'),
          import('./settings/environment.ts'),
        ]);
        const command = received.pop() as Command;
        const given = withEnvironment(command.optsWithGlobals<GlobalOptions>(), process.env);
        runner.output = new Output({ json: given.json === true, quiet: given.quiet === true, ...changes });
        const surroundings = { output: runner.output, given, program: programOf(command), runCommand };
        runner.exitCode = await handler(surroundings, ...(received as Arguments));
      },
  };
  return runner;
}
