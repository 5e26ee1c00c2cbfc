import { createProgress } from '../core/session/progress.ts';
import type { OperationContext, OtherRepository } from '../core/session/context.ts';
import type { PasswordSource } from '../core/session/unlock.ts';
import { UsageError } from '../core/errors.ts';
import { escapeForTerminal } from './output/display-path.ts';
import { hasPassword } from './settings/environment.ts';
import { NoticePrinter } from './output/notice-printer.ts';
import type { Output } from './output/output.ts';
import type { BucketRetention } from './bucket-retention.ts';
import { createPasswordSource, findPasswordOrigin, fromOptions, wipePasswords } from './password/password-source.ts';
import type { PasswordOptions, PasswordQuestions, PasswordSurroundings } from './password/password-source.ts';
import { Places } from './settings/places.ts';
import { startProgressDisplay } from './output/progress-display.ts';
import { StoredMemory } from './repository-memory.ts';
import { isSftpPlace } from '../places/place.ts';
import { resolveLocation } from './settings/settings.ts';
import type { Settings } from './settings/settings.ts';
import type { GlobalOptions } from './settings/environment.ts';
import { interruptionSignal } from './signals.ts';

/** Options of the commands that set a new password. */
export interface NewPasswordFlags {
  readonly newPasswordFile?: string;
  readonly newPasswordCommand?: string;
}

/** Of a second repository. */
interface OtherPasswordOptions extends PasswordOptions {
  /** It is expected not to be encrypted. */
  readonly isPlain?: boolean | undefined;
}

/** The context and the output of one command. */
export interface Session {
  readonly context: OperationContext;
  readonly output: Output;
  /** The number of `-v` options. */
  readonly verbosity: number;
  /** The name of the profile that is used. */
  readonly profile: string | undefined;
  /** No repository was named, so the default place is used. */
  readonly isDefaultRepository: boolean;
  /** The user wants no encryption. */
  readonly isPlain: boolean;
  /** Where this machine remembers the last checks of repositories. */
  readonly checksDirectory: string | undefined;
  /** Returns where a new password comes from: what the options say, else the terminal. */
  newPassword(flags: NewPasswordFlags): PasswordSource;
  /** Opens the place of a second repository. Its password is that of the first one, unless the options name another source; `prefix` is that of their names. The session closes it. */
  openOther(place: string, passwordOptions: OtherPasswordOptions, prefix: string): Promise<OtherRepository>;
  /** Returns where the password of a realm key file comes from: what the options say, else the terminal; `prefix`: as for `openOther`. */
  realmPassword(file: string, passwordOptions: PasswordOptions, prefix: string): PasswordSource;
  /** Ends the display of the progress, for a command that goes on when its work is done. */
  endProgress(): void;
  /** Call this before anything else in a command that writes bytes to stdout: a line about the progress would be among them. */
  keepStdoutForData(): void;
  /** Call this before the summary; it ends the notices about single files. */
  finishNotices(): void;
  /** Of what is in buckets. */
  readonly retention: BucketRetention;
  close(): Promise<void>;
}

/** Creates the backend and starts the progress display. Does not access the repository. */
export async function openSession(options: GlobalOptions, settings: Settings, output: Output): Promise<Session> {
  interruptionSignal.throwIfAborted();
  output.verbosity = options.verbose;
  const origin = findPasswordOrigin(options, process.env);
  const isPlain = options.encryption === false;
  assertPlainHasNoPassword(isPlain, options, '--');
  const places = new Places(settings, (message) => warn(output, message));
  const backend = await places.open(settings.repository);
  output.addToSummaries(() => places.trafficFields);
  const progress = createProgress();
  const notices = new NoticePrinter(output, options.verbose, settings.repository);
  const [enabled, mayBeAsked] = [options.progress && !output.quiet, isSftpPlace(settings.repository)];
  const display = startProgressDisplay({ progress, output, enabled, fps: settings.progressFps, mayBeAsked });
  const surroundings: PasswordSurroundings = {
    environment: process.env,
    signal: interruptionSignal,
    warn: (message) => warn(output, message),
    withoutStatus: async (work) => display.suspendedDuring(work),
  };
  return {
    context: {
      backend,
      openPlace: async (place) => places.openGroup(place),
      lockWaitMs: settings.lockWaitMs,
      limits: settings.limits,
      signal: interruptionSignal,
      progress,
      onNotice: (notice) => notices.print(notice),
      memory: memoryOf(settings, output, options.verbose),
      password: isPlain
        ? undefined
        : createPasswordSource(origin, questionsAbout(settings.repository), surroundings, hasPassword(options)),
      awaitOutput: () => output.caughtUp(interruptionSignal),
    },
    output,
    verbosity: options.verbose,
    profile: options.profile,
    isDefaultRepository: settings.isDefaultRepository,
    isPlain,
    checksDirectory: settings.checksDirectory,
    newPassword: ({ newPasswordFile, newPasswordCommand }) => {
      const given = { passwordFile: newPasswordFile, passwordCommand: newPasswordCommand };
      const questions = { ...questionsAbout(settings.repository), advice: 'give-new-password' } as const;
      return createPasswordSource(fromOptions(given, '--new-'), questions, surroundings);
    },
    openOther: async (place, passwordOptions, prefix) => {
      assertPlainHasNoPassword(passwordOptions.isPlain === true, passwordOptions, prefix);
      const other = await places.open(resolveLocation(place));
      if (passwordOptions.isPlain === true) return { backend: other, password: undefined };
      const own = fromOptions(passwordOptions, prefix);
      const questions = questionsAbout(other.location);
      const password = createPasswordSource(own ?? origin, questions, surroundings, own !== undefined);
      return { backend: other, password };
    },
    realmPassword: (file, passwordOptions, prefix) =>
      createPasswordSource(fromOptions(passwordOptions, prefix), realmQuestions(file, prefix), surroundings),
    endProgress: () => display.stop(),
    keepStdoutForData: () => {
      if (output.json || process.stdout.isTTY) display.stop();
    },
    finishNotices: () => notices.finish(),
    retention: places.retention,
    close: async () => {
      display.stop();
      notices.finish();
      await wipePasswords();
      await places.close();
    },
  };
}

function assertPlainHasNoPassword(isPlain: boolean, options: PasswordOptions, prefix: string): void {
  if (isPlain && fromOptions(options, prefix) !== undefined) {
    throw new UsageError(`${prefix}no-encryption and a password cannot be combined`);
  }
}

function memoryOf({ memoryDirectory }: Settings, output: Output, verbosity: number): StoredMemory {
  return new StoredMemory(memoryDirectory, {
    warn: (message) => warn(output, message),
    note: (message) => {
      if (verbosity > 0) note(output, message);
    },
  });
}

function questionsAbout(repository: string): PasswordQuestions {
  const place = escapeForTerminal(repository);
  return {
    current: `Password of the repository ${place}: `,
    new: `New password for the repository ${place}: `,
    advice: 'give-password',
  };
}

function realmQuestions(file: string, prefix: string): PasswordQuestions {
  const place = escapeForTerminal(file);
  return {
    current: `Password of the realm key file ${place}: `,
    new: `New password for the realm key file ${place}: `,
    advice: prefix === '--new-' ? 'give-new-password' : 'give-realm-password',
  };
}

function note(output: Output, message: string): void {
  output.problem(`ldm: ${escapeForTerminal(message)}`, 'notice', { kind: 'note', message });
}

function warn(output: Output, message: string): void {
  output.problem(`ldm: warning: ${escapeForTerminal(message)}`, 'notice', { kind: 'warning', message });
}
