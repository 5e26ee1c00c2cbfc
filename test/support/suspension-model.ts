import { LdmError } from '../../src/errors.ts';
import { decodeSegment } from '../../src/format/segment.ts';
import { backup } from '../../src/operations/backup.ts';
import { compact } from '../../src/operations/compact.ts';
import type { OperationContext } from '../../src/operations/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/operations/delete.ts';
import { walkLive } from '../../src/operations/live-walk.ts';
import { repair } from '../../src/operations/repair.ts';
import { Repository } from '../../src/repository/repository.ts';
import { SimulatedCrash } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import type { Prng } from './prng.ts';
import { ModelProcess, ScheduledBackend } from './scheduled-process.ts';
import type { Lie } from './scheduled-process.ts';
import { optionsOfTests, unlockOfTests } from './simulated-process.ts';

type RunOperation = (context: OperationContext, process: ModelProcess) => Promise<void>;

/** At most so many operations of one schedule run at a time ... */
const PROCESSES_MAX = 4;
/** ... and so many in all. */
const OPERATION_COUNT = 7;
/** A process that is suspended sleeps for at most so many steps of the others. */
const SLEEP_STEPS_MAX = 120;

/**
 * One random schedule of backups, deletes, undeletes, compactions and repairs over one repository in memory. Each of
 * them may be suspended before any call of its backend, lose its lock meanwhile, resume, or die. The property: every
 * chunk of a snapshot that was reported as saved, and that nobody has started to delete since, is in an indexed pack.
 */
export class SuspensionModel {
  readonly #disk: MemoryBackend;
  readonly #prng: Prng;
  readonly #sources: readonly string[];
  readonly #lie: Lie | undefined;
  readonly #processes = new Set<ModelProcess>();
  /** Hex ids of the chunks that each reported snapshot needs. */
  readonly #needed = new Map<string, ReadonlySet<string>>();
  /** How often each snapshot was chosen to be deleted. */
  readonly #deletes = new Map<string, number>();
  readonly #segments = new Map<string, ReadonlyMap<string, readonly string[]>>();
  readonly outcomes: Map<string, number> = new Map();
  loss: string | undefined;
  lostLockCount = 0;

  constructor(given: {
    readonly disk: MemoryBackend;
    readonly seed: number;
    /** Files to choose from. */
    readonly sources: readonly string[];
    readonly lie?: Lie;
  }) {
    this.#disk = given.disk;
    this.#prng = createPrng(given.seed);
    this.#sources = given.sources;
    this.#lie = given.lie;
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
  }

  /** Two snapshots, of which one is deleted and not reclaimed: the first compaction has something to remove. */
  async #prepare(): Promise<void> {
    const context = { backend: this.#disk, ...optionsOfTests() };
    const first = this.#prng.int(this.#sources.length - 2);
    const saved = await backup(context, { sources: this.#sources.slice(first, first + 2), cwd: '/' });
    await backup(context, { sources: this.#sources.slice(first + 1, first + 3), cwd: '/' });
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

  /** Anywhere, but most often where it hurts: right after a look at the own lock, which is lost at that moment. */
  #fallsAsleep(process: ModelProcess): boolean {
    const lock = /^sizeOf (locks\/.*)/.exec(process.calls.at(-1) ?? '')?.[1];
    if (lock === undefined || this.#prng.int(isRemoving(process) ? 3 : 6) > 0) return this.#prng.int(200) === 0;
    this.#loseLock(lock);
    return true;
  }

  #locks(): string[] {
    return this.#disk.names().filter((name) => name.startsWith('locks/'));
  }

  /** Somebody takes the holder of a lock for dead. */
  #loseLock(name: string): void {
    this.lostLockCount += 1;
    void this.#disk.remove(name);
  }

  async #start(): Promise<void> {
    const [kind, run] = this.#pickOperation();
    // Often a compaction waits until it may take every holder for dead; else those that sleep would keep it out.
    if (kind === 'compact' && this.#prng.int(3) > 0) for (const lock of this.#locks()) this.#loseLock(lock);
    const process = new ModelProcess(kind);
    this.#processes.add(process);
    const backend = new ScheduledBackend(this.#disk, process, { onChange: () => this.#verify(kind), lie: this.#lie });
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
      else this.loss ??= `${process.kind} failed: ${error instanceof Error ? error.stack : String(error)}`;
    }
    const key = `${process.kind} ${outcome}`;
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + 1);
    process.isDone = true;
    this.#processes.delete(process);
  }

  #pickOperation(): readonly [string, RunOperation] {
    // Beside a removal that sleeps, backups are what may rely on what it takes away when it wakes.
    const choice = [...this.#processes].some(isRemoving) ? this.#prng.int(10) : this.#prng.int(18);
    const present = this.#idsIn('snapshots');
    const deleted = this.#idsIn('deleted');
    if (choice >= 11 && choice < 14 && present.length > 0) {
      const id = this.#prng.pick(present);
      const reclaim = this.#prng.int(3) > 0;
      return ['delete', async (context) => this.#delete(context, id, reclaim)];
    }
    if (choice >= 14 && choice < 17 && deleted.length > 0) {
      const id = this.#prng.pick(deleted);
      return ['undelete', async (context, process) => this.#undelete(context, process, id)];
    }
    if (choice === 17) return ['repair', async (context) => void (await repair(context))];
    if (choice >= 8) return ['compact', async (context) => void (await compact(context, { maxUnusedPercent: 0 }))];
    const first = this.#prng.int(this.#sources.length);
    const sources = this.#sources.slice(first, first + 1 + this.#prng.int(3));
    return ['backup', async (context, process) => this.#backUp(context, process, sources)];
  }

  async #backUp(context: OperationContext, process: ModelProcess, sources: readonly string[]): Promise<void> {
    const { snapshotId } = await backup(context, { sources, cwd: '/' });
    // A delete can be faster than the report.
    if (!this.#deletes.has(snapshotId!)) await this.#protect(process, snapshotId!);
  }

  async #delete(context: OperationContext, id: string, reclaim: boolean): Promise<void> {
    this.#needed.delete(id);
    this.#deletes.set(id, (this.#deletes.get(id) ?? 0) + 1);
    await deleteSnapshots(context, { selectors: [id], reclaim });
  }

  async #undelete(context: OperationContext, process: ModelProcess, id: string): Promise<void> {
    const before = this.#deletes.get(id);
    // A delete that still runs may yet take it away again.
    const isBeingDeleted = [...this.#processes].some(({ kind }) => kind === 'delete');
    await undeleteSnapshots(context, { selectors: [id] });
    if (!isBeingDeleted && this.#deletes.get(id) === before) await this.#protect(process, id);
  }

  /** Reads what a snapshot needs, at one moment: nothing else runs meanwhile. */
  async #protect(process: ModelProcess, id: string): Promise<void> {
    process.isReporting = true;
    await this.#record(id);
    process.isReporting = false;
  }

  async #record(id: string): Promise<void> {
    if (!this.#idsIn('snapshots').includes(id)) {
      this.loss ??= `snapshot ${id} was reported and does not exist`;
      return;
    }
    const copy = this.#disk.copy();
    for (const lock of copy.names().filter((name) => name.startsWith('locks/'))) await copy.remove(lock);
    const repository = await Repository.open({ backend: copy, mode: 'shared', unlock: unlockOfTests });
    const opened = await repository.openState({ ignoreCheckpoints: true });
    const { reached, missing } = await walkLive(opened, [opened.state.snapshots.get(id)!.tree]);
    if (missing.length > 0) this.loss ??= `snapshot ${id} was reported without chunk ${missing[0]}`;
    const needed = new Set<string>();
    const bytes = Buffer.alloc(20);
    opened.state.filter.forEachEntry((entry) => {
      if (!reached.has(entry)) return;
      opened.state.filter.copyId(entry, bytes, 0);
      needed.add(bytes.toString('hex'));
    });
    await repository.close();
    this.#needed.set(id, needed);
  }

  #verify(kind: string): void {
    const available = new Set<string>();
    for (const segment of this.#disk.names().filter((name) => name.startsWith('index/'))) {
      for (const [packId, chunkIds] of this.#readSegment(segment)) {
        if (this.#disk.peek(`packs/${packId.slice(0, 2)}/${packId}`) === undefined) continue;
        for (const id of chunkIds) available.add(id);
      }
    }
    const present = new Set(this.#idsIn('snapshots'));
    for (const [id, needed] of this.#needed) {
      if (!present.has(id)) this.loss ??= `snapshot ${id}, which was reported, is gone by a ${kind}`;
      const lost = [...needed].find((chunk) => !available.has(chunk));
      if (lost !== undefined) this.loss ??= `snapshot ${id} lost chunk ${lost} by a ${kind}`;
    }
  }

  /** The chunk ids of each pack. */
  #readSegment(name: string): ReadonlyMap<string, readonly string[]> {
    const known = this.#segments.get(name);
    if (known !== undefined) return known;
    const packs = new Map<string, string[]>();
    for (const { id, blocks } of decodeSegment(this.#disk.view(name))) {
      const text = Buffer.concat(blocks.map(({ chunkIds }) => chunkIds)).toString('hex');
      packs.set(id, text.match(/.{40}/g) ?? []);
    }
    this.#segments.set(name, packs);
    return packs;
  }

  #idsIn(directory: string): string[] {
    const names = this.#disk.names().filter((name) => name.startsWith(`${directory}/`));
    return names.map((name) => name.slice(directory.length + 1));
  }
}

function isRemoving({ calls }: ModelProcess): boolean {
  return calls.some((call) => call.startsWith('syncDirectory condemned'));
}
