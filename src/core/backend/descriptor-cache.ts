import { closeSync } from 'node:fs';
import { openRegular } from './regular-file.ts';

/** Caches descriptors for reading; closes the least recently used first. Throws what `openRegular` throws. */
export class DescriptorCache {
  readonly #limit: number;
  /** In order of use, because a Map keeps the insertion order. */
  readonly #descriptors = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns a descriptor that is valid until the next call. */
  open(path: string): number {
    const known = this.#descriptors.get(path);
    if (known !== undefined) {
      this.#descriptors.delete(path);
      this.#descriptors.set(path, known);
      return known;
    }
    if (this.#descriptors.size >= this.#limit) this.#forgetOldest();
    const descriptor = openRegular(path);
    this.#descriptors.set(path, descriptor);
    return descriptor;
  }

  /**
   * Must be called when a path is removed or replaced: an open descriptor would still read the old file and keep its
   * disk space allocated.
   */
  forget(path: string): void {
    const descriptor = this.#descriptors.get(path);
    if (descriptor === undefined) return;
    this.#descriptors.delete(path);
    closeSync(descriptor);
  }

  close(): void {
    while (this.#descriptors.size > 0) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const path of this.#descriptors.keys()) {
      this.forget(path);
      return;
    }
  }
}
