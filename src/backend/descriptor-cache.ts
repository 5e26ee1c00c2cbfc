import { closeSync, openSync } from 'node:fs';

/** Open descriptors for reading, the least recently used closed first. Errors are those of `node:fs`. */
export class DescriptorCache {
  readonly #limit: number;
  /** In the order of use: a Map keeps the order of insertion. */
  readonly #descriptors = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The descriptor stays valid until the next call. */
  open(path: string): number {
    const known = this.#descriptors.get(path);
    if (known !== undefined) {
      this.#descriptors.delete(path);
      this.#descriptors.set(path, known);
      return known;
    }
    if (this.#descriptors.size >= this.#limit) this.#forgetOldest();
    const descriptor = openSync(path, 'r');
    this.#descriptors.set(path, descriptor);
    return descriptor;
  }

  /** For a path that is removed or gets another file: a descriptor would still show the old one, and keep its space. */
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
