import { LdmError } from '../../src/core/errors.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { rewriteSnapshots } from '../../src/verbs/rewrite/rewrite.ts';
import { tagSnapshots } from '../../src/verbs/tag/tag.ts';
import { SimulatedCrash } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import type { Prng } from './prng.ts';
import { ModelProcess } from './scheduled-process.ts';
import type { OpenScheduled } from './scheduled-process.ts';
import { optionsOfTests } from './simulated-process.ts';
import { SuspensionLedger } from './suspension-ledger.ts';

type RunOperation = (context: OperationContext, process: ModelProcess) => Promise<void>;

/** At most so many operations of one schedule run at a time ... */
const PROCESSES_MAX = 4;
/** ... and so many in all. */
const OPERATION_COUNT = 7;
/** A process that is suspended sleeps for at most so many steps of the others. */
const SLEEP_STEPS_MAX = 120;
/** In one schedule of so many no lock is lost. */
const SCHEDULES_FOR_EACH_LOCKED = 5;
const LATER = '2999-01-01T00:00:00Z';
const PAST = '2000-01-01T00:00:00Z';
/** So that ids do not depend on the machine. */
const SOURCES = { cwd: '/', hostname: 'tower' };
/** The name of a file in one of the sources that a rewrite leaves out. */
export const LEFT_OUT = 'left-out';

/**
 * One random schedule of the operations that change a repository in memory. Each of them may be suspended before any
 * call of its backend, lose its lock meanwhile, resume, or die. The property: every chunk of a snapshot that was reported
 * as saved, or as deleted for a time that has not come, and that nobody has started to delete since, is in an indexed
 * pack. Where no lock is lost and listings are up to date, no snapshot is listed twice either.
 */
export class SuspensionModel {
  readonly #disk: MemoryBackend;
  readonly #prng: Prng;
  readonly #sources: readonly string[];
  readonly #open: OpenScheduled;
  readonly #processes = new Set<ModelProcess>();
  readonly #ledger: SuspensionLedger;
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
  }) {
    this.#disk = given.disk;
    this.#prng = createPrng(given.seed);
    this.#sources = given.sources;
    this.#open = given.open;
    this.#ledger = new SuspensionLedger(given.disk);
    this.#lags = given.lags === true;
    this.#losesLocks = given.seed % SCHEDULES_FOR_EACH_LOCKED > 0;
  }

  get loss(): string | undefined {
    return this.#ledger.loss;
  }

  async run(): Promise<void> {
    await this.#prepare();
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
  }

  /** Two snapshots, of which one is deleted and not reclaimed: the first compaction has something to remove. */
  async #prepare(): Promise<void> {
    const context = { backend: this.#disk, ...optionsOfTests() };
    const first = this.#prng.int(this.#sources.length - 2);
    const saved = await backup(context, { ...SOURCES, sources: this.#sources.slice(first, first + 2) });
    await backup(context, { ...SOURCES, sources: this.#sources.slice(first + 1, first + 3) });
    await deleteSnapshots(context, { selectors: [saved.snapshotId!], reclaim: false });
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
    const [kind, run] = this.#pickOperation();
    // Often a compaction waits until it may take every holder for dead; else those that sleep would keep it out.
    if (kind === 'compact' && this.#prng.int(3) > 0) for (const lock of this.#locks()) this.#loseLock(lock);
    const process = new ModelProcess(kind);
    this.#processes.add(process);
    const backend = this.#open(this.#disk, process, () => this.#ledger.verify(kind));
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
    }
    const key = `${process.kind} ${outcome}`;
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + 1);
    process.isDone = true;
    this.#processes.delete(process);
  }

  #pickOperation(): readonly [string, RunOperation] {
    // Beside a removal that sleeps, backups are what may rely on what it takes away when it wakes.
    const choice = [...this.#processes].some(({ isRemoving }) => isRemoving) ? this.#prng.int(10) : this.#prng.int(24);
    const present = this.#ledger.idsIn('snapshots');
    const deleted = [...this.#ledger.idsIn('deleted'), ...present.filter((id) => this.#isKept(id))];
    if (choice >= 11 && choice < 17 && present.length > 0) return this.#pickChange(this.#prng.pick(present));
    if (choice >= 17 && choice < 20 && deleted.length > 0)
      return ['undelete', this.#undelete(this.#prng.pick(deleted))];
    if (choice === 20) return ['repair', async (context) => void (await repair(context))];
    if (choice >= 8) return ['compact', async (context) => void (await compact(context, { maxUnusedPercent: 0 }))];
    const first = this.#prng.int(this.#sources.length);
    return ['backup', this.#backUp(this.#sources.slice(first, first + 1 + this.#prng.int(3)))];
  }

  #pickChange(id: string): readonly [string, RunOperation] {
    const choice = this.#prng.int(6);
    if (choice < 2) return ['delete', this.#delete(id, { reclaim: this.#prng.int(3) > 0 })];
    if (choice === 2) return ['delete', this.#delete(id, { undoUntil: this.#prng.pick([LATER, LATER, PAST]) })];
    if (choice === 3) return ['rewrite', this.#rewrite(id, this.#prng.int(3) > 0)];
    return ['tag', this.#tag(id, `tag-${this.#prng.int(3)}`)];
  }

  #isKept(id: string): boolean {
    return this.#ledger.manifestOf(id)?.deletedUntil !== undefined;
  }

  #backUp(sources: readonly string[]): RunOperation {
    // With records of what is stored after each entry.
    const options = { ...SOURCES, sources, ...(this.#prng.int(4) === 0 ? { recordEveryMs: 0 } : {}) };
    return async (context, process) => {
      const { snapshotId } = await backup(context, options);
      // A delete can be faster than the report.
      if (this.#ledger.deletesOf(snapshotId!) === 0) await this.#report(process, snapshotId!);
    };
  }

  #delete(id: string, options: { readonly reclaim?: boolean; readonly undoUntil?: string }): RunOperation {
    return async (context, process) => {
      const mayReport = this.#watchDeletes(id, 1);
      this.#ledger.release(id);
      await deleteSnapshots(context, { selectors: [id], ...options });
      if (options.undoUntil !== LATER || !mayReport()) return;
      const kept = this.#ledger.idsIn('snapshots').find((each) => this.#ledger.manifestOf(each)?.replaces === id);
      await this.#report(process, kept ?? id);
    };
  }

  #undelete(id: string): RunOperation {
    return async (context, process) => {
      const mayReport = this.#watchDeletes(id);
      const { snapshots } = await undeleteSnapshots(context, { selectors: [id] });
      if (mayReport()) await this.#report(process, snapshots[0]!.id);
    };
  }

  #tag(id: string, tag: string): RunOperation {
    return async (context, process) => {
      const mayReport = this.#watchDeletes(id);
      // One that was never reported, such as that of an undelete that is yet to verify it, may not be whole.
      const wasPromised = this.#ledger.isPromised(id);
      const { changed } = await tagSnapshots(context, { selectors: [id], add: [tag] });
      if (wasPromised && changed.length > 0 && mayReport()) await this.#report(process, changed[0]!.new.id);
    };
  }

  #rewrite(id: string, forget: boolean): RunOperation {
    const patterns = { exact: [LEFT_OUT] };
    const newHost = this.#prng.pick(['one', 'two']);
    return async (context, process) => {
      if (forget) this.#ledger.release(id);
      const { rewritten } = await rewriteSnapshots(context, { selectors: [id], patterns, newHost, forget });
      const newId = rewritten[0]?.newId;
      if (newId !== undefined && this.#ledger.deletesOf(newId) === 0) await this.#report(process, newId);
    };
  }

  /** Returns whether nothing has deleted, or may yet delete, the snapshot: `ownCount` deletes are those of the caller. */
  #watchDeletes(id: string, ownCount = 0): () => boolean {
    const before = this.#ledger.deletesOf(id) + ownCount;
    const deleting = [...this.#processes].filter(({ kind }) => kind === 'delete' || kind === 'rewrite');
    return () => deleting.length <= ownCount && this.#ledger.deletesOf(id) === before;
  }

  /** Nothing else runs meanwhile. */
  async #report(process: ModelProcess, id: string): Promise<void> {
    process.isReporting = true;
    await this.#ledger.promise(id);
    process.isReporting = false;
  }
}
