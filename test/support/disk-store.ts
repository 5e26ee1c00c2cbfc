import assert from 'node:assert/strict';

import { ObjectBackend } from '../../src/places/objects/object-backend.ts';
import type { BackendOperation } from '../../src/core/backend/backend-failure.ts';
import { StoreError } from '../../src/places/objects/object-store.ts';
import { SimulatedCrash } from './faulty-backend.ts';
import type { FaultOptions, LoggedOperation } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { MemoryStore } from './memory-store.ts';

/** The files of a disk in memory as objects: what happens to one of both shows in the other. */
export class DiskObjects extends Map<string, Buffer> {
  readonly #disk: MemoryBackend;

  constructor(disk: MemoryBackend) {
    super();
    this.#disk = disk;
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  override get(name: string): Buffer | undefined {
    return this.#disk.peek(name);
  }

  override set(name: string, bytes: Buffer): this {
    this.#disk.poke(name, bytes);
    return this;
  }

  override delete(name: string): boolean {
    void this.#disk.remove(name);
    return true;
  }

  override *[Symbol.iterator](): MapIterator<[string, Buffer]> {
    for (const name of this.#disk.names()) yield [name, this.#disk.view(name)];
    return undefined;
  }
}

/** What can be seen of a storage that fails. */
export interface Faulty {
  readonly operations: readonly LoggedOperation[];
  readonly fired: boolean;
  assertFired(): void;
}

/** Each request is one step, which has no halves. */
const OPERATIONS: Readonly<Record<string, BackendOperation>> = {
  put: 'create',
  replace: 'touch',
  get: 'read',
  getRange: 'readRange',
  head: 'sizeOf',
  remove: 'remove',
  list: 'list',
};

/** The step of a file system that comes next to a request to a store. */
export function operationOf(request: string): LoggedOperation {
  const end = request.indexOf(' ');
  return { operation: OPERATIONS[request.slice(0, end)]!, name: request.slice(end + 1) };
}

/** A store of objects, as which processes see a disk in memory. */
export function diskStore(disk: MemoryBackend): MemoryStore {
  return new MemoryStore(new DiskObjects(disk));
}

export function storeBackend(store: MemoryStore): ObjectBackend {
  return new ObjectBackend('store:test', store, { retryForMs: 0 });
}

/**
 * A store that fails at one of its requests, as `FaultyBackend` does: with `torn`, the request is carried out, and only
 * its answer is lost.
 */
export class FaultyStore implements Faulty {
  readonly backend: ObjectBackend;
  readonly operations: LoggedOperation[] = [];
  fired = false;
  readonly #options: FaultOptions;
  #unanswered: string | undefined;
  #hasCrashed = false;

  constructor(disk: MemoryBackend, options: FaultOptions = {}) {
    this.#options = options;
    const store = diskStore(disk);
    store.onRequest = (request, isDone) => (isDone ? this.#answer(request) : this.#begin(request));
    this.backend = storeBackend(store);
  }

  assertFired(): void {
    assert(this.fired, `request ${this.#options.failAt} was never reached: there were ${this.operations.length}`);
  }

  #begin(request: string): void {
    if (this.#hasCrashed) throw new SimulatedCrash(request);
    const { operation, name } = operationOf(request);
    if (this.#options.only?.(operation, name) === false) return;
    this.operations.push({ operation, name });
    const { failAt = Infinity, repeat = false } = this.#options;
    const count = this.operations.length;
    if (count !== failAt && !(repeat && count > failAt)) return;
    this.fired = true;
    if (this.#options.torn === true) this.#unanswered = request;
    else this.#fail(request);
  }

  #answer(request: string): void {
    if (this.#hasCrashed || this.#unanswered !== request) return;
    this.#unanswered = undefined;
    this.#fail(request);
  }

  #fail(request: string): never {
    this.#hasCrashed = this.#options.mode === 'crash';
    if (this.#hasCrashed) throw new SimulatedCrash(request);
    const { errno = 'EIO' } = this.#options;
    const kind = errno === 'ENOSPC' ? 'full' : 'other';
    throw new StoreError(`made by the test (${errno})`, { kind, isAnswer: true });
  }
}
