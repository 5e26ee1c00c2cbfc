import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { dirname } from 'node:path';

import { onTestFinished } from 'vitest';

import { ldmProgram } from '../support/run-ldm.ts';

/** Against a program that hangs. */
export const RUN_TIMEOUT_MS = 300_000;

/** A running `ldm` that a test talks with while it works. */
export interface RunningLdm {
  readonly child: ChildProcess;
  /** Resolves when what was said so far matches; rejects when the program ends before that. */
  stdoutMatching(pattern: RegExp): Promise<string>;
  stderrMatching(pattern: RegExp): Promise<string>;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

export interface StartLdmOptions {
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Gives it a pipe as stdin, which stays open until the test closes it. Without it, stdin is empty. */
  readonly hasInput?: boolean;
  readonly cwd?: string;
}

/** Starts the built program with a home of its own. */
export function startLdm(args: readonly string[], options: StartLdmOptions): RunningLdm {
  return startProgram([process.execPath, ldmProgram, ...args], options);
}

/** The same by its own name, as a shell would start it, below `nohup`. */
export function startLdmWithNohup(args: readonly string[], { home }: StartLdmOptions): RunningLdm {
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`;
  return startProgram(['nohup', ldmProgram, ...args], { home, env: { PATH: path } });
}

/**
 * The same on a terminal of 100 columns, where stdout and stderr are one. The first line says the process id, since the
 * child is `script`, which keeps the terminal.
 */
export function startLdmOnTerminal(args: readonly string[], options: StartLdmOptions): RunningLdm {
  return startProgram(
    ['script', '-qefc', `stty cols 100; echo pid $$; exec ${commandLine(args)}`, '/dev/null'],
    options,
  );
}

/**
 * The same for a test that takes the terminal away by ending `script`. A shell passes the signal on, as shells do, and
 * writes the exit code to `codeFile`.
 */
export function startLdmOnLostTerminal(
  args: readonly string[],
  { codeFile, ...options }: StartLdmOptions & { readonly codeFile: string },
): RunningLdm {
  const line = `stty cols 100; ${commandLine(args)} & trap "kill -HUP $!" HUP; wait $!; wait $!; echo code $? > '${codeFile}'`;
  return startProgram(['script', '-qefc', line, '/dev/null'], options);
}

function commandLine(args: readonly string[]): string {
  return [process.execPath, ldmProgram, ...args].map((word) => `'${word}'`).join(' ');
}

/** The same for an ldm that starts in another way. */
export function startProgram(
  [program, ...args]: readonly string[],
  { home, env = {}, hasInput = false, cwd }: StartLdmOptions,
): RunningLdm {
  const child = spawn(program!, args, {
    cwd,
    env: { PATH: process.env['PATH'], HOME: home, TERM: 'xterm', ...env },
    stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    timeout: RUN_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const stdoutMatching = watch(child.stdout!, ended);
  return { child, stdoutMatching, stderrMatching: watch(child.stderr!, ended), ended };
}

function watch(stream: NodeJS.ReadableStream, ended: Promise<unknown>): (pattern: RegExp) => Promise<string> {
  let text = '';
  const waiting = new Set<() => void>();
  stream.on('data', (bytes: Buffer) => {
    text += bytes.toString();
    for (const look of waiting) look();
  });
  return async (pattern) =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!pattern.test(text)) return;
        waiting.delete(look);
        resolve(text);
      };
      waiting.add(look);
      look();
      void ended.then(() => reject(new Error(`ldm ended before it said ${pattern}: ${JSON.stringify(text)}`)));
    });
}
