import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';

import { makeTemporaryDirectory } from './temp-directory.ts';

export interface RunLdmOptions {
  /** Added to the environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** What the program reads on stdin; without it stdin is closed. */
  readonly input?: string | Uint8Array;
  readonly timeoutMs?: number;
  /** Called with the process id as soon as the program runs, for tests that send signals. */
  readonly onStart?: (pid: number) => void;
}

export interface RunLdmResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The built program; `npm test` builds it first. */
export const ldmProgram: string = join(import.meta.dirname, '..', '..', 'bin', 'ldm.js');

let home: string | undefined;

// Not when the process exits: the runner ends its processes without a word.
afterAll(() => {
  if (home !== undefined) rmSync(home, { recursive: true, force: true });
  home = undefined;
});

/** Runs the built program as a user would, with a home of its own, so that no test touches the real one. */
export async function runLdm(args: readonly string[], options: RunLdmOptions = {}): Promise<RunLdmResult> {
  const child = spawn(process.execPath, [ldmProgram, ...args], {
    cwd: options.cwd,
    env: cleanEnvironment(options.env ?? {}),
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: options.timeoutMs ?? 300_000,
    killSignal: 'SIGKILL',
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => stdout.push(bytes));
  child.stderr.on('data', (bytes: Buffer) => stderr.push(bytes));
  // A program that ends without reading its input closes the pipe; that is its right.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input);
  if (child.pid !== undefined) options.onStart?.(child.pid);
  const result = await new Promise<RunLdmResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      resolve({ code, signal, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() });
    });
  });
  await expectDocumented(args, result);
  return result;
}

/** Fails if a command has printed JSON that its schema does not describe. */
export async function expectDocumented(
  args: readonly string[],
  result: Pick<RunLdmResult, 'stdout' | 'stderr'>,
): Promise<void> {
  if (!`${result.stdout}\n${result.stderr}`.includes('{"message_type":')) return;
  const { undocumentedLines } = await import('./json-schemas.ts');
  expect(
    undocumentedLines(args, result),
    'see the schema beside the command, and run `npm run docs` after a change',
  ).toEqual([]);
}

export function cleanEnvironment(added: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(process.env)) {
    // NODE_OPTIONS and the variables of vitest would reach the program, and LDM_* would change what it does.
    if (!/^(LDM_|XDG_|VITEST|NODE_|NO_COLOR|FORCE_COLOR)/.test(name)) environment[name] = value;
  }
  return { ...environment, ...homeEnvironment(), ...added };
}

function homeEnvironment(): Record<string, string> {
  if (home === undefined) {
    home = makeTemporaryDirectory();
  }
  const paths: Record<string, string> = { HOME: home };
  for (const kind of ['CONFIG', 'CACHE', 'DATA', 'STATE', 'RUNTIME']) {
    const directory = join(home, kind.toLowerCase());
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    paths[kind === 'RUNTIME' ? 'XDG_RUNTIME_DIR' : `XDG_${kind}_HOME`] = directory;
  }
  return paths;
}
