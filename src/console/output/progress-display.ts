import type Ora from 'ora';
import type { Progress } from '../../core/session/progress.ts';
import { isAsciiOnly } from './locale.ts';
import type { Output } from './output.ts';
import { ProgressRate } from './progress-rate.ts';
import { setStatusDescription } from '../signals.ts';
import { formatStatus, statusFields } from './status.ts';

/** Shows the progress of an operation until `stop` is called. */
interface ProgressDisplay {
  stop(): void;
  /** Runs work that needs the terminal or stdout for itself, such as a question. Nothing is drawn meanwhile. */
  suspendedDuring<T>(work: () => Promise<T>): Promise<T>;
}

/** Draws the progress. */
interface Drawing {
  stop(): void;
}

interface ProgressDisplayOptions {
  readonly progress: Progress;
  readonly output: Output;
  /** If false, only SIGUSR1 prints the progress. */
  readonly enabled: boolean;
  /** How often per second to show it, if the user has said that. */
  readonly fps: number | undefined;
  /** A program that is started to reach the repository may ask on this terminal until the operation has begun. */
  readonly mayBeAsked?: boolean;
}

interface Display extends ProgressDisplayOptions {
  readonly rate: ProgressRate;
  readonly isAscii: boolean;
}

/**
 * When the spinner begins, from the start of the process: a person waits no longer than 0.3 s for a sign, and its module
 * takes time to load. Commands that finish sooner need none.
 */
const SPINNER_START_MS = 160;
const SPINNER_DELAY_MS_MIN = 20;
const SPINNER_POLL_MS = 100;
/** Of the line on a terminal. People cannot read faster, so a higher rate changes nothing. */
const TERMINAL_FPS = 10;
/** Of `status` lines with `--json`. */
const JSON_FPS = 1;
/** For a terminal that cannot redraw a line. */
const PLAIN_LINE_FPS = 1 / 30;

/** A spinner on a terminal, `status` lines with `--json`, and nothing if the output is piped, unless a rate was given. */
export function startProgressDisplay(options: ProgressDisplayOptions): ProgressDisplay {
  const display: Display = { ...options, rate: new ProgressRate(options.progress), isAscii: isAsciiOnly() };
  const { progress, output, rate, isAscii } = display;
  const startedAt = performance.now();
  const describeAsJson = (): string =>
    JSON.stringify({ message_type: 'status', ...statusFields(progress, rate, performance.now() - startedAt) });
  setStatusDescription(() =>
    output.json ? describeAsJson() : `ldm: ${formatStatus(progress, rate, { ascii: isAscii })}`,
  );
  const isWatched = output.json || process.stderr.isTTY || options.fps !== undefined;
  if (!options.enabled || !(isWatched || isContinuousIntegration())) {
    return { stop: () => {}, suspendedDuring: async (work) => work() };
  }
  progress.isShown = isWatched;
  return suspendable(() => {
    if (output.json) return startStatusLines(display, startedAt);
    return canRedraw() ? startSpinnerLater(display) : startPlainLines(display);
  });
}

function suspendable(start: () => Drawing): ProgressDisplay {
  let drawing = start();
  let isStopped = false;
  let suspendedCount = 0;
  return {
    stop: () => {
      isStopped = true;
      drawing.stop();
    },
    suspendedDuring: async (work) => {
      drawing.stop();
      suspendedCount += 1;
      try {
        return await work();
      } finally {
        suspendedCount -= 1;
        if (!isStopped && suspendedCount === 0) drawing = start();
      }
    },
  };
}

/** A job that prints nothing for minutes is taken for one that hangs, and is ended. */
function isContinuousIntegration(): boolean {
  return !['', '0', 'false'].includes(process.env['CI'] ?? '');
}

/** A terminal of unknown width has 0 columns, for which ora would clear lines forever. */
function canRedraw(): boolean {
  return process.stderr.columns > 0 && process.env['TERM'] !== 'dumb';
}

function startStatusLines({ progress, output, rate, fps = JSON_FPS }: Display, startedAt: number): Drawing {
  return repeat(1000 / fps, () => {
    rate.sample(performance.now());
    output.message('status', statusFields(progress, rate, performance.now() - startedAt));
    output.flush();
  });
}

function startPlainLines({ progress, rate, isAscii, fps = PLAIN_LINE_FPS }: Display): Drawing {
  const columns = process.stderr.columns || 80;
  rate.sample(performance.now());
  return repeat(1000 / fps, () => {
    rate.sample(performance.now());
    process.stderr.write(`${formatStatus(progress, rate, { columns, ascii: isAscii })}\n`);
  });
}

function repeat(intervalMs: number, action: () => void): Drawing {
  const timer = setInterval(action, intervalMs);
  return { stop: () => clearInterval(timer) };
}

function startSpinnerLater(display: Display): Drawing {
  const { mayBeAsked = false, progress } = display;
  let isStopped = false;
  let stopDrawing = mayBeAsked ? startQuietLine(display) : (): void => {};
  const begin = async (): Promise<void> => {
    if (mayBeAsked && progress.phase === '') return beginIn(SPINNER_POLL_MS);
    const { default: ora } = await import('ora');
    if (isStopped) return;
    stopDrawing();
    stopDrawing = startSpinner(ora, display);
  };
  let timer: NodeJS.Timeout;
  const beginIn = (delayMs: number): void => {
    timer = setTimeout(() => void begin(), delayMs);
  };
  beginIn(Math.max(SPINNER_DELAY_MS_MIN, SPINNER_START_MS - performance.now()));
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      stopDrawing();
    },
  };
}

/** A line that does not move, so that a program can ask for a password behind it. */
function startQuietLine({ output }: Display): () => void {
  process.stderr.write('connecting... ');
  const clear = (): void => void process.stderr.write('\r\u001b[K');
  const end = (): void => {
    output.setStatusPause((write) => write());
    clear();
  };
  output.setStatusPause((write) => {
    end();
    write();
  });
  return end;
}

function startSpinner(ora: typeof Ora, { progress, output, rate, isAscii, fps = TERMINAL_FPS }: Display): () => void {
  const intervalMs = 1000 / Math.min(fps, TERMINAL_FPS);
  const spinner = ora({
    stream: process.stderr,
    isEnabled: true,
    // Raw mode would bypass the signal handler for Ctrl+C.
    discardStdin: false,
    color: (process.env['NO_COLOR'] ?? '') === '' ? 'cyan' : false,
    interval: intervalMs,
    ...(isAscii ? { spinner: 'line' as const } : {}),
  });
  const draw = (): void => {
    rate.sample(performance.now());
    spinner.text = formatStatus(progress, rate, { columns: process.stderr.columns - 3, ascii: isAscii });
  };
  draw();
  spinner.start();
  const redrawing = repeat(intervalMs, draw);
  output.setStatusPause((write) => {
    spinner.clear();
    write();
    spinner.render();
  });
  return () => {
    redrawing.stop();
    spinner.stop();
    output.setStatusPause((write) => write());
  };
}
