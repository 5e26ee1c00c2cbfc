import { vi } from 'vitest';

import { cleanEnvironment, expectDocumented, runLdm } from './run-ldm.ts';
import type { RunLdmOptions, RunLdmResult } from './run-ldm.ts';

/** Where the program listens, and must not afterwards. */
const EMITTERS: readonly NodeJS.EventEmitter[] = [process, process.stdout, process.stderr];

// Tests that share the process may have left listeners of outputs of their own. A warning about them would be captured.
for (const emitter of EMITTERS) emitter.setMaxListeners(0);

let runCount = 0;
let previous: Promise<unknown> = Promise.resolve();

/**
 * Runs the command line in this process, from its sources: to start a process takes ten times as long as what most
 * commands do. For tests that are about what a command says and does, and not about signals, terminals, standard input
 * or several processes; what gives an input or options of Node, or wants the process id, gets one. One command runs at a time.
 */
export async function runLdmHere(args: readonly string[], options: RunLdmOptions = {}): Promise<RunLdmResult> {
  const needsProcess = [options.input, options.onStart, options.env?.['NODE_OPTIONS']].some(
    (value) => value !== undefined,
  );
  if (needsProcess) return await runLdm(args, options);
  const running = previous.then(async () => runAlone(args, options));
  previous = running.catch(() => undefined);
  return await running;
}

async function runAlone(args: readonly string[], options: RunLdmOptions): Promise<RunLdmResult> {
  const stdout = captureWrites(process.stdout);
  const stderr = captureWrites(process.stderr);
  const endings = [stdout.end, stderr.end, forgetListeners(), replaceSurroundings(args, options)];
  let code = 0;
  const exit = process.exit.bind(process);
  process.exit = ((exitCode: number) => void (code = exitCode)) as typeof process.exit;
  try {
    // The query makes it a new module each time, which runs; what it imports is loaded once.
    runCount += 1;
    await import(/* @vite-ignore */ `../../src/cli/main.ts?run=${runCount}`);
  } finally {
    process.exit = exit;
    for (const end of endings.toReversed()) end();
  }
  const result = { code, signal: null, stdout: stdout.text(), stderr: stderr.text() };
  await expectDocumented(args, result);
  return result;
}

function captureWrites(stream: NodeJS.WriteStream): { readonly text: () => string; readonly end: () => void } {
  const written: Buffer[] = [];
  const write = vi.spyOn(stream, 'write').mockImplementation((chunk, ...rest: unknown[]): boolean => {
    written.push(typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(Uint8Array.from(chunk)));
    const callback = rest.find((value) => typeof value === 'function') as (() => void) | undefined;
    if (callback !== undefined) queueMicrotask(callback);
    return true;
  });
  return { text: () => Buffer.concat(written).toString(), end: () => write.mockRestore() };
}

/** Remembers who listens; the function that comes back removes everybody else. */
function forgetListeners(): () => void {
  const before = EMITTERS.map(
    (emitter) => new Map(emitter.eventNames().map((name) => [name, new Set(emitter.rawListeners(name))])),
  );
  return () => {
    for (const [index, emitter] of EMITTERS.entries()) {
      for (const name of emitter.eventNames()) {
        for (const listener of emitter.rawListeners(name)) {
          if (before[index]!.get(name)?.has(listener) !== true) emitter.off(name, listener as () => void);
        }
      }
    }
  };
}

/** Arguments, environment and current directory; the function that comes back gives ours back. */
function replaceSurroundings(args: readonly string[], { cwd, env }: RunLdmOptions): () => void {
  const [ownArguments, ownEnvironment, ownDirectory] = [process.argv, { ...process.env }, process.cwd()];
  process.argv = [...process.argv.slice(0, 2), ...args];
  setEnvironment(cleanEnvironment(env ?? {}));
  if (cwd !== undefined) process.chdir(cwd);
  return () => {
    process.argv = ownArguments;
    setEnvironment(ownEnvironment);
    process.chdir(ownDirectory);
  };
}

/** In place: a copy of `process.env` is not the environment. */
function setEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (environment[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) process.env[name] = value;
}
