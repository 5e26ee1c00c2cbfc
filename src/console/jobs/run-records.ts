import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, readdirSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { LdmError } from '../../core/errors.ts';
import { reasonOf } from '../../core/files/paths/path-failures.ts';
import { replaceFile } from '../../core/files/target/replace-file.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import { type Unlock, tryLockFile } from '../../core/util/file-lock.ts';
import { makeDirectories } from '../../core/util/make-directories.ts';
import { xdgDirectory } from '../settings/directories.ts';

/** How a run ended. `killed`: its process ended without a word. */
export type RunResult = 'running' | 'success' | 'incomplete' | 'failed' | 'skipped' | 'interrupted' | 'killed';

/** A step that was run. */
export interface StepRecord {
  readonly name: string;
  /** RFC 3339 */
  readonly start: string;
  /** Undefined if the process ended during the step. */
  readonly exitCode?: number;
  readonly durationMs?: number;
}

/** A run of a profile, as it is recorded. */
export interface RunRecord {
  readonly id: string;
  /** RFC 3339 */
  readonly start: string;
  readonly result: RunResult;
  readonly exitCode?: number;
  readonly durationMs?: number;
  readonly steps: readonly StepRecord[];
  /** Why it failed or was skipped. */
  readonly message?: string;
  /** Of the backup. */
  readonly snapshotId?: string;
  readonly addedBytes?: number;
  readonly storedBytes?: number;
}

/** A line of the file. The first one of a run has its start; the last one everything. */
interface RecordLine {
  readonly event: 'begin' | 'step' | 'end';
  readonly id: string;
  readonly time?: string;
  readonly step?: string;
  readonly run?: RunRecord | undefined;
}

/** How often, and how long apart, a run tries to get its lock. */
const LOCK_ATTEMPTS = 10;
const LOCK_PAUSE_MS = 100;
const RUNS_MAX = 1000;
const SUFFIX = '.jsonl';

/** The records of the runs of one profile, in a file with a line for each event. Only the holder of its lock writes. */
export class RunRecords {
  readonly path: string;
  readonly lockPath: string;

  constructor(directory: string, profile: string) {
    const name = encodeURIComponent(profile);
    this.path = join(directory, `${name}${SUFFIX}`);
    this.lockPath = join(directory, `${name}.lock`);
  }

  begin(id: string, time: string): void {
    makeDirectories(dirname(this.path), { mode: 0o700 });
    this.#append({ event: 'begin', id, time });
  }

  beginStep(id: string, step: string, time: string): void {
    this.#append({ event: 'step', id, step, time });
  }

  end(run: RunRecord): void {
    this.#append({ event: 'end', id: run.id, run });
    this.#shorten();
  }

  /**
   * Returns the runs, oldest first. Calls `onDamage` with the numbers of lines that cannot be read.
   * @throws LdmError if the file cannot be read
   */
  read(isRunning: boolean, onDamage: (line: number) => void = () => undefined): RunRecord[] {
    const runs = new Map<string, RunRecord>();
    for (const [index, text] of this.#lines().entries()) {
      const line = parseLine(text);
      if (line === undefined) onDamage(index + 1);
      else applyLine(runs, line);
    }
    const found = [...runs.values()];
    return found.map((run, index) => {
      if (run.result !== 'running' || (isRunning && index === found.length - 1)) return run;
      return { ...run, result: 'killed', message: describeKilled(run) };
    });
  }

  /** The same, for others than the process that runs the profile. */
  readBeside(onDamage?: (line: number) => void): RunRecord[] {
    return this.read(this.#isRunning(), onDamage);
  }

  /**
   * Takes the lock of the profile, which a reader may have for a moment. Returns undefined if a run is under way.
   * @throws Error if there are no such locks here
   */
  async lock(): Promise<Unlock | undefined> {
    makeDirectories(dirname(this.lockPath), { mode: 0o700 });
    for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt += 1) {
      const unlock = tryLockFile(this.lockPath);
      if (unlock !== undefined) return unlock;
      await setTimeout(LOCK_PAUSE_MS);
    }
    return undefined;
  }

  #isRunning(): boolean {
    if (!existsSync(this.lockPath)) return false;
    try {
      const unlock = tryLockFile(this.lockPath);
      unlock?.();
      return unlock === undefined;
    } catch {
      // Without locks it is not known. A run that was killed long ago would look as if it went on.
      return false;
    }
  }

  #lines(): string[] {
    try {
      return readFileSync(this.path, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
    } catch (error) {
      return emptyIfAbsent(error, this.path);
    }
  }

  /** In one write, so that a killed process leaves at most one incomplete line, which the next one does not continue. */
  #append(line: RecordLine): void {
    const descriptor = openSync(this.path, 'a+', 0o600);
    try {
      const { size } = fstatSync(descriptor);
      const last = Buffer.alloc(1);
      const isTorn = size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
      writeSync(descriptor, `${isTorn ? '\n' : ''}${JSON.stringify(line)}\n`);
    } finally {
      closeSync(descriptor);
    }
  }

  /** Keeps the newest runs, and of each step the newest one that succeeded: it says when the step is due again. */
  #shorten(): void {
    const runs = this.read(false);
    if (runs.length <= RUNS_MAX + RUNS_MAX / 10) return;
    const kept = new Set(runs.slice(-RUNS_MAX));
    const steps = new Set(runs.flatMap((run) => run.steps.map(({ name }) => name)));
    for (const step of steps) {
      const newest = runs.findLast((run) => hasSucceeded(run, step));
      if (newest !== undefined) kept.add(newest);
    }
    const lines = runs.filter((run) => kept.has(run)).map((run) => JSON.stringify({ event: 'end', id: run.id, run }));
    replaceFile(byteStringFromText(this.path), Buffer.from(`${lines.join('\n')}\n`), 0o600);
  }
}

/**
 * Returns the names of the profiles of which there are records.
 * @throws LdmError if the directory cannot be read
 */
export function recordedProfiles(directory: string): string[] {
  const names = namesIn(directory).filter((name) => name.endsWith(SUFFIX));
  return names.flatMap((name) => decoded(name.slice(0, -SUFFIX.length))).sort();
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    return emptyIfAbsent(error, directory);
  }
}

/** What does not exist has no records. Any other error says nothing about the runs. */
function emptyIfAbsent(error: unknown, path: string): [] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw new LdmError(`the records of runs in ${path} cannot be read: ${reasonOf(error)}`, { cause: error });
}

/** Another program may have put a file of any name there. */
function decoded(name: string): string[] {
  try {
    return [decodeURIComponent(name)];
  } catch {
    return [];
  }
}

/** Returns the directory of the records; undefined if there is no home directory. */
export function runsDirectory(environment: NodeJS.ProcessEnv): string | undefined {
  const state = xdgDirectory(environment, 'XDG_STATE_HOME', '.local/state');
  return state === undefined ? undefined : join(state, 'ldm', 'runs');
}

/** Whether a step of a run was done without an error. */
export function hasSucceeded(run: RunRecord, step: string): boolean {
  return run.steps.some(({ name, exitCode }) => name === step && exitCode === 0);
}

function describeKilled({ steps }: RunRecord): string {
  const last = steps.at(-1);
  return last === undefined ? 'the process was killed' : `the process was killed during ${last.name}`;
}

function parseLine(text: string): RecordLine | undefined {
  try {
    const line = JSON.parse(text) as Partial<RecordLine> | null;
    const { event, id, time = '', step = '', run } = line ?? {};
    if (typeof id !== 'string') return undefined;
    if (event === 'end') return isRun(run) ? { event, id, run } : undefined;
    const isTimed = typeof time === 'string' && !Number.isNaN(Date.parse(time)) && typeof step === 'string';
    return isTimed && (event === 'begin' || event === 'step') ? { event, id, time, step } : undefined;
  } catch {
    return undefined;
  }
}

function isRun(run: Partial<RunRecord> | undefined): boolean {
  const { start, result, steps } = run ?? {};
  const isTimed = typeof start === 'string' && !Number.isNaN(Date.parse(start));
  return isTimed && typeof result === 'string' && Array.isArray(steps) && steps.every(isStep);
}

function isStep(step: Partial<StepRecord> | null): boolean {
  return typeof step?.name === 'string' && typeof step.start === 'string';
}

function applyLine(runs: Map<string, RunRecord>, { event, id, time = '', step = '', run }: RecordLine): void {
  const known = runs.get(id);
  if (event === 'end') runs.set(id, run!);
  else if (event === 'begin') runs.set(id, { id, start: time, result: 'running', steps: [] });
  else if (known !== undefined) runs.set(id, { ...known, steps: [...known.steps, { name: step, start: time }] });
}
