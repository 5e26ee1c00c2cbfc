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

/** What one command works on, and how it prints. */
export interface Session {
  readonly context: OperationContext;
  readonly output: Output;
  /** 0, or how often `-v` was given. */
  readonly verbosity: number;
  /** The repository is at the default place because none was named. */
  readonly isDefaultRepository: boolean;
  /** To be called before the summary of what was reported file by file. */
  finishNotices(): void;
  close(): Promise<void>;
}

/** Creates the backend and starts to show progress. Does not touch the repository. */
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
