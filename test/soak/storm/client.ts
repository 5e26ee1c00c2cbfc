import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseJsonLines } from '../../cli/scenario.ts';
import type { JsonMessage } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { makeRandomTree } from '../../support/random-tree.ts';
import { runLdm } from '../../support/run-ldm.ts';
import { removeTree } from '../../support/temp-directory.ts';
import type { FaultChoice } from './fault-choice.ts';
import type { FaultPlan, StormPlace } from './place.ts';
import { Ledger } from './ledger.ts';

/** A command that takes longer hangs. It includes two stalls of the longest kind. */
const HANG_MS = 420_000;
/** How long a suspended client sleeps at most while the others do too little. */
const SLEEP_MS_MAX = 20_000;
const LOOK_MS = 20;
/** An argument that stands for the place of the repository, which a client can have several names for. */
export const REMOTE = '<remote>';

export interface RunResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
  readonly messages: readonly JsonMessage[];
  readonly plan: FaultPlan | undefined;
  readonly firedCount: number;
  readonly durationMs: number;
  readonly retryFor: string;
}

/** What the clients of a storm share. */
export interface Surroundings {
  readonly place: StormPlace;
  readonly choice: FaultChoice;
  readonly ledger: Ledger;
  readonly seed: number;
  readonly directory: string;
  /** Writes what happens for whoever has to understand a failure. */
  log(line: string): void;
  /** How many commands have ended so far. */
  readonly endedCount: number;
}

/** A machine with a source, a home, and a second repository on its own disk. */
export class Client {
  readonly index: number;
  readonly host: string;
  readonly prng: Prng;
  readonly directory: string;
  readonly source: string;
  readonly second: string;
  /** What was copied to the second repository. */
  readonly copies: Ledger = new Ledger();
  readonly #storm: Surroundings;

  constructor(storm: Surroundings, index: number) {
    this.#storm = storm;
    this.index = index;
    this.host = `client-${index}`;
    this.prng = createPrng(storm.seed * 8 + index);
    this.directory = join(storm.directory, this.host);
    this.source = join(this.directory, 'source');
    this.second = join(this.directory, 'second');
    for (const name of ['', 'home', 'run']) mkdirSync(join(this.directory, name), { mode: 0o700 });
    writeFileSync(join(this.directory, 'password'), 'only for storms', { mode: 0o600 });
    // All begin with the same files, so that they share packs.
    makeRandomTree(this.source, { seed: storm.seed, fileCount: 40, fileSizeBytesMax: 1_500_000 });
  }

  /** Runs a command that may meet a fault. `input`: for standard input. */
  async run(args: readonly string[], { input }: { input?: Uint8Array } = {}): Promise<RunResult> {
    const { choice } = this.#storm;
    const plan = choice.nextPlan(this.prng);
    const result = await this.#run(args, plan, input);
    if (plan !== undefined) choice.countPlanned(plan.kind, result.firedCount);
    return result;
  }

  /** Runs a command without a fault of its own. */
  async runCalmly(args: readonly string[]): Promise<RunResult> {
    return await this.#run(args, undefined, undefined, { LDM_RETRY_FOR: '60s' });
  }

  /** A new empty directory for a restore. */
  emptyTarget(): string {
    const target = join(this.directory, 'out');
    removeTree(target);
    return target;
  }

  forgetCache(): void {
    rmSync(join(this.directory, 'home/.cache'), { recursive: true, force: true });
  }

  async #run(
    args: readonly string[],
    plan: FaultPlan | undefined,
    input?: Uint8Array,
    added: Readonly<Record<string, string>> = {},
  ): Promise<RunResult> {
    const { place } = this.#storm;
    const connection = place.connect(this.index, plan, this.prng);
    const env = { ...this.#environment(), ...connection, ...added };
    let sleep: Promise<void> | undefined;
    let hasEnded = false;
    const startMs = performance.now();
    const words = args.map((word) => (word === REMOTE ? connection['LDM_REPOSITORY']! : word));
    const { code, signal, stdout, stderr } = await runLdm([...words, '--json'], {
      cwd: this.directory,
      env,
      timeoutMs: HANG_MS,
      ...(input === undefined ? {} : { input }),
      onStart: (pid) => {
        place.started(this.index, pid);
        if (plan?.kind.startsWith('client suspended')) sleep = this.#wake(pid, plan.ms, () => hasEnded);
      },
    });
    const durationMs = Math.round(performance.now() - startMs);
    hasEnded = true;
    await sleep;
    const firedCount = place.firedCount(this.index);
    const isKilled = plan?.kind === 'client killed' && firedCount > 0;
    if (signal !== null && !isKilled) this.#storm.ledger.fail(`${args.join(' ')} hung (${JSON.stringify(plan)})`);
    const messages = signal === null ? parseJsonLines(stdout) : [];
    return { code, signal, stderr, messages, plan, firedCount, durationMs, retryFor: env['LDM_RETRY_FOR']! };
  }

  #environment(): Record<string, string | undefined> {
    const home = join(this.directory, 'home');
    const homes = {
      XDG_CONFIG_HOME: '.config',
      XDG_CACHE_HOME: '.cache',
      XDG_DATA_HOME: '.data',
      XDG_STATE_HOME: '.state',
    };
    return {
      HOME: home,
      ...Object.fromEntries(Object.entries(homes).map(([name, path]) => [name, join(home, path)])),
      XDG_RUNTIME_DIR: join(this.directory, 'run'),
      // Every second storm is one of plain repositories.
      ...(this.#storm.seed % 2 === 0
        ? { LDM_NO_ENCRYPTION: '1' }
        : { LDM_PASSWORD_FILE: join(this.directory, 'password') }),
      LDM_RETRY_FOR: this.prng.pick(['3s', '60s', '60s', '100s']),
      LDM_LOCK_WAIT: this.prng.pick(['0s', '20s', '20s']),
      LDM_NO_PROGRESS: '1',
    };
  }

  /** Waits until the client is suspended, takes its locks away, and lets it go on when the others have done something. */
  async #wake(pid: number, ms: number, hasEnded: () => boolean): Promise<void> {
    const storm = this.#storm;
    const { place } = storm;
    const pause = async (): Promise<void> => await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    while (!place.isSuspended(this.index)) {
      if (hasEnded()) return;
      await pause();
    }
    const startMs = performance.now();
    const endedTarget = storm.endedCount + 2 + this.prng.int(3);
    const locks = await place.removeLocksOf(pid);
    const isOver = (): boolean => {
      const passedMs = performance.now() - startMs;
      return passedMs >= ms && (passedMs >= ms + SLEEP_MS_MAX || storm.endedCount >= endedTarget);
    };
    while (!isOver()) await pause();
    storm.log(`${this.host} slept for ${Math.round(performance.now() - startMs)} ms, ${locks} locks were taken away`);
    process.kill(pid, 'SIGCONT');
  }
}
