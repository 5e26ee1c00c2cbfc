import { lstatSync, mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface KeptEntry {
  readonly path: string;
  readonly mode: number;
  readonly time: Date;
  /** Undefined for a directory. */
  readonly bytes: Buffer | undefined;
}

/** The directories and files below a directory, in memory. Of their times the seconds are kept. */
export class KeptTree {
  readonly #directory: string;
  readonly #entries: readonly KeptEntry[];

  constructor(directory: string) {
    this.#directory = directory;
    const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted();
    this.#entries = ['', ...names].map((name) => {
      const path = join(directory, name);
      const stats = lstatSync(path);
      const bytes = stats.isDirectory() ? undefined : readFileSync(path);
      return { path, mode: stats.mode & 0o777, time: stats.mtime, bytes };
    });
  }

  /** Makes them again where they were, which must not exist. */
  restore(): string {
    for (const { path, mode, bytes } of this.#entries) {
      if (bytes === undefined) mkdirSync(path, { mode });
      else writeFileSync(path, bytes, { mode });
    }
    // What is made in a directory changes its time.
    for (const { path, time } of this.#entries) utimesSync(path, time, time);
    return this.#directory;
  }
}
