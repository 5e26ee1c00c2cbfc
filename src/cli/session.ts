import { LocalBackend } from '../backend/local-backend.ts';
import { displayPath, escapeForTerminal } from '../files/display-path.ts';
import { createProgress } from '../operations/context.ts';
import type { Notice, OperationContext } from '../operations/context.ts';
import type { Output } from './output.ts';
import { pathFields } from './paths.ts';
import { startProgressDisplay } from './progress-display.ts';
import { displayFps } from './settings.ts';
import type { GlobalOptions, Settings } from './settings.ts';
import { interruptionSignal } from './signals.ts';

const DEFAULT_JSON_FPS = 1;

/** One command's surroundings: what it works on and how it speaks. */
export interface Session {
  readonly context: OperationContext;
  readonly output: Output;
  /** 0, or how often `-v` was given. */
  readonly verbosity: number;
  /** The repository is at the default place because nobody named one. */
  readonly isDefaultRepository: boolean;
  close(): Promise<void>;
}

/** Names the backend and starts showing progress. Touches no repository yet. */
export function openSession(options: GlobalOptions, settings: Settings, output: Output): Session {
  interruptionSignal.throwIfAborted();
  const backend = new LocalBackend(settings.repository);
  const progress = createProgress();
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
      onNotice: (notice) => reportNotice(output, options.verbose, notice),
    },
    output,
    verbosity: options.verbose,
    isDefaultRepository: settings.isDefaultRepository,
    close: async () => {
      display.stop();
      await backend.close();
    },
  };
}

/** Prints problems and warnings always, waiting and notes unless `--quiet`, and the rest only with `-v`. */
function reportNotice(output: Output, verbosity: number, notice: Notice): void {
  if ((notice.kind === 'lock-wait' || notice.kind === 'note') && output.quiet) return;
  if (notice.kind === 'info' && (verbosity === 0 || output.quiet)) return;
  const message = escapeForTerminal(notice.message);
  if (notice.path !== undefined) {
    const fields = pathFields(notice.path);
    const details = { error: { message: notice.message }, during: notice.during, item: fields.path, ...fields };
    output.problem(`ldm: ${displayPath(notice.path)}: ${message}`, 'error', details);
    return;
  }
  const prefix = notice.kind === 'warning' ? 'ldm: warning: ' : 'ldm: ';
  output.problem(`${prefix}${message}`, 'notice', { kind: notice.kind, message: notice.message });
}
