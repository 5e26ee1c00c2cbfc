import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  lstatSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describeTree } from './compare-trees.ts';
import { createPrng } from './prng.ts';
import type { Prng } from './prng.ts';
import { hasEntry, latin1Of } from './tree-paths.ts';

/** The directories that a backup of a small source may name. */
export const ROOT_NAMES = ['a', 'b', 'c'] as const;

/** One description per root, as `describeTree` gives it. */
export type SourceDescription = ReadonlyMap<string, ReadonlyMap<string, string>>;

const PIECE_COUNT = 16;
const FILE_COUNT_MAX = 25;

/**
 * A few dozen tiny files that are made of the same few pieces again and again, so that chunks die, come back to life
 * and are shared by files, directories and snapshots all the time.
 */
export class SmallSource {
  readonly directory: string;
  readonly #prng: Prng;
  readonly #pieces: readonly Buffer[];

  constructor(directory: string, prng: Prng) {
    this.directory = directory;
    this.#prng = prng;
    const content = createPrng(prng.next());
    this.#pieces = Array.from({ length: PIECE_COUNT }, () => content.bytes(100 + content.int(3000)));
    for (const root of ROOT_NAMES) mkdirSync(join(directory, root));
    for (let change = 0; change < 20; change += 1) this.mutate();
  }

  /** Some of the roots, at least one. */
  pickRoots(): string[] {
    const roots = ROOT_NAMES.filter(() => this.#prng.int(3) > 0);
    return roots.length === 0 ? [this.#prng.pick(ROOT_NAMES)] : roots;
  }

  /** Makes one change; returns what it did. */
  mutate(): string {
    const { directories, files } = this.#list();
    const directory = this.#prng.pick(directories);
    const file = files.length === 0 ? undefined : this.#prng.pick(files);
    if (file === undefined || this.#prng.int(3) === 0) return this.#write(this.#freshName(directory));
    if (files.length > FILE_COUNT_MAX || this.#prng.int(4) === 0) return this.#remove(file, directory);
    switch (this.#prng.int(5)) {
      case 0:
        return this.#write(file);
      case 1:
        renameSync(file, this.#freshName(directory));
        return `renamed ${file}`;
      case 2:
        copyFileSync(file, this.#freshName(directory));
        return `copied ${file}`;
      case 3:
        mkdirSync(this.#freshName(directory));
        return `made a directory in ${directory}`;
      default:
        return this.#twin(directory);
    }
  }

  describe(roots: readonly string[]): SourceDescription {
    return describeRoots(this.directory, roots);
  }

  #write(file: string): string {
    const count = this.#prng.int(5);
    const pieces = Array.from({ length: count }, () => this.#prng.pick(this.#pieces));
    rmSync(file, { force: true });
    writeFileSync(file, Buffer.concat(pieces));
    return `wrote ${count} pieces to ${file}`;
  }

  #remove(file: string, directory: string): string {
    const isRoot = ROOT_NAMES.some((root) => directory === join(this.directory, root));
    const name = isRoot || this.#prng.int(3) > 0 ? file : directory;
    rmSync(name, { recursive: true });
    return `removed ${name}`;
  }

  /** Two directories of hard links to the same files are equal trees: one chunk that two entries refer to. */
  #twin(directory: string): string {
    const files = readdirSync(directory).filter((name) => isRegularFile(join(directory, name)));
    const root = ROOT_NAMES.find((name) => `${directory}/`.startsWith(`${join(this.directory, name)}/`));
    if (root === undefined || files.length === 0) {
      symlinkSync(`../${this.#prng.next()}`, this.#freshName(directory));
      return `made a symlink in ${directory}`;
    }
    const targets: string[] = [];
    while (targets.length < 2) {
      const target = this.#freshName(join(this.directory, root));
      mkdirSync(target);
      targets.push(target);
      linkSync(join(directory, files[0]!), join(target, 'link'));
      utimesSync(target, 1, 1);
    }
    return `made twins ${targets.join(' and ')}`;
  }

  #freshName(directory: string): string {
    for (;;) {
      const name = join(directory, `n${this.#prng.int(1000)}`);
      if (!hasEntry(latin1Of(name))) return name;
    }
  }

  #list(): { directories: string[]; files: string[] } {
    const directories = ROOT_NAMES.map((root) => join(this.directory, root));
    const files: string[] = [];
    for (const directory of directories) {
      for (const entry of readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = join(directory, entry.name);
        if (entry.isDirectory()) directories.push(path);
        else if (entry.isFile()) files.push(path);
      }
    }
    return { directories, files };
  }
}

export function describeRoots(directory: string, roots: readonly string[]): SourceDescription {
  return new Map(roots.map((root) => [root, describeTree(join(directory, root))]));
}

function isRegularFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
