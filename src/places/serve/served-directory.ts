import { linkSync, lutimesSync, mkdirSync, readdirSync, renameSync, statfsSync, unlinkSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import type { Attributes } from 'ssh2';

import { CONFIG_COPY_NAME, CONFIG_NAME, GROUP_ID_NAME } from '../../core/format/layout.ts';
import { syncDirectoryPath } from '../../core/backend/sync-directory.ts';
import { APPEND_ONLY } from './append-only.ts';
import { HANDLES_MAX, OpenFiles } from './open-files.ts';
import type { Limits } from './open-files.ts';
import { haveSameBytes, renameNew } from './new-names.ts';
import { RequestError, STATUS } from './request-error.ts';
import { Root, lstatUnlessAbsent } from './root.ts';
import type { Located } from './root.ts';

const DIRECTORY_MODE = 0o700;
/** Of these, a packet has room for names of the largest size. */
const NAMES_AT_ONCE = 100;
/** A client that opens many listings and reads none would have the server keep all names. */
const LISTED_NAMES_MAX = 1_000_000;
/** What the place of a repository or of a group has. */
const TOP_MARKS = [CONFIG_NAME, CONFIG_COPY_NAME, GROUP_ID_NAME];
/** None of those that the server names itself. */
const NAMED_HANDLE = /^=[\x21-\x7e]{1,63}$/;

export interface Entry {
  readonly name: string;
  readonly stats: Stats;
}

/** What a place on this machine has to offer, in blocks of `blockBytes`. */
export interface Space {
  readonly blockBytes: number;
  readonly blocks: number;
  readonly freeBlocks: number;
  readonly files: number;
  readonly freeFiles: number;
}

interface Listing {
  readonly directory: string;
  readonly names: string[];
}

/**
 * A directory as its clients see it. Every request is done when the call returns, so none comes between the checks and
 * the change of another. Throws `RequestError` or the errors of `node:fs`.
 */
export class ServedDirectory {
  readonly files: OpenFiles;
  readonly #root: Root;
  readonly #limits: Limits;
  readonly #listings = new Map<string, Listing>();
  #listedCount = 0;

  constructor(directory: string, limits: Limits) {
    this.#root = new Root(directory);
    this.#limits = limits;
    this.files = new OpenFiles(this.#root, limits);
  }

  get isAppendOnly(): boolean {
    return this.#limits.isAppendOnly;
  }

  /** Fails unless there is a file whose size is in this range. */
  expect(path: string, leastBytes: bigint, mostBytes: bigint): void {
    const sizeBytes = BigInt(this.#locateFile(path).stats.size);
    if (sizeBytes < leastBytes || sizeBytes > mostBytes)
      throw new RequestError(STATUS.FAILURE, `the file is ${sizeBytes} bytes long`);
  }

  /** Returns the absolute path of the client. */
  realpath(path: string): string {
    return `/${this.#root.nameOf(path)}`;
  }

  stat(path: string): Stats {
    return this.#root.locateExisting(path).stats;
  }

  /** Opens a file under a handle that the client names or, without flags, a directory to be listed. */
  openUnder(handle: string, path: string, flags: number): void {
    if (!NAMED_HANDLE.test(handle)) throw new RequestError(STATUS.BAD_MESSAGE, 'no possible handle');
    if (this.#listings.has(handle) || this.files.has(handle))
      throw new RequestError(STATUS.FAILURE, 'the handle is in use');
    if (flags === 0) this.openDirectory(path, handle);
    else this.files.open(path, flags, handle);
  }

  /** `named`: a handle that is not in use. */
  openDirectory(path: string, named?: string): string {
    const located = this.#root.locateExisting(path);
    if (!located.stats.isDirectory()) throw new RequestError(STATUS.FAILURE, 'not a directory');
    if (this.#listings.size >= HANDLES_MAX) throw new RequestError(STATUS.FAILURE, `more than ${HANDLES_MAX} listings`);
    const names = readdirSync(located.path).reverse();
    const otherCount = [...this.#listings.values()].reduce((sum, listing) => sum + listing.names.length, 0);
    const { listedNamesMax = LISTED_NAMES_MAX } = this.#limits;
    if (otherCount > 0 && otherCount + names.length > listedNamesMax)
      throw new RequestError(STATUS.FAILURE, `more than ${listedNamesMax} names in open listings`);
    this.#listedCount += 1;
    const handle = named ?? `d${this.#listedCount}`;
    this.#listings.set(handle, { directory: located.path, names });
    return handle;
  }

  /** Returns the next entries; none at the end. What was removed meanwhile is left out. */
  readDirectory(handle: string): Entry[] {
    const listing = this.#listings.get(handle);
    if (listing === undefined) throw new RequestError(STATUS.FAILURE, 'no such handle');
    const entries: Entry[] = [];
    while (entries.length < NAMES_AT_ONCE) {
      const name = listing.names.pop();
      if (name === undefined) break;
      const stats = lstatUnlessAbsent(`${listing.directory}/${name}`);
      if (stats !== undefined) entries.push({ name, stats });
    }
    return entries;
  }

  close(handle: string): void {
    if (!this.#listings.delete(handle)) this.files.close(handle);
  }

  makeDirectory(path: string): void {
    const located = this.#root.locate(path);
    if (this.#limits.isAppendOnly) {
      const isInRepository = TOP_MARKS.some((name) => hasEntry(dirname(located.path), name));
      APPEND_ONLY.assertMayMakeDirectory(located.name, isInRepository);
    }
    mkdirSync(located.path, DIRECTORY_MODE);
    syncDirectoryPath(dirname(located.path));
  }

  remove(path: string): void {
    const file = this.#locateFile(path);
    if (this.#limits.isAppendOnly) APPEND_ONLY.assertMayRemove(file.name);
    unlinkSync(file.path);
    this.#giveBack(file.stats);
  }

  /** Gives a file a name that no file has. */
  rename(sourcePath: string, targetPath: string): void {
    const source = this.#locateFile(sourcePath);
    const target = this.#root.locate(targetPath);
    if (this.#limits.isAppendOnly) APPEND_ONLY.assertMayRename(source.name, target.name);
    if (target.stats !== undefined) throw new RequestError(STATUS.FAILURE, 'the file exists');
    renameNew(source.path, target.path);
  }

  /** Gives a file another name, and replaces a file that has it. */
  replace(sourcePath: string, targetPath: string): void {
    const source = this.#locateFile(sourcePath);
    const target = this.#root.locate(targetPath);
    if (this.#limits.isAppendOnly) {
      this.#add(source, target);
      return;
    }
    renameSync(source.path, target.path);
    const isSame = target.stats?.ino === source.stats.ino;
    if (target.stats !== undefined && !isSame) this.#giveBack(target.stats);
  }

  link(sourcePath: string, targetPath: string): void {
    if (this.#limits.isAppendOnly) APPEND_ONLY.refuseLink();
    linkSync(this.#locateFile(sourcePath).path, this.#root.locate(targetPath).path);
  }

  /** Sets times. Nothing else can be set. */
  setAttributes(path: string, { atime, mtime, size, mode, uid }: Partial<Attributes>): void {
    const file = this.#root.locateExisting(path);
    if (this.#limits.isAppendOnly) APPEND_ONLY.assertMayTouch(file.name);
    if (size !== undefined || mode !== undefined || uid !== undefined || atime === undefined || mtime === undefined) {
      throw new RequestError(STATUS.UNSUPPORTED, 'the server sets only times');
    }
    lutimesSync(file.path, atime, mtime);
  }

  /** Returns the space of the disk, or what is left of the quota. */
  space(): Space {
    const { bsize, blocks, bavail, files, ffree } = statfsSync(this.#root.directory);
    const quotaBlocks = Math.floor((this.#limits.quota?.freeBytes ?? Infinity) / bsize);
    return { blockBytes: bsize, blocks, freeBlocks: Math.min(bavail, quotaBlocks), files, freeFiles: ffree };
  }

  closeAll(): void {
    this.#listings.clear();
    this.files.closeAll();
  }

  /** A file that has the name already is as good as the new one if it has the same bytes. */
  #add(source: ReturnType<Root['locateExisting']>, target: Located): void {
    APPEND_ONLY.assertMayRename(source.name, target.name);
    if (target.stats === undefined) renameNew(source.path, target.path);
    else if (haveSameBytes(source, target)) {
      unlinkSync(source.path);
      this.#giveBack(source.stats);
    } else APPEND_ONLY.refuseReplacement();
  }

  #locateFile(path: string): ReturnType<Root['locateExisting']> {
    const located = this.#root.locateExisting(path);
    if (!located.stats.isFile()) throw new RequestError(STATUS.FAILURE, 'not a regular file');
    return located;
  }

  #giveBack({ size, nlink }: Stats): void {
    if (nlink === 1) this.#limits.quota?.resize(size, 0);
  }
}

function hasEntry(directory: string, name: string): boolean {
  return lstatUnlessAbsent(`${directory}/${name}`) !== undefined;
}
