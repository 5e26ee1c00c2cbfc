import { setImmediate as nextTurn } from 'node:timers/promises';

import { baseName, directoryOf } from '../../src/core/format/layout.ts';
import type { LockClock } from '../../src/core/repository/locks/lock.ts';
import type { Backend } from '../../src/core/backend/backend.ts';
import { DiskObjects, operationOf, storeBackend } from './disk-store.ts';
import { FaultyBackend, SimulatedCrash } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { MemoryStore } from './memory-store.ts';
import { createPrng } from './prng.ts';

/** What a broken order changes in what one process sees of the repository. `undefined`: the truth. */
export type Lie = (process: ModelProcess, disk: MemoryBackend) => BrokenView;

export interface BrokenView {
  readonly list?: (directory: string) => readonly string[] | undefined;
  readonly exists?: (name: string) => boolean | undefined;
  /** Only in a store of objects. */
  readonly hides?: (name: string) => boolean;
}

/** The directories whose listings may lag behind. That of the locks decides who may run, and must be right. */
const LAGGING = ['deleted', 'condemned', 'index', 'snapshots', 'manifests.bak', 'filter'];

/** Of these, listings also still have names that were removed. */
const SHOWING_REMOVED = ['deleted', 'index', 'snapshots'];

/**
 * Listings that lag behind: each process misses a snapshot for a while, with the copy of its manifest and some newer
 * checkpoints, a condemnation, and single other names; and is still shown one name that was removed in each of some
 * directories.
 */
export function lagging(seed: number): Lie {
  const prng = createPrng(seed);
  const removedPrng = createPrng(seed + 1);
  /** All names that any listing had so far. */
  const known = new Set<string>();
  return (process, disk) => {
    let missed: ReadonlySet<string> | undefined;
    let shown: readonly string[] = [];
    const namesIn = (directory: string): string[] => disk.names().filter((name) => name.startsWith(`${directory}/`));
    const pick = (): Set<string> => {
      const id = baseName(prng.pick(['', ...namesIn('snapshots')]));
      const checkpoints = namesIn('filter').slice(-prng.int(3));
      const others = [prng.pick(LAGGING), 'condemned'].map((directory) => prng.pick(['', ...namesIn(directory)]));
      return new Set([`snapshots/${id}`, `manifests.bak/${id}`, ...checkpoints, ...others]);
    };
    const pickRemoved = (): string[] => {
      const removed = [...known].filter((name) => !disk.has(name));
      // Only a snapshot that is newer than others makes a rule select these.
      if (process.kind === 'forget') return removed.filter((name) => name.startsWith('snapshots/')).slice(-1);
      // A process that is shown too many of them does nothing but fail.
      return SHOWING_REMOVED.filter(() => removedPrng.int(3) === 0).map((directory) =>
        removedPrng.pick(['', ...removed.filter((name) => name.startsWith(`${directory}/`))]),
      );
    };
    return {
      list: (directory) => {
        if (!LAGGING.includes(directory)) return undefined;
        for (const name of namesIn(directory)) known.add(name);
        if (missed === undefined || prng.int(8) === 0) {
          missed = pick();
          shown = pickRemoved();
        }
        const removed = shown.filter((name) => name.startsWith(`${directory}/`) && !disk.has(name));
        return [...namesIn(directory).filter((name) => !missed!.has(name)), ...removed];
      },
    };
  };
}

/** A rule counts what a listing has, without asking whether it exists. */
export function trustingRules(lags: Lie): Lie {
  return (process, disk) => {
    const { list } = lags(process, disk);
    let listed: readonly string[] = [];
    return {
      list: (directory) => {
        const names = list?.(directory);
        if (directory === 'snapshots') listed = names ?? [];
        return names;
      },
      exists: (name) => process.kind === 'forget' && listed.includes(name),
    };
  };
}

/** One operation that waits before every call of its backend until the schedule lets it go on. */
export class ModelProcess implements LockClock {
  readonly kind: string;
  /** Every call that was let through, `operation name`. */
  readonly calls: string[] = [];
  sleepsUntil = 0;
  isDone = false;
  isKilled = false;
  /** While its result is recorded nothing else runs. */
  isReporting = false;
  #nowMs = 0;
  readonly #gates: (() => void)[] = [];

  constructor(kind: string) {
    this.kind = kind;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** A wait for a lock takes no real time: it is one more moment at which others may run, and this process may die. */
  async sleep(durationMs: number): Promise<void> {
    this.#nowMs += durationMs;
    await this.gate(`sleep ${durationMs}`);
  }

  get isRemoving(): boolean {
    return this.calls.some((call) => call.startsWith('syncDirectory condemned'));
  }

  get isWaiting(): boolean {
    return this.#gates.length > 0;
  }

  async gate(call: string): Promise<void> {
    if (!this.isKilled) await new Promise<void>((resolve) => this.#gates.push(resolve));
    if (this.isKilled) throw new SimulatedCrash(call);
    this.calls.push(call);
  }

  /** Lets the call that has waited longest through, and returns when the process waits again or has ended. */
  async step(): Promise<void> {
    this.#gates.shift()?.();
    await this.settle();
  }

  async kill(): Promise<void> {
    this.isKilled = true;
    for (const resolve of this.#gates.splice(0)) resolve();
    while (!this.isDone) await nextTurn();
  }

  async settle(): Promise<void> {
    // Mostly nothing but promises is pending, and a turn of the event loop costs more than all of them.
    await allPromises();
    while (this.isReporting || (!this.isDone && !this.isWaiting)) await nextTurn();
  }
}

/** Resolves when no promise has anything left to do: only then does Node look at what `nextTick` has queued. */
async function allPromises(): Promise<void> {
  await new Promise<void>((resolve) => process.nextTick(resolve));
}

/** Opens a disk for a process. `onChange` is called after each change that others may see. */
export type OpenScheduled = (disk: MemoryBackend, process: ModelProcess, onChange: () => void) => Backend;

/** As a store of objects, where every request waits for its turn. */
export function scheduledStore(lie?: Lie): OpenScheduled {
  return (disk, process, onChange) => {
    const store = new LyingStore(disk, lie?.(process, disk) ?? {});
    store.onRequest = async (request, isDone) => {
      const { operation, name } = operationOf(request);
      if (!isDone) return await process.gate(`${operation} ${name}`);
      if (operation !== 'remove' && operation !== 'create') return;
      // What is stored is durable, as what is in a directory is after this.
      process.calls.push(`syncDirectory ${directoryOf(name)}`);
      onChange();
    };
    return storeBackend(store);
  };
}

/** A store of which a broken order may be shown something untrue. */
class LyingStore extends MemoryStore {
  readonly #view: BrokenView;

  constructor(disk: MemoryBackend, view: BrokenView) {
    super(new DiskObjects(disk));
    this.#view = view;
  }

  override async list(prefix: string): ReturnType<MemoryStore['list']> {
    const objects = await super.list(prefix);
    const names = this.#view.list?.(prefix.replace(/\/$/, ''));
    return names?.map((key) => objects.find((each) => each.key === key) ?? { key, sizeBytes: 0 }) ?? objects;
  }

  override async head(key: string): ReturnType<MemoryStore['head']> {
    const status = await super.head(key);
    if (this.#view.hides?.(key) === true) return undefined;
    return this.#view.exists?.(key) === true ? (status ?? { sizeBytes: 2 ** 40, version: undefined }) : status;
  }
}

/** As a directory. */
export function scheduledDirectory(lie?: Lie): OpenScheduled {
  return (disk, process, onChange) => new ScheduledBackend(disk, process, { onChange, lie });
}

/** The backend of one process: every call waits for its turn, and a broken order may be shown something untrue. */
class ScheduledBackend extends FaultyBackend {
  readonly #process: ModelProcess;
  readonly #onChange: () => void;
  readonly #view: BrokenView;

  constructor(disk: MemoryBackend, process: ModelProcess, given: { onChange: () => void; lie: Lie | undefined }) {
    super(disk);
    this.#process = process;
    this.#onChange = given.onChange;
    this.#view = given.lie?.(process, disk) ?? {};
  }

  override async guard<T>(operation: string, name: string, action: () => Promise<T>): Promise<T> {
    await this.#process.gate(`${operation} ${name}`);
    const result = await action();
    if (operation === 'remove' || operation === 'rename') this.#onChange();
    return result;
  }

  override async list(directory: string): ReturnType<FaultyBackend['list']> {
    const files = await super.list(directory);
    const names = this.#view.list?.(directory);
    return names?.map((name) => files.find((each) => each.name === name) ?? { name, sizeBytes: 0 }) ?? files;
  }

  override async sizeOf(name: string): Promise<number | undefined> {
    const sizeBytes = await super.sizeOf(name);
    return this.#view.exists?.(name) === true ? (sizeBytes ?? 0) : sizeBytes;
  }
}
