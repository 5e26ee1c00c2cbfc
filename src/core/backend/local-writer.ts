import assert from 'node:assert/strict';
import { closeSync, fstatSync, fsync, writeSync } from 'node:fs';
import { promisify } from 'node:util';

import { BackendError } from '../errors.ts';
import { backendFailure, errnoOf } from './backend-failure.ts';
import type { BackendOperation } from './backend-failure.ts';
import type { FileWriter } from './publication.ts';

/** Runs in the thread pool, because a disk may be slow, and chunking and compression can continue meanwhile. */
const fsyncPooled = promisify(fsync);

/** Writes one new file of a `LocalBackend`. */
export class LocalWriter implements FileWriter {
  readonly #location: string;
  readonly #name: string;
  #descriptor: number | undefined;
  #appendedBytes = 0;
  /** After a failed fsync the system may drop the unwritten data, and a second fsync would wrongly succeed. */
  #failed = false;

  constructor(options: { descriptor: number; location: string; name: string }) {
    this.#descriptor = options.descriptor;
    this.#location = options.location;
    this.#name = options.name;
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#run('append', (descriptor) => {
      let doneBytes = 0;
      while (doneBytes < bytes.length) {
        const writtenBytes = writeSync(descriptor, bytes, doneBytes, bytes.length - doneBytes);
        if (writtenBytes === 0) throw this.#failure('append', 'EIO', 'the system accepts no more bytes');
        doneBytes += writtenBytes;
      }
      this.#appendedBytes += doneBytes;
    });
  }

  async sync(): Promise<void> {
    this.#run('sync', (descriptor) => {
      const { size } = fstatSync(descriptor);
      if (size !== this.#appendedBytes) {
        throw this.#failure('sync', 'EIO', `it is ${size} bytes long after ${this.#appendedBytes} bytes were written`);
      }
    });
    try {
      await fsyncPooled(this.#descriptor!);
    } catch (cause) {
      this.#failed = true;
      throw this.#failure('sync', errnoOf(cause), undefined, cause);
    }
  }

  async close(): Promise<void> {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    // A failed close also releases the descriptor, so it must not be repeated.
    this.#descriptor = undefined;
    try {
      closeSync(descriptor);
    } catch (cause) {
      throw this.#failure('close', errnoOf(cause), undefined, cause);
    }
  }

  #run(operation: BackendOperation, action: (descriptor: number) => void): void {
    assert(!this.#failed, `${this.#name}: cannot be written or synced after a failure`);
    assert(this.#descriptor !== undefined, `${this.#name}: already closed`);
    try {
      action(this.#descriptor);
    } catch (cause) {
      this.#failed = true;
      throw cause instanceof BackendError ? cause : this.#failure(operation, errnoOf(cause), undefined, cause);
    }
  }

  #failure(operation: BackendOperation, errno: string | undefined, reason?: string, cause?: unknown): Error {
    return backendFailure({
      location: this.#location,
      operation,
      name: this.#name,
      errno,
      ...(reason === undefined ? {} : { reason }),
      cause,
    });
  }
}
