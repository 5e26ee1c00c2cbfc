import type { Backend } from '../../src/core/backend/backend.ts';
import { CorruptDataError, LdmError } from '../../src/core/errors.ts';
import { SimulatedCrash } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { ModelOperations } from './model-operations.ts';
import { createPrng } from './prng.ts';
import type { Prng } from './prng.ts';
import { ModelProcess } from './scheduled-process.ts';
import type { OpenScheduled } from './scheduled-process.ts';
import { optionsOfTests } from './simulated-process.ts';
import { SuspensionLedger } from './suspension-ledger.ts';

/** At most so many operations of one schedule run at a time ... */
const PROCESSES_MAX = 4;
/** ... and so many in all. */
const OPERATION_COUNT = 7;
/** A process that is suspended sleeps for at most so many steps of the others. */
const SLEEP_STEPS_MAX = 120;
/** In one schedule of so many no lock is lost. */
const SCHEDULES_FOR_EACH_LOCKED = 5;

/**
 * One random schedule of the operations that change a repository in memory. Each of them may be suspended before any
 * call of its backend, lose its lock meanwhile, resume, or die. The property: every chunk of a snapshot that was reported
 * as saved, or as deleted for a time that has not come, and that no operation has started to delete since, is in an indexed
 * pack. A rule may delete only what it selects in the true state (`ForgetWatch`). No operation calls damaged what is whole.
 * Where no lock is lost and listings are up to date, no snapshot is listed twice either.
 */
export class SuspensionModel {
  readonly #disk: MemoryBackend;
  readonly #prng: Prng;
  readonly #open: OpenScheduled;
  readonly #prepareOn: (disk: MemoryBackend) => Backend;
  readonly #processes = new Set<ModelProcess>();
  readonly #ledger: SuspensionLedger;
  readonly #operations: ModelOperations;
  readonly #losesLocks: boolean;
  readonly #lags: boolean;
  readonly outcomes: Map<string, number> = new Map();
  lostLockCount = 0;

  constructor(given: {
    readonly disk: MemoryBackend;
    readonly seed: number;
    /** Files to choose from. */
    readonly sources: readonly string[];
    readonly open: OpenScheduled;
    readonly lags?: boolean | undefined;
    /** Whether some operations apply a rule that keeps the newest snapshots. */
    readonly forgets?: boolean | undefined;
    /** How the machine sees the repository that makes the first snapshots. Default: as it is. */
    readonly prepareOn?: ((disk: MemoryBackend) => Backend) | undefined;
  }) {
    this.#disk = given.disk;
    this.#prng = createPrng(given.seed);
    this.#open = given.open;
    this.#prepareOn = given.prepareOn ?? ((disk) => disk);
    this.#ledger = new SuspensionLedger(given.disk);
    this.#operations = new ModelOperations({
      ledger: this.#ledger,
      processes: this.#processes,
      prng: this.#prng,
      sources: given.sources,
      forgets: given.forgets === true,
    });
    this.#lags = given.lags === true;
    this.#losesLocks = given.seed % SCHEDULES_FOR_EACH_LOCKED > 0;
  }

  /** The first operation that called damaged what is whole. */
  get alarm(): string | undefined {
    return this.#ledger.alarm;
  }

  get loss(): string | undefined {
    return this.#ledger.loss;
  }

  async run(): Promise<void> {
    await this.#operations.prepare(this.#prepareOn(this.#disk));
    let started = 0;
    for (let step = 0; this.loss === undefined; step += 1) {
      const isRoom = started < OPERATION_COUNT && this.#processes.size < PROCESSES_MAX;
      if (isRoom && (this.#processes.size === 0 || this.#prng.int(6) === 0)) {
        started += 1;
        await this.#start();
      }
      if (this.#processes.size === 0 && started === OPERATION_COUNT) break;
      await this.#advance(step);
      if (this.#locks().length > 0 && this.#prng.int(100) === 0) this.#loseLock(this.#prng.pick(this.#locks()));
    }
    for (const process of this.#processes) await process.kill();
    // A delete after a killed change of tags takes both manifests of the snapshot, but only if it sees both.
    if (!this.#losesLocks && !this.#lags && this.loss === undefined) await this.#ledger.verifySingle();
    if (this.loss === undefined) await this.#ledger.verifyHealed();
  }

  async #advance(step: number): Promise<void> {
    const all = [...this.#processes];
    const awake = all.filter(({ sleepsUntil }) => sleepsUntil <= step);
    const process = this.#prng.pick(awake.length > 0 ? awake : all);
    if (this.#prng.int(400) === 0) return await process.kill();
    // Mostly a run of calls, so that operations come to an end beside one that sleeps.
    for (let count = this.#prng.int(12); count >= 0 && !process.isDone && this.loss === undefined; count -= 1) {
      await process.step();
      if (!this.#fallsAsleep(process)) continue;
      process.sleepsUntil = step + this.#prng.int(SLEEP_STEPS_MAX);
      return;
    }
  }

  // Anywhere, but most often after a look at its lock, which is lost at that moment. A removal looks about twelve times;
  // with one in three, few got beyond their first files, and 20,000 schedules of a broken order showed no loss.
  #fallsAsleep(process: ModelProcess): boolean {
    const lock = /^sizeOf (locks\/.*)/.exec(process.calls.at(-1) ?? '')?.[1];
    if (lock === undefined || this.#prng.int(process.isRemoving ? 12 : 6) > 0) return this.#prng.int(200) === 0;
    this.#loseLock(lock);
    return true;
  }

  #locks(): string[] {
    return this.#disk.names().filter((name) => /^locks\/(?:shared|exclusive)-/.test(name));
  }

  /** Somebody takes the holder of a lock for dead. */
  #loseLock(name: string): void {
    if (!this.#losesLocks) return;
    this.lostLockCount += 1;
    void this.#disk.remove(name);
  }

  async #start(): Promise<void> {
    const [kind, run] = this.#operations.pick();
    // Often a compaction waits until it may take every holder for dead; else those that sleep would keep it out.
    if (kind === 'compact' && this.#prng.int(3) > 0) for (const lock of this.#locks()) this.#loseLock(lock);
    const process = new ModelProcess(kind);
    this.#processes.add(process);
    const backend = this.#open(this.#disk, process, () => {
      this.#operations.observe();
      this.#ledger.verify(kind);
    });
    void this.#carryOut(process, run({ backend, ...optionsOfTests(), lockWaitMs: 0, lockClock: process }, process));
    await process.settle();
  }

  async #carryOut(process: ModelProcess, running: Promise<unknown>): Promise<void> {
    let outcome = 'done';
    try {
      await running;
    } catch (error) {
      if (error instanceof LdmError) outcome = error.code;
      else if (error instanceof SimulatedCrash) outcome = 'killed';
      else this.#ledger.loss ??= `${process.kind} failed: ${error instanceof Error ? error.stack : String(error)}`;
      if (error instanceof CorruptDataError) await this.#ledger.verifyDamaged(process, error);
    }
    const key = `${process.kind} ${outcome}`;
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + 1);
    process.isDone = true;
    this.#processes.delete(process);
  }
}
