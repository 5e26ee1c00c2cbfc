import { LocalBackend } from '../backend/local-backend.ts';
import { createProgress } from '../operations/context.ts';
import type { OperationContext, OtherRepository, PasswordSource } from '../operations/context.ts';
import { escapeForTerminal } from './display-path.ts';
import { NoticePrinter } from './notice-printer.ts';
import type { Output } from './output.ts';
import { createPasswordSource, findPasswordOrigin, fromOptions, wipePasswords } from './password/password-source.ts';
import type { PasswordOptions, PasswordQuestions, PasswordSurroundings } from './password/password-source.ts';
import { startProgressDisplay } from './progress-display.ts';
import { StoredMemory } from './repository-memory.ts';
import { displayFps, resolveLocation } from './settings.ts';
import type { GlobalOptions, Settings } from './settings.ts';
import { interruptionSignal } from './signals.ts';

const DEFAULT_JSON_FPS = 1;

/** Options of the commands that set a new password. */
export interface NewPasswordFlags {
  readonly newPasswordFile?: string;
  readonly newPasswordCommand?: string;
}

/** The context and the output of one command. */
export interface Session {
  readonly context: OperationContext;
  readonly output: Output;
  /** The number of `-v` options. */
  readonly verbosity: number;
  /** No repository was named, so the default place is used. */
  readonly isDefaultRepository: boolean;
  /** Returns where a new password comes from: what the options say, else the terminal. */
  newPassword(flags: NewPasswordFlags): PasswordSource;
  /** Opens the place of a second repository. Its password is that of the first one, unless the options name another source. The session closes it. */
  openOther(place: string, passwordOptions: PasswordOptions): OtherRepository;
  /** Call this before the summary; it ends the notices about single files. */
  finishNotices(): void;
  close(): Promise<void>;
}

/** Creates the backend and starts the progress display. Does not access the repository. */
export function openSession(options: GlobalOptions, settings: Settings, output: Output): Session {
  interruptionSignal.throwIfAborted();
  const origin = findPasswordOrigin(options, process.env);
  const backend = new LocalBackend(settings.repository);
  const others: LocalBackend[] = [];
  const progress = createProgress();
  const notices = new NoticePrinter(output, options.verbose);
  const display = startProgressDisplay({
    progress,
    output,
    enabled: options.progress && !output.quiet,
    terminalFps: displayFps(settings),
    jsonFps: settings.progressFps ?? DEFAULT_JSON_FPS,
  });
  const passwordSurroundings: PasswordSurroundings = {
    environment: process.env,
    signal: interruptionSignal,
    warn: (message) => warn(output, message),
    withoutStatus: async (work) => display.suspendedDuring(work),
  };
  return {
    context: {
      backend,
      lockWaitMs: settings.lockWaitMs,
      signal: interruptionSignal,
      progress,
      onNotice: (notice) => notices.print(notice),
      memory: new StoredMemory(settings.memoryDirectory, {
        warn: (message) => warn(output, message),
        note: (message) => {
          if (options.verbose > 0) note(output, message);
        },
      }),
      password: createPasswordSource(
        origin,
        questionsAbout(settings.repository),
        passwordSurroundings,
        fromOptions(options) !== undefined,
      ),
      awaitOutput: () => output.caughtUp(interruptionSignal),
    },
    output,
    verbosity: options.verbose,
    isDefaultRepository: settings.isDefaultRepository,
    newPassword: ({ newPasswordFile, newPasswordCommand }) => {
      const given = { passwordFile: newPasswordFile, passwordCommand: newPasswordCommand };
      const questions = { ...questionsAbout(settings.repository), advice: 'give-new-password' } as const;
      return createPasswordSource(fromOptions(given, '--new-'), questions, passwordSurroundings);
    },
    openOther: (place, passwordOptions) => {
      const other = new LocalBackend(resolveLocation(place));
      others.push(other);
      const own = fromOptions(passwordOptions, '--to-');
      const questions = questionsAbout(other.location);
      const password = createPasswordSource(own ?? origin, questions, passwordSurroundings, own !== undefined);
      return { backend: other, password };
    },
    finishNotices: () => notices.finish(),
    close: async () => {
      display.stop();
      notices.finish();
      await wipePasswords();
      for (const each of [backend, ...others]) await each.close();
    },
  };
}

function questionsAbout(repository: string): PasswordQuestions {
  const place = escapeForTerminal(repository);
  return {
    current: `Password of the repository ${place}: `,
    new: `New password for the repository ${place}: `,
    advice: 'give-password',
  };
}

function note(output: Output, message: string): void {
  output.problem(`ldm: ${escapeForTerminal(message)}`, 'notice', { kind: 'note', message });
}

function warn(output: Output, message: string): void {
  output.problem(`ldm: warning: ${escapeForTerminal(message)}`, 'notice', { kind: 'warning', message });
}
