import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

import { ldmProgram } from '../support/run-ldm.ts';

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
}

/** Starts the built program with a home of its own. */
export function startLdm(args: readonly string[], { home, env = {} }: StartLdmOptions): RunningLdm {
  const child = spawn(process.execPath, [ldmProgram, ...args], {
    env: { PATH: process.env['PATH'], HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const stdoutMatching = watch(child.stdout, ended);
  return { child, stdoutMatching, stderrMatching: watch(child.stderr, ended), ended };
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
