import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { vi } from 'vitest';

import { cleanEnvironment, expectDocumented, runLdm } from './run-ldm.ts';
import type { RunLdmOptions, RunLdmResult } from './run-ldm.ts';

/** Where the program listens, and must not afterwards. */
const EMITTERS: readonly NodeJS.EventEmitter[] = [process, process.stdout, process.stderr];

// Tests that share the process may have left listeners of outputs of their own. A warning about them would be captured.
for (const emitter of EMITTERS) emitter.setMaxListeners(0);

/** What vitest keeps of the modules of this process, as far as it is used here. */
interface LoadedModule {
  evaluated: boolean;
  promise: unknown;
  exports: unknown;
}
interface Runner {
  readonly evaluatedModules?: { readonly fileToModulesMap?: ReadonlyMap<string, Iterable<LoadedModule>> };
}

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

const BUILT_MAIN = join(import.meta.dirname, '../../dist/cli/main.js');

let builtCount = 0;
let previous: Promise<unknown> = Promise.resolve();

/**
 * Runs the command line in this process, from its sources: to start a process takes ten times as long as what most
 * commands do. For tests that are about what a command says and does, and not about signals, terminals, standard input
 * or several processes; what gives an input or options of Node, or wants the process id, gets one. One command runs at a time.
 */
export async function runLdmHere(args: readonly string[], options: RunLdmOptions = {}): Promise<RunLdmResult> {
  return await runHere(args, options, importMain);
}

/** The same with the built program. For tests of what the build has put together. */
export async function runBuiltHere(args: readonly string[], options: RunLdmOptions = {}): Promise<RunLdmResult> {
  return await runHere(args, options, importBuiltMain);
}

async function runHere(
  args: readonly string[],
  options: RunLdmOptions,
  importProgram: () => Promise<unknown>,
): Promise<RunLdmResult> {
  const needsProcess = [options.input, options.onStart, options.env?.['NODE_OPTIONS']].some(
    (value) => value !== undefined,
  );
  if (needsProcess) return await runLdm(args, options);
  const running = previous.then(async () => runAlone(args, options, importProgram));
  previous = running.catch(() => undefined);
  return await running;
}

async function runAlone(
  args: readonly string[],
  options: RunLdmOptions,
  importProgram: () => Promise<unknown>,
): Promise<RunLdmResult> {
  const stdout = captureWrites(process.stdout);
  const stderr = captureWrites(process.stderr);
  const endings = [stdout.end, stderr.end, forgetListeners(), replaceSurroundings(args, options)];
  let code: number | undefined;
  const exit = process.exit.bind(process);
  process.exit = ((exitCode: number) => void (code = exitCode)) as typeof process.exit;
  try {
    await importProgram();
  } finally {
    process.exit = exit;
    for (const end of endings.toReversed()) end();
  }
  if (code === undefined) throw new Error('it did not run: see where vitest keeps its modules');
  const result = { code, signal: null, stdout: stdout.text(), stderr: stderr.text() };
  await expectDocumented(args, result);
  return result;
}

async function importMain(): Promise<void> {
  forgetThatMainHasRun();
  await import('../../src/cli/main.ts');
}

/** As Node does it: vitest leaves what such a URL contains alone. Each name is a new module, which runs. */
async function importBuiltMain(): Promise<void> {
  builtCount += 1;
  const main = `${pathToFileURL(BUILT_MAIN).href}?run=${builtCount}`;
  const code = encodeURIComponent(`await import(${JSON.stringify(main)})`);
  await import(/* @vite-ignore */ `data:text/javascript,${code}`);
}

/**
 * Lets the next import of the main module run it again, while what it imports stays as it is. To import it under another
 * name would do the same, but for each name the process of the runner transforms it anew, which takes longer than most
 * commands.
 */
function forgetThatMainHasRun(): void {
  const { evaluatedModules } = (globalThis as { __vitest_worker__?: Runner }).__vitest_worker__ ?? {};
  for (const module of evaluatedModules?.fileToModulesMap?.get(MAIN) ?? []) {
    module.evaluated = false;
    module.promise = undefined;
    module.exports = undefined;
  }
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
