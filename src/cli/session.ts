import { LocalBackend } from '../backend/local-backend.ts';
import { createProgress } from '../operations/context.ts';
import type { OperationContext } from '../operations/context.ts';
import { NoticePrinter } from './notice-printer.ts';
import type { Output } from './output.ts';
import { startProgressDisplay } from './progress-display.ts';
import { displayFps } from './settings.ts';
import type { GlobalOptions, Settings } from './settings.ts';
import { interruptionSignal } from './signals.ts';

const DEFAULT_JSON_FPS = 1;

/** The context and the output of one command. */
export interface Session {
  readonly context: OperationContext;
  readonly output: Output;
  /** The number of `-v` options. */
  readonly verbosity: number;
  /** No repository was named, so the default place is used. */
  readonly isDefaultRepository: boolean;
  /** Call this before the summary; it ends the notices about single files. */
  finishNotices(): void;
  close(): Promise<void>;
}

/** Creates the backend and starts the progress display. Does not access the repository. */
export function openSession(options: GlobalOptions, settings: Settings, output: Output): Session {
  interruptionSignal.throwIfAborted();
  const backend = new LocalBackend(settings.repository);
  const progress = createProgress();
  const notices = new NoticePrinter(output, options.verbose);
  const display = startProgressDisplay({
    progress,
    output,
    enabled: options.progress && !output.quiet,
    terminalFps: displayFps(settings),
    jsonFps: settings.progressFps ?? DEFAULT_JSON_FPS,
  });
  return {
    context: {
      backend,
      lockWaitMs: settings.lockWaitMs,
      signal: interruptionSignal,
      progress,
      onNotice: (notice) => notices.print(notice),
      awaitOutput: () => output.caughtUp(interruptionSignal),
    },
    output,
    verbosity: options.verbose,
    isDefaultRepository: settings.isDefaultRepository,
    finishNotices: () => notices.finish(),
    close: async () => {
      display.stop();
      notices.finish();
      await backend.close();
    },
  };
}
