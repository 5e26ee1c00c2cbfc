import { join } from 'node:path';

import type { Backend, BackendFile } from '../../src/core/backend/backend.ts';
import { CachedBackend } from '../../src/places/remote/cached-backend.ts';
import { diskStore, storeBackend } from './disk-store.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { createPrng } from './prng.ts';
import type { OpenScheduled } from './scheduled-process.ts';
import { makeTemporaryDirectory, removeTree } from './temp-directory.ts';

/** `directory`: for the cache of a machine, which outlives the processes. */
export type OpenMachine = (backend: Backend, directory: string) => CachedBackend;

export const openCached: OpenMachine = (backend, directory) => new CachedBackend(backend, { directory });

/**
 * Runs processes on two machines with a cache each, and on others without. One of the two applies all rules, and has made
 * the first snapshots. Call `end` after the schedule.
 */
export class CachedMachines {
  readonly open: OpenScheduled;
  readonly #directory = makeTemporaryDirectory();
  readonly #openMachine: OpenMachine;
  readonly #opened: CachedBackend[] = [];

  constructor(seed: number, inner: OpenScheduled, openMachine: OpenMachine) {
    this.#openMachine = openMachine;
    const prng = createPrng(seed + 2);
    this.open = (disk, process, onChange) => {
      const backend = inner(disk, process, onChange);
      const machine = process.kind === 'forget' ? 1 : prng.int(3);
      // Its own deletes leave the cache of a machine.
      if (machine === 1 && process.kind === 'delete') return backend;
      return machine === 0 ? backend : this.#open(backend, machine);
    };
  }

  first(disk: MemoryBackend): Backend {
    return this.#open(storeBackend(diskStore(disk)), 1);
  }

  async end(): Promise<void> {
    for (const backend of this.#opened) await backend.close();
    removeTree(this.#directory);
  }

  #open(backend: Backend, machine: number): CachedBackend {
    const cached = this.#openMachine(backend, join(this.#directory, String(machine)));
    this.#opened.push(cached);
    return cached;
  }
}

/** Machines on which what a listing once had counts as existing: a cache of sizes, for snapshots. */
export function trustingMachines(): OpenMachine {
  const sizes = new Map<string, Map<string, number>>();
  return (backend, directory) => {
    if (!sizes.has(directory)) sizes.set(directory, new Map());
    return new TrustingBackend(backend, directory, sizes.get(directory)!);
  };
}

class TrustingBackend extends CachedBackend {
  readonly #sizes: Map<string, number>;

  constructor(inner: Backend, directory: string, sizes: Map<string, number>) {
    super(inner, { directory });
    this.#sizes = sizes;
  }

  override async list(directory: string): Promise<BackendFile[]> {
    const files = await super.list(directory);
    for (const { name, sizeBytes } of files) if (name.startsWith('snapshots/')) this.#sizes.set(name, sizeBytes);
    return files;
  }

  override async sizeOf(name: string): Promise<number | undefined> {
    return this.#sizes.get(name) ?? (await super.sizeOf(name));
  }

  override async sizesOf(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const others = names.filter((name) => !this.#sizes.has(name));
    const known = names.flatMap((name) => (others.includes(name) ? [] : [[name, this.#sizes.get(name)!] as const]));
    return new Map([...known, ...(await super.sizesOf(others))]);
  }
}
