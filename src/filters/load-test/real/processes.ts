import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { LdmError } from '../../../core/errors.ts';
import { startProgram } from '../../../core/util/programs.ts';

/** How much of what a process says is kept for an error. */
const SAID_CHARACTERS_MAX = 4000;
/** How long a process may take to end after SIGTERM. */
const END_MS = 10_000;
const POLL_MS = 20;
const MS_PER_TICK = 10;

/**
 * Reads lines until this process has ended, in whatever way: `PID` of a process that was started, `-PID` of one that has
 * ended. Then it ends those that are left, and removes the directory. The line `end` means that nothing is left to do.
 */
const WATCH = `
trap '' INT TERM HUP
pids=
while read -r line; do
  case $line in
    end) exit ;;
    -*)
      left=
      for pid in $pids; do [ "$pid" = "\${line#-}" ] || left="$left $pid"; done
      pids=$left ;;
    *) pids="$pids $line" ;;
  esac
done
if [ -n "$pids" ]; then kill -KILL $pids 2>/dev/null; fi
rm -rf -- "$1"
`;

/** A process that this one has started, and what it has said. */
export interface StartedProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Standard output and standard error, from the beginning. */
  readonly said: () => string;
}

/**
 * The processes of a load test, all of which end with it: by `close`, or, if this process is killed, by a shell that
 * waits for that. Only processes that were started here are ended, by their ids.
 */
export class Processes {
  readonly #variables: NodeJS.ProcessEnv;
  readonly #signal: AbortSignal | undefined;
  readonly #all: StartedProcess[] = [];
  readonly #watch: ChildProcess;

  /**
   * `directory`: removed if this process is killed. `variables`: of the environment of all. `signal`: waits end with its
   * reason.
   */
  constructor(directory: string, variables: NodeJS.ProcessEnv, signal: AbortSignal | undefined) {
    this.#variables = variables;
    this.#signal = signal;
    this.#watch = startProgram(['sh', '-c', WATCH, 'sh', directory], { stdio: ['pipe', 'ignore', 'ignore'] });
    // Without it, only a kill leaves something behind.
    this.#watch.on('error', () => undefined);
    this.#watch.stdin!.on('error', () => undefined);
  }

  start(command: readonly string[]): StartedProcess {
    const child = startProgram(command, { variables: this.#variables, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const hear = (bytes: Buffer): void => {
      text = (text + bytes.toString()).slice(0, SAID_CHARACTERS_MAX);
    };
    child.stdout!.on('data', hear);
    child.stderr!.on('data', hear);
    child.on('error', (error) => hear(Buffer.from(error.message)));
    const started = { pid: child.pid ?? 0, child, said: (): string => text.trim() };
    if (child.pid !== undefined) {
      this.#tell(`${child.pid}`);
      // Another process may get its number.
      child.once('exit', () => this.#tell(`-${child.pid}`));
    }
    this.#all.push(started);
    return started;
  }

  /**
   * Runs a command to its end.
   * @throws LdmError if it fails
   */
  async run(command: readonly string[]): Promise<void> {
    const started = this.start(command);
    await this.until(started, async () => hasEnded(started.child));
    if (started.child.exitCode !== 0) throw failure(started, command);
  }

  /**
   * Asks again and again until something is so.
   * @throws LdmError if the process ends meanwhile
   */
  async until(started: StartedProcess, isSo: () => Promise<boolean>): Promise<void> {
    while (!(await isSo())) {
      this.#signal?.throwIfAborted();
      if (hasEnded(started.child)) throw failure(started, started.child.spawnargs);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Ends all of them, the newest first. Returns when they have ended. */
  async close(): Promise<void> {
    for (const { child } of this.#all.toReversed()) await end(child);
    this.#tell('end');
    this.#watch.stdin!.end();
  }

  #tell(line: string): void {
    if (this.#watch.stdin!.writable) this.#watch.stdin!.write(`${line}\n`);
  }
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

function failure({ child, said }: StartedProcess, command: readonly string[]): LdmError {
  const how = child.signalCode ?? `exit code ${child.exitCode}`;
  return new LdmError(`${command.slice(0, 6).join(' ')} ended with ${how}: ${said()}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await ended;
  clearTimeout(timer);
}

/** Processor time that processes have used so far, in ms, to 10 ms each. Undefined: the system does not tell (proc(5)). */
export function processorMs(processes: readonly StartedProcess[]): number | undefined {
  try {
    let ticks = 0;
    for (const { pid } of processes) {
      // The name of the program, in parentheses, may have spaces.
      const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ');
      ticks += Number(fields[11]) + Number(fields[12]);
    }
    return ticks * MS_PER_TICK;
  } catch {
    return undefined;
  }
}
