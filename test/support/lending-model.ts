import type { Backend } from '../../src/core/backend/backend.ts';
import { LdmError } from '../../src/core/errors.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { adopt } from '../../src/realm/verbs/adopt/adopt.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { SimulatedCrash } from './faulty-backend.ts';
import { LendingLedger } from './lending-ledger.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import type { Prng } from './prng.ts';
import { ModelProcess } from './scheduled-process.ts';
import type { OpenScheduled } from './scheduled-process.ts';
import { optionsOfTests } from './simulated-process.ts';

/** Two domains of a realm in memory. */
export interface Pair {
  readonly owner: MemoryBackend;
  readonly holder: MemoryBackend;
}

export type Side = keyof Pair;

/** Opens the disk of a side for a process of the holder, or of the owner. */
export type OpenSide = (side: Side) => OpenScheduled;

type Run = (context: OperationContext) => Promise<void>;

const PROCESSES_MAX = 4;
const OPERATION_COUNT = 9;
const SLEEP_STEPS_MAX = 150;
/** In one schedule of so many no lock is lost. */
const SCHEDULES_FOR_EACH_LOCKED = 3;

/**
 * One random schedule of the operations of two domains, of which one relies on the other. Each operation may be suspended
 * before any call of a backend, its own or that of the other domain, lose its lock there meanwhile, resume, or die. The
 * property: each chunk of a snapshot of the holder that was reported, and that nobody has started to delete since, is in
 * an indexed pack of the holder or, if that pack says so, of the owner. In the end the owner deletes what it has itself
 * and compacts, with the same property.
 */
export class LendingModel {
  readonly #pair: Pair;
  readonly #prng: Prng;
  readonly #sources: readonly string[];
  readonly #open: OpenSide;
  readonly #processes = new Set<ModelProcess>();
  readonly #ledger: LendingLedger;
  readonly #losesLocks: boolean;
  readonly #isOwnerBusy: boolean;
  readonly outcomes: Map<string, number> = new Map();
  lostLockCount = 0;

  constructor(given: {
    readonly pair: Pair;
    readonly seed: number;
    readonly sources: readonly string[];
    readonly open: OpenSide;
    /** Every second operation is a delete or a compaction of the owner: what is wrong shows sooner. */
    readonly isOwnerBusy?: boolean;
  }) {
    this.#pair = given.pair;
    this.#prng = createPrng(given.seed);
    this.#sources = given.sources;
    this.#open = given.open;
    this.#ledger = new LendingLedger(given.pair);
    this.#isOwnerBusy = given.isOwnerBusy === true;
    this.#losesLocks = given.seed % SCHEDULES_FOR_EACH_LOCKED > 0;
  }

  get loss(): string | undefined {
    return this.#ledger.loss;
  }

  /** How often a reported snapshot of the holder needed a chunk of the owner. */
  get borrowedCount(): number {
    return this.#ledger.borrowedCount;
  }

  async run(): Promise<void> {
    await backup(this.#direct('owner'), { sources: this.#sources, cwd: '/' });
    if (this.#prng.int(2) === 0) await this.#borrowFirst();
    let started = 0;
    for (let step = 0; this.loss === undefined; step += 1) {
      const isRoom = started < OPERATION_COUNT && this.#processes.size < PROCESSES_MAX;
      const isIdle = [...this.#processes].every(({ sleepsUntil }) => sleepsUntil > step);
      if (isRoom && (isIdle || this.#prng.int(6) === 0)) {
        started += 1;
        await this.#start();
      }
      if (this.#processes.size === 0 && started === OPERATION_COUNT) break;
      await this.#advance(step);
      for (const side of ['owner', 'holder'] as const) {
        if (this.#locks(side).length > 0 && this.#prng.int(200) === 0)
          this.#loseLock(side, this.#prng.pick(this.#locks(side)));
      }
    }
    for (const process of this.#processes) await process.kill();
    if (this.loss === undefined) await this.#clearOwner();
  }

  /** A snapshot of the holder that relies on the owner. */
  async #borrowFirst(): Promise<void> {
    const openPlace = async (): Promise<Backend> => this.#pair.owner;
    const context = { ...this.#direct('holder'), openPlace };
    const { snapshotId } = await backup(context, { sources: this.#pickSources(), cwd: '/', reliesOn: 'owner' });
    await this.#ledger.promise(snapshotId!);
  }

  /** The owner gives up everything of its own. */
  async #clearOwner(): Promise<void> {
    for (const lock of this.#locks('owner')) await this.#pair.owner.remove(lock);
    for (const id of this.#ledger.backupsOf('owner'))
      await deleteSnapshots(this.#direct('owner'), { selectors: [id], reclaim: false });
    try {
      await compact(this.#direct('owner'), { maxUnusedPercent: 0 });
    } catch (error) {
      if (!(error instanceof LdmError)) throw error;
      this.#ledger.loss ??= `the last compaction of the owner failed: ${error.message}`;
    }
    this.#ledger.verify('last compaction of the owner');
  }

  #direct(side: Side): OperationContext {
    return { backend: this.#pair[side], ...optionsOfTests() };
  }

  async #advance(step: number): Promise<void> {
    const all = [...this.#processes];
    const awake = all.filter(({ sleepsUntil }) => sleepsUntil <= step);
    const process = this.#prng.pick(awake.length > 0 ? awake : all);
    if (this.#prng.int(400) === 0) return await process.kill();
    for (let count = this.#prng.int(12); count >= 0 && !process.isDone && this.loss === undefined; count -= 1) {
      await process.step();
      if (!this.#fallsAsleep(process)) continue;
      process.sleepsUntil = step + this.#prng.int(SLEEP_STEPS_MAX);
      return;
    }
  }

  /** Most often right after a look at a lock, which is lost at that moment. */
  #fallsAsleep(process: ModelProcess): boolean {
    const lock = /^sizeOf (locks\/.*)/.exec(process.calls.at(-1) ?? '')?.[1];
    if (lock === undefined || !this.#losesLocks || this.#prng.int(8) > 0) return this.#prng.int(150) === 0;
    for (const side of ['owner', 'holder'] as const) if (this.#locks(side).includes(lock)) this.#loseLock(side, lock);
    return true;
  }

  #locks(side: Side): string[] {
    return this.#pair[side].names().filter((name) => name.startsWith('locks/'));
  }

  #loseLock(side: Side, name: string): void {
    if (!this.#losesLocks) return;
    this.lostLockCount += 1;
    void this.#pair[side].remove(name);
  }

  async #start(): Promise<void> {
    const { kind, side, run } = this.#pickOperation();
    const isExclusive = kind === 'compact' || kind === 'adopt' || kind === 'repair';
    if (isExclusive && this.#prng.int(2) > 0) for (const lock of this.#locks(side)) this.#loseLock(side, lock);
    const process = new ModelProcess(`${side} ${kind}`);
    this.#processes.add(process);
    const openAt = (at: Side): Backend =>
      this.#open(at)(this.#pair[at], process, () => this.#ledger.verify(process.kind));
    const context: OperationContext = {
      ...optionsOfTests(),
      backend: openAt(side),
      // The only other domain.
      openPlace: async () => openAt(side === 'owner' ? 'holder' : 'owner'),
      lockWaitMs: 0,
      lockClock: process,
    };
    void this.#carryOut(process, run(context, process));
    await process.settle();
  }

  async #carryOut(process: ModelProcess, running: Promise<unknown>): Promise<void> {
    const name = process.kind;
    let outcome = 'done';
    try {
      await running;
    } catch (error) {
      if (error instanceof LdmError) outcome = error.code;
      else if (error instanceof SimulatedCrash) outcome = 'killed';
      else this.#ledger.loss ??= `${name} failed: ${error instanceof Error ? error.stack : String(error)}`;
    }
    this.outcomes.set(`${name} ${outcome}`, (this.outcomes.get(`${name} ${outcome}`) ?? 0) + 1);
    process.isDone = true;
    this.#processes.delete(process);
  }

  #pickSources(): string[] {
    const first = this.#prng.int(this.#sources.length);
    return this.#sources.slice(first, first + 1 + this.#prng.int(3));
  }

  #pickOperation(): {
    readonly kind: string;
    readonly side: Side;
    readonly run: (context: OperationContext, process: ModelProcess) => Promise<void>;
  } {
    const choice = this.#isOwnerBusy && this.#prng.int(2) === 0 ? 2 + this.#prng.int(6) : this.#prng.int(20);
    const owned = this.#ledger.backupsOf('owner');
    const kept = this.#ledger.backupsOf('holder');
    const all: Run = async (context) => void (await compact(context, { maxUnusedPercent: 0 }));
    if (choice < 2) return { kind: 'backup', side: 'owner', run: this.#backUp('owner', undefined) };
    if (choice < 5 && owned.length > 0)
      return { kind: 'delete', side: 'owner', run: this.#delete(this.#prng.pick(owned)) };
    if (choice < 8) return { kind: 'compact', side: 'owner', run: all };
    if (choice < 11 && kept.length > 0)
      return { kind: 'delete', side: 'holder', run: this.#delete(this.#prng.pick(kept)) };
    if (choice < 13) return { kind: 'compact', side: 'holder', run: all };
    if (choice === 13) return { kind: 'adopt', side: 'holder', run: async (context) => void (await adopt(context)) };
    if (choice === 14) {
      const side = this.#prng.pick(['owner', 'holder'] as const);
      return { kind: 'repair', side, run: async (context) => void (await repair(context)) };
    }
    return {
      kind: 'backup',
      side: 'holder',
      run: this.#backUp('holder', this.#prng.int(6) === 0 ? undefined : 'owner'),
    };
  }

  #backUp(
    side: Side,
    reliesOn: string | undefined,
  ): (context: OperationContext, process: ModelProcess) => Promise<void> {
    const sources = this.#pickSources();
    return async (context, process) => {
      const options = reliesOn === undefined ? {} : { reliesOn };
      const { snapshotId } = await backup(context, { sources, cwd: '/', ...options });
      if (side === 'owner' || this.#ledger.isReleased(snapshotId!)) return;
      process.isReporting = true;
      await this.#ledger.promise(snapshotId!);
      process.isReporting = false;
    };
  }

  #delete(id: string): Run {
    return async (context) => {
      this.#ledger.release(id);
      await deleteSnapshots(context, { selectors: [id], reclaim: this.#prng.int(2) > 0 });
    };
  }
}
