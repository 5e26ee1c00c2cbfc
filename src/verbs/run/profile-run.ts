import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { LdmError } from '../../core/errors.ts';
import type { Surroundings } from '../../console/command-runner.ts';
import { exitCodeOfError } from '../../console/exit-codes.ts';
import { formatMetrics } from '../../console/jobs/metrics.ts';
import { RunRecords, type RunRecord, type RunResult, type StepRecord } from '../../console/jobs/run-records.ts';
import type { Profile } from '../../console/settings/profile.ts';
import { unmetCondition } from './conditions.ts';
import { HOOK_TIMEOUT_MS, runHook } from './hooks.ts';
import { writeMetrics } from './metrics-file.ts';
import { type PingKind, formatMail, ping, sendMail } from './notices.ts';
import { describeRun, numberOf, stringOf, variablesOf } from './run-text.ts';
import { type PlannedStep, planSteps, stopsRun, worstOf } from './run-plan.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a run needs of the program. */
interface RunContext {
  /** Where the records are; undefined without a home directory: nothing is recorded then. */
  readonly directory: string | undefined;
  readonly globalWords: readonly string[];
  readonly signal: AbortSignal;
  readonly runCommand: Surroundings['runCommand'];
  /** Called for what does not change the exit code, such as a program that failed after the backup. */
  readonly onProblem: (message: string) => void;
  readonly onStep: (profile: string, step: PlannedStep) => void;
}

/** What has happened so far. */
interface Progress {
  readonly steps: StepRecord[];
  readonly codes: number[];
  /** Why the run failed. */
  message?: string;
  failedStep?: string;
  backup?: Fields | undefined;
}

const RESULTS: ReadonlyMap<number, RunResult> = new Map([
  [0, 'success'],
  [3, 'incomplete'],
  [129, 'interrupted'],
  [130, 'interrupted'],
  [143, 'interrupted'],
]);

/** Runs one profile: conditions, programs before, steps, programs after; then hooks, metrics, mail and ping. */
export class ProfileRun {
  readonly #profile: Profile;
  readonly #context: RunContext;
  readonly #records: RunRecords | undefined;
  readonly #id = randomBytes(8).toString('hex');
  readonly #start = new Date();
  readonly #progress: Progress = { steps: [], codes: [] };

  constructor(profile: Profile, context: RunContext) {
    this.#profile = profile;
    this.#context = context;
    this.#records = context.directory === undefined ? undefined : new RunRecords(context.directory, profile.name);
  }

  get #settings(): NonNullable<Profile['table']['run']> {
    return this.#profile.table.run ?? {};
  }

  /** Returns the record of the run. Only one process runs a profile at a time: any other one skips it. */
  async run(): Promise<RunRecord> {
    const unlock = await this.#lock();
    if (unlock === 'locked') return this.#record('skipped', { message: 'another run of this profile is under way' });
    try {
      const unmet = await unmetCondition(this.#settings.onlyIf ?? [], this.#hookOptions(this.#context.signal));
      const isJudged = unmet?.isAnswer !== false;
      if (unmet === undefined || this.#context.signal.aborted) return await this.#runLocked();
      // Skipping is silent: a misspelt program would keep a profile from ever running.
      if (!isJudged) return await this.#runLocked(unmet.reason);
      const skipped = this.#record('skipped', { message: unmet.reason });
      this.#note(() => this.#records?.end(skipped));
      return skipped;
    } finally {
      unlock?.();
    }
  }

  async #lock(): Promise<(() => void) | 'locked' | undefined> {
    if (this.#records === undefined) return undefined;
    try {
      return (await this.#records.lock()) ?? 'locked';
    } catch (error) {
      this.#context.onProblem(`another run of this profile would not be noticed: ${(error as Error).message}`);
      return undefined;
    }
  }

  /** `problem`: why nothing may run. */
  async #runLocked(problem?: string): Promise<RunRecord> {
    const earlier = this.#readRecords();
    this.#note(() => this.#records?.begin(this.#id, this.#start.toISOString()));
    await this.#ping('start', '');
    if (problem !== undefined) this.#fail(1, problem);
    else if (await this.#runBefore()) await this.#runSteps(earlier);
    await this.#runHooks(this.#settings.after ?? [], undefined);
    const run = this.#record(RESULTS.get(this.#exitCode) ?? 'failed', {});
    // Written before hooks, mail and ping: if the process is killed during those, the run has still ended like this.
    this.#note(() => this.#records?.end(run));
    await this.#tell(run, [...earlier, run]);
    return run;
  }

  /** Returns whether the steps may run. */
  async #runBefore(): Promise<boolean> {
    for (const words of this.#settings.before ?? []) {
      const failure = await runHook(words, this.#hookOptions(this.#context.signal));
      if (this.#context.signal.aborted) break;
      if (failure === undefined) continue;
      this.#fail(1, failure.reason);
      return false;
    }
    const { signal } = this.#context;
    if (signal.aborted) this.#fail(exitCodeOfError(signal.reason as LdmError), 'interrupted');
    return !signal.aborted;
  }

  #fail(exitCode: number, message: string): void {
    this.#progress.codes.push(exitCode);
    this.#progress.message = message;
    this.#context.onProblem(message);
  }

  async #runSteps(earlier: readonly RunRecord[]): Promise<void> {
    for (const step of planSteps(this.#profile, this.#context.globalWords, earlier)) {
      if (step.leftOut !== undefined) continue;
      const start = new Date();
      this.#note(() => this.#records?.beginStep(this.#id, step.name, start.toISOString()));
      this.#context.onStep(this.#profile.name, step);
      const { exitCode, message, summary } = await this.#context.runCommand(step.words, {
        labels: { profile: this.#profile.name, step: step.name },
        isProfileKnown: this.#progress.steps.length > 0,
      });
      const durationMs = Date.now() - start.getTime();
      this.#progress.steps.push({ name: step.name, start: start.toISOString(), exitCode, durationMs });
      this.#progress.codes.push(exitCode);
      if (step.name === 'backup' && summary !== undefined) this.#progress.backup = summary;
      if (exitCode !== 0 && worstOf(this.#progress.codes) === exitCode) {
        this.#progress.message = message ?? `${step.name} ended with exit code ${exitCode}`;
        this.#progress.failedStep = step.name;
      }
      if (stopsRun(exitCode)) return;
    }
  }

  get #exitCode(): number {
    return worstOf(this.#progress.codes);
  }

  #record(
    result: RunResult,
    { message = this.#progress.message }: { readonly message?: string | undefined },
  ): RunRecord {
    const { steps, backup } = this.#progress;
    const figures = {
      message,
      snapshotId: stringOf(backup?.['snapshot_id']),
      addedBytes: numberOf(backup?.['data_added']),
      storedBytes: numberOf(backup?.['data_added_packed']),
    };
    const durationMs = Date.now() - this.#start.getTime();
    const given = Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined));
    return {
      id: this.#id,
      start: this.#start.toISOString(),
      result,
      exitCode: this.#exitCode,
      durationMs,
      steps,
      ...given,
    };
  }

  async #tell(run: RunRecord, runs: readonly RunRecord[]): Promise<void> {
    const { succeeded = [], failed = [], mail, metricsFile } = this.#settings;
    const isGood = run.result === 'success';
    await this.#runHooks(isGood ? succeeded : failed, run);
    if (metricsFile !== undefined) await this.#writeMetrics(metricsFile, runs);
    const before = runs.slice(0, -1).findLast(({ result }) => result !== 'skipped')?.result ?? 'success';
    if (mail !== undefined && (!isGood || before !== 'success')) {
      const problem = await sendMail(formatMail(this.#profile.name, hostname(), mail, run, describeRun(run)));
      if (problem !== undefined) this.#context.onProblem(problem);
    }
    await this.#ping(isGood || run.result === 'incomplete' ? 'success' : 'fail', describeRun(run));
  }

  async #writeMetrics(path: string, runs: readonly RunRecord[]): Promise<void> {
    const stats = await this.#context.runCommand(['-p', this.#profile.name, '-q', '--json', 'stats'], {
      silent: true,
    });
    const text = formatMetrics({
      labels: { profile: this.#profile.name },
      runs,
      backup: this.#progress.backup,
      stats: stats.exitCode === 0 ? stats.summary : undefined,
    });
    this.#note(() => writeMetrics(path, text));
  }

  async #runHooks(commands: readonly (readonly string[])[], run: RunRecord | undefined): Promise<void> {
    const ended = run ?? this.#record(RESULTS.get(this.#exitCode) ?? 'failed', {});
    for (const words of commands) {
      const failure = await runHook(words, this.#hookOptions(undefined, ended));
      if (failure !== undefined) this.#context.onProblem(failure.reason);
    }
  }

  #hookOptions(signal: AbortSignal | undefined, run?: RunRecord): Parameters<typeof unmetCondition>[1] & object {
    const timeoutMs = this.#settings.hookTimeoutMs ?? HOOK_TIMEOUT_MS;
    const { failedStep } = this.#progress;
    const variables = variablesOf({ profile: this.#profile.name, start: this.#start, failedStep, run });
    return { timeoutMs, signal: signal ?? new AbortController().signal, variables };
  }

  async #ping(kind: PingKind, text: string): Promise<void> {
    const { ping: url } = this.#settings;
    const problem = url === undefined ? undefined : await ping(url, kind, text);
    if (problem !== undefined) this.#context.onProblem(problem);
  }

  #readRecords(): readonly RunRecord[] {
    try {
      const onDamage = (line: number): void =>
        this.#context.onProblem(`${this.#records!.path}:${line}: this line is damaged and was skipped`);
      return this.#records?.read(false, onDamage) ?? [];
    } catch (error) {
      this.#context.onProblem((error as Error).message);
      return [];
    }
  }

  /** A record or a metric that cannot be written is no reason to make no backup. */
  #note(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#context.onProblem(`the run is not recorded: ${(error as Error).message}`);
    }
  }
}
