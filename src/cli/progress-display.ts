import type Ora from 'ora';
import type { Progress } from '../operations/context.ts';
import { setStatusDescription } from './signals.ts';
import type { Output } from './output.ts';
import { formatStatus, statusFields } from './status.ts';

/** Shows how an operation comes along until it is stopped. */
export interface ProgressDisplay {
  stop(): void;
}

export interface ProgressDisplayOptions {
  readonly progress: Progress;
  readonly output: Output;
  /** False: nothing moves; SIGUSR1 still gets its answer. */
  readonly enabled: boolean;
  /** How often the line on a terminal is drawn. */
  readonly terminalFps: number;
  /** How often a `status` line is written with `--json`. */
  readonly jsonFps: number;
}

/** What is done by then needs no spinner, and the module that draws it costs time to load. */
const SPINNER_DELAY_MS = 300;

/** A spinner on a terminal, `status` lines with `--json`, nothing at all where output is piped. */
export function startProgressDisplay(options: ProgressDisplayOptions): ProgressDisplay {
  const { progress, output, jsonFps } = options;
  const startedAt = performance.now();
  setStatusDescription(() =>
    output.json
      ? JSON.stringify({ message_type: 'status', ...statusFields(progress, performance.now() - startedAt) })
      : `ldm: ${formatStatus(progress)}`,
  );
  if (options.enabled && output.json) return startStatusLines(options, startedAt, jsonFps);
  if (options.enabled && canDraw()) return startSpinnerLater(options);
  return { stop: () => {} };
}

/** A terminal that does not know its width counts as 0 columns wide, and ora would clear its lines without end. */
function canDraw(): boolean {
  return process.stderr.isTTY && process.stderr.columns > 0 && process.env['TERM'] !== 'dumb';
}

function startStatusLines(
  { progress, output }: ProgressDisplayOptions,
  startedAt: number,
  fps: number,
): ProgressDisplay {
  const timer = setInterval(() => {
    output.message('status', statusFields(progress, performance.now() - startedAt));
    output.flush();
  }, 1000 / fps);
  return { stop: () => clearInterval(timer) };
}

function startSpinnerLater(options: ProgressDisplayOptions): ProgressDisplay {
  let isStopped = false;
  let stopSpinner = (): void => {};
  const begin = async (): Promise<void> => {
    const { default: ora } = await import('ora');
    if (!isStopped) stopSpinner = startSpinner(ora, options);
  };
  const timer = setTimeout(() => {
    void begin();
  }, SPINNER_DELAY_MS);
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      stopSpinner();
    },
  };
}

function startSpinner(ora: typeof Ora, options: ProgressDisplayOptions): () => void {
  const intervalMs = 1000 / options.terminalFps;
  const spinner = ora({
    stream: process.stderr,
    isEnabled: true,
    // Raw mode would take Ctrl+C away from the signal handlers.
    discardStdin: false,
    color: (process.env['NO_COLOR'] ?? '') === '' ? 'cyan' : false,
    interval: intervalMs,
  });
  const draw = (): void => {
    spinner.text = formatStatus(options.progress, process.stderr.columns - 3);
  };
  draw();
  spinner.start();
  const timer = setInterval(draw, intervalMs);
  options.output.setStatusPause((write) => {
    spinner.clear();
    write();
    spinner.render();
  });
  return () => {
    clearInterval(timer);
    spinner.stop();
    options.output.setStatusPause((write) => write());
  };
}
