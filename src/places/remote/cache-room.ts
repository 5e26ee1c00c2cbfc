import { lstatSync } from 'node:fs';

interface KeptFile {
  readonly sizeBytes: number;
  /** When it was last used, as far as this process knows. */
  readonly usedMs: number;
}

/**
 * The room that the files of a cache need, and which of them was not used for the longest time. Each file is measured
 * once, and once more before it is removed, so that filling a cache takes time in proportion to the number of its files.
 */
export class CacheRoom {
  readonly #maxBytes: number;
  /** Those not used for the longest time come first. */
  readonly #files = new Map<string, KeptFile>();
  /** Stays valid while files are added and removed. */
  #oldest = this.#files.entries();
  #totalBytes = 0;

  /** @param pathsByName - the files that are there already. */
  constructor(pathsByName: ReadonlyMap<string, string>, maxBytes: number) {
    this.#maxBytes = maxBytes;
    const measured = [...pathsByName].flatMap(([name, path]) => {
      const file = measure(path);
      return file === undefined ? [] : [{ name, file }];
    });
    for (const { name, file } of measured.sort((one, other) => one.file.usedMs - other.file.usedMs)) {
      this.#put(name, file);
    }
  }

  add(name: string, path: string): void {
    this.remove(name);
    const file = measure(path);
    if (file !== undefined) this.#put(name, file);
  }

  remove(name: string): void {
    this.#totalBytes -= this.#files.get(name)?.sizeBytes ?? 0;
    this.#files.delete(name);
  }

  /**
   * Returns the file to remove next, or undefined if there is room. It is not `kept`, unless that is too large on its
   * own. Another process may have used a file since it was measured; then it is not among the oldest any more.
   */
  surplus(kept: string, pathOf: (name: string) => string): string | undefined {
    if (this.#totalBytes <= this.#maxBytes) return undefined;
    if ((this.#files.get(kept)?.sizeBytes ?? 0) > this.#maxBytes) return kept;
    for (;;) {
      const [name, file] = this.#nextOldest();
      const now = name === kept ? file : measure(pathOf(name));
      if (now === undefined || (name !== kept && now.usedMs <= file.usedMs)) return name;
      this.remove(name);
      this.#put(name, now);
    }
  }

  /** There is one, because the files need more room than there is. */
  #nextOldest(): [string, KeptFile] {
    const next = this.#oldest.next();
    if (next.done !== true) return next.value;
    this.#oldest = this.#files.entries();
    return this.#nextOldest();
  }

  #put(name: string, file: KeptFile): void {
    this.#files.set(name, file);
    this.#totalBytes += file.sizeBytes;
  }
}

/** Another process may have removed it. */
function measure(path: string): KeptFile | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats && { sizeBytes: stats.size, usedMs: stats.mtimeMs };
}
