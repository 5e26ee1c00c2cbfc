import assert from 'node:assert/strict';

import type { StagedFile, Verify } from '../../core/backend/backend.ts';

const FIRST_BYTES = 64 * 1024;

/** Stores all the bytes under a name, as `StagedFile.publish` says. */
type Store = (bytes: Uint8Array, publication: Publication) => Promise<void>;

/** Under which name an object is stored, and whether it must be new. */
export interface Publication {
  readonly name: string;
  readonly verify?: Verify | undefined;
  readonly isNew?: boolean | undefined;
}

/** A new file in memory. One request stores it when it is published. */
export class StagedObject implements StagedFile {
  readonly #store: Store;
  #buffer: Uint8Array | undefined = new Uint8Array(0);
  #lengthBytes = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  async append(bytes: Uint8Array): Promise<void> {
    assert(this.#buffer !== undefined, 'published or discarded already');
    const endBytes = this.#lengthBytes + bytes.length;
    if (endBytes > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(endBytes, 2 * this.#buffer.length, FIRST_BYTES));
      grown.set(this.#buffer.subarray(0, this.#lengthBytes));
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#lengthBytes);
    this.#lengthBytes = endBytes;
  }

  /** Nothing is written before it has its name. */
  async flush(): Promise<void> {}

  async publish(name: string, verify?: Verify, isNew?: boolean): Promise<void> {
    assert(this.#buffer !== undefined, 'published or discarded already');
    const bytes = this.#buffer.subarray(0, this.#lengthBytes);
    this.#buffer = undefined;
    await this.#store(bytes, { name, verify, isNew });
  }

  async discard(): Promise<void> {
    this.#buffer = undefined;
  }
}
