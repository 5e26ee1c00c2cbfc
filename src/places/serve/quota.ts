import { lstatSync, readdirSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { join } from 'node:path';

import { errnoOf } from '../../core/backend/backend-failure.ts';
import { RequestError, STATUS } from './request-error.ts';

/** Files take up whole blocks of this size, as on a disk. Empty files are free, so that a lock needs no space. */
const BLOCK_BYTES = 4096;
/** Other servers may use the same directory. */
const COUNT_VALID_MS = 60_000;
/** Counting takes about a second for a million files. */
const COUNT_AGAIN_MS = 5000;

/** Returns how much of a quota a file takes. */
function chargeOf(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
}

/** Limits the bytes of all files below a directory. Counts them at the start, and again now and then. */
export class Quota {
  readonly #root: string;
  readonly #limitBytes: number;
  #usedBytes = 0;
  #countedMs = 0;

  constructor(root: string, limitBytes: number) {
    this.#root = root;
    this.#limitBytes = limitBytes;
    this.#count();
  }

  get freeBytes(): number {
    return Math.max(0, this.#limitBytes - this.#usedBytes);
  }

  /**
   * Records that a file is about to grow or has shrunk.
   * @throws RequestError if it would be more than the quota
   */
  resize(fromBytes: number, toBytes: number): void {
    const change = chargeOf(toBytes) - chargeOf(fromBytes);
    const ageMs = performance.now() - this.#countedMs;
    const fits = (): boolean => change <= 0 || this.#usedBytes + change <= this.#limitBytes;
    if (ageMs > (fits() ? COUNT_VALID_MS : COUNT_AGAIN_MS)) this.#count();
    if (!fits()) throw new RequestError(STATUS.FAILURE, 'the quota on the server is used up');
    this.#usedBytes = Math.max(0, this.#usedBytes + change);
  }

  #count(): void {
    const linked = new Set<number>();
    const pending = [this.#root];
    let usedBytes = 0;
    while (pending.length > 0) {
      const directory = pending.pop()!;
      for (const name of unlessGone(() => readdirSync(directory, 'buffer')) ?? []) {
        const path = Buffer.concat([Buffer.from(`${directory}/`), name]);
        const stats = unlessGone(() => lstatSync(path));
        if (stats?.isDirectory() === true) pending.push(join(directory, name.toString()));
        else if (stats !== undefined) usedBytes += this.#chargeOnce(stats, linked);
      }
    }
    this.#usedBytes = usedBytes;
    this.#countedMs = performance.now();
  }

  #chargeOnce(stats: Stats, linked: Set<number>): number {
    if (stats.nlink > 1 && linked.has(stats.ino)) return 0;
    if (stats.nlink > 1) linked.add(stats.ino);
    return chargeOf(stats.size);
  }
}

function unlessGone<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}
