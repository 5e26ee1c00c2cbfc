import assert from 'node:assert/strict';

import type { BackendFile, Place } from '../../src/core/backend/backend.ts';
import { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import type { FileWriter } from '../../src/core/backend/publication.ts';
import { backendFailure } from '../../src/core/backend/backend-failure.ts';
import type { BackendOperation } from '../../src/core/backend/backend-failure.ts';
import { bufferOver } from '../../src/core/format/byte-reader.ts';

export interface LoggedOperation {
  readonly operation: BackendOperation;
  /** `source -> target` for a rename. */
  readonly name: string;
}

export interface FaultOptions {
  /** Which operation fails: 1 is the first one that counts. Left out: none, and the operations are only logged. */
  readonly failAt?: number;
  /**
   * 'error': the operation is refused with a `BackendError`. 'crash': nothing gets through any more, as if the process
   * had died. 'kill': the process does die, by SIGKILL; for child processes.
   */
  readonly mode?: 'error' | 'crash' | 'kill';
  readonly errno?: 'EIO' | 'ENOSPC' | 'EROFS' | 'EACCES' | 'ECONNRESET';
  /** With mode 'error': every later operation that counts fails too, like a disk that stays full. */
  readonly repeat?: boolean;
  /** An append that fails has written half of its bytes. */
  readonly torn?: boolean;
  /** Only these operations count (and can fail first). */
  readonly only?: (operation: BackendOperation, name: string) => boolean;
}

/** Stands for the death of the process: no code of the product knows it, so nothing can handle it by mistake. */
export class SimulatedCrash extends Error {
  constructor(at: string) {
    super(`simulated crash at ${at}`);
    this.name = 'SimulatedCrash';
  }
}

/** Passes every step on to `inner`, and fails at a chosen operation. */
export class FaultyBackend extends FileSystemBackend {
  readonly location: string;
  override readonly localDirectory: string | undefined;
  override readonly readsAtOnce: number;
  readonly inner: FileSystemBackend;
  /** Every operation that counts, the failing one included. */
  readonly operations: LoggedOperation[] = [];
  fired = false;
  readonly #options: FaultOptions;
  #hasCrashed = false;

  constructor(inner: FileSystemBackend, options: FaultOptions = {}) {
    super();
    this.inner = inner;
    this.location = inner.location;
    this.localDirectory = inner.localDirectory;
    this.readsAtOnce = inner.readsAtOnce;
    this.#options = options;
  }

  /** Fails the test in which the fault was never reached. */
  assertFired(): void {
    assert(this.fired, `operation ${this.#options.failAt} was never reached: there were ${this.operations.length}`);
  }

  override async examine(): Promise<Place | undefined> {
    return await this.inner.examine();
  }

  async makeDirectory(name: string): Promise<void> {
    return this.guard('makeDirectory', name, async () => this.inner.makeDirectory(name));
  }

  async list(directory: string): Promise<BackendFile[]> {
    return this.guard('list', directory, async () => this.inner.list(directory));
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return this.guard('sizeOf', name, async () => this.inner.sizeOf(name));
  }

  async read(name: string): Promise<Buffer> {
    return bufferOver(await this.guard('read', name, async () => this.inner.read(name)));
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    return this.guard('readRange', name, async () => this.inner.readRange(name, offset, target));
  }

  async create(name: string): Promise<FileWriter> {
    return this.guard('create', name, async () => new FaultyWriter(this, await this.inner.create(name), name));
  }

  async rename(source: string, target: string): Promise<void> {
    return this.guard('rename', `${source} -> ${target}`, async () => this.inner.rename(source, target));
  }

  async renameNew(source: string, target: string): Promise<void> {
    return this.guard('rename', `${source} -> ${target}`, async () => this.inner.renameNew(source, target));
  }

  async unlink(name: string): Promise<boolean> {
    return this.guard('remove', name, async () => this.inner.unlink(name));
  }

  async syncDirectory(directory: string): Promise<void> {
    return this.guard('syncDirectory', directory, async () => this.inner.syncDirectory(directory));
  }

  async touch(name: string): Promise<boolean> {
    return this.guard('touch', name, async () => this.inner.touch(name));
  }

  async heartbeatOf(name: string): Promise<string | undefined> {
    return this.guard('heartbeatOf', name, async () => this.inner.heartbeatOf(name));
  }

  async close(): Promise<void> {
    return this.guard('close', '', async () => this.inner.close());
  }

  /** Counts an operation and runs it, or fails in its place. `halfway` is what a torn operation still does. */
  async guard<T>(
    operation: BackendOperation,
    name: string,
    action: () => Promise<T>,
    halfway?: () => Promise<void>,
  ): Promise<T> {
    const at = `${operation} ${name}`;
    if (this.#hasCrashed) throw new SimulatedCrash(at);
    if (!this.#counts(operation, name)) return action();
    this.operations.push({ operation, name });
    if (!this.#isDue()) return action();
    this.fired = true;
    if (this.#options.torn === true) await halfway?.();
    if (this.#options.mode === 'kill') return dieNow();
    this.#hasCrashed = this.#options.mode === 'crash';
    if (this.#hasCrashed) throw new SimulatedCrash(at);
    throw backendFailure({ location: this.location, operation, name, errno: this.#options.errno ?? 'EIO' });
  }

  #counts(operation: BackendOperation, name: string): boolean {
    return this.#options.only?.(operation, name) ?? true;
  }

  #isDue(): boolean {
    const count = this.operations.length;
    const failAt = this.#options.failAt ?? Infinity;
    return count === failAt || (this.#options.repeat === true && count > failAt);
  }
}

class FaultyWriter implements FileWriter {
  readonly #backend: FaultyBackend;
  readonly #inner: FileWriter;
  readonly #name: string;

  constructor(backend: FaultyBackend, inner: FileWriter, name: string) {
    this.#backend = backend;
    this.#inner = inner;
    this.#name = name;
  }

  async append(bytes: Uint8Array): Promise<void> {
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    return this.#backend.guard(
      'append',
      this.#name,
      async () => this.#inner.append(bytes),
      async () => this.#inner.append(half),
    );
  }

  async sync(): Promise<void> {
    return this.#backend.guard('sync', this.#name, async () => this.#inner.sync());
  }

  async close(): Promise<void> {
    try {
      await this.#backend.guard('close', this.#name, async () => undefined);
    } finally {
      // A close that fails, and the death of a process, give the descriptor back all the same.
      await this.#inner.close();
    }
  }
}

/** SIGKILL ends the process before this returns; should it be late, nothing may go on until it comes. */
async function dieNow(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}
