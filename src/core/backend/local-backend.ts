import assert from 'node:assert/strict';
import {
  closeSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  utimesSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { performance } from 'node:perf_hooks';

import { CorruptDataError } from '../errors.ts';
import { backendFailure, errnoOf } from './backend-failure.ts';
import type { BackendOperation } from './backend-failure.ts';
import type { BackendFile, ListedName, Place } from './backend.ts';
import { DescriptorCache } from './descriptor-cache.ts';
import { examinePath } from './examine-path.ts';
import { FileSystemBackend } from './file-system-backend.ts';
import { assertInside } from '../format/own-names.ts';
import type { FileWriter } from './publication.ts';
import { byName, filesOnly, listLocally } from './local-listing.ts';
import { LocalWriter } from './local-writer.ts';
import { openRegular, unreadableName } from './regular-file.ts';
import { syncDirectoryPath, syncOuterDirectories } from './sync-directory.ts';
import { makeDirectories } from '../util/make-directories.ts';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const OPEN_FILES_MAX = 32;

/** Errors of file systems without hard links, such as those of memory cards. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * A local directory. All calls are synchronous internally, because `node:fs` is many times faster than its promises for
 * small files. Only the owner can access directories and files, regardless of the umask.
 */
export class LocalBackend extends FileSystemBackend {
  readonly location: string;
  override readonly localDirectory: string;
  readonly #readers = new DescriptorCache(OPEN_FILES_MAX);
  /** Directories in which `makeDirectory` may have created names that are not durable yet. */
  readonly #unsyncedParents = new Set<string>();

  /** The directory may not exist yet. */
  constructor(directory: string) {
    super();
    this.location = resolve(directory);
    this.localDirectory = this.location;
  }

  override async examine(): Promise<Place> {
    return this.#run('list', '', () => examinePath(this.location));
  }

  async makeDirectory(name: string): Promise<void> {
    const path = this.#pathOf(name);
    this.#run('makeDirectory', name, () => {
      const first = makeDirectories(path, { mode: DIRECTORY_MODE });
      if (first !== undefined && this.location.startsWith(first)) syncOuterDirectories(first, this.location);
    });
    // Include existing directories: a process that died may have created them without syncing.
    for (let inner = name; inner !== ''; inner = parentOf(inner)) this.#unsyncedParents.add(parentOf(inner));
  }

  async list(directory: string): Promise<BackendFile[]> {
    const files = this.#run('list', directory, () =>
      listLocally(directory, {
        pathOf: (name) => this.#pathOf(name),
        onTime: (name, modifiedMs) => this.observeTime(name, modifiedMs),
      }),
    );
    return files.sort(byName);
  }

  async listNames(directory: string): Promise<ListedName[]> {
    const names = this.#run('list', directory, () => filesOnly(directory, this.#pathOf(directory)));
    return names?.sort(byName) ?? (await this.list(directory));
  }

  async sizeOf(name: string): Promise<number | undefined> {
    return this.#run('sizeOf', name, () => {
      const stats = lstatSync(this.#pathOf(name), { throwIfNoEntry: false });
      return stats?.isFile() === true || stats?.isSymbolicLink() === true ? stats.size : undefined;
    });
  }

  async read(name: string): Promise<Uint8Array> {
    return this.#run('read', name, () => {
      const descriptor = openRegular(this.#pathOf(name));
      try {
        return readFileSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    const path = this.#pathOf(name);
    let filledBytes = 0;
    this.#run('readRange', name, () => {
      const descriptor = this.#readers.open(path);
      while (filledBytes < target.length) {
        const readBytes = readSync(descriptor, target, filledBytes, target.length - filledBytes, offset + filledBytes);
        if (readBytes === 0) break;
        filledBytes += readBytes;
      }
    });
    if (filledBytes < target.length) {
      throw new CorruptDataError(
        `repository ${this.location}: ${name} ends at byte ${offset + filledBytes}, but ${target.length} bytes were expected from byte ${offset}`,
        { advice: { code: 'check-data' } },
      );
    }
  }

  async create(name: string): Promise<FileWriter> {
    const descriptor = this.#run('create', name, () => openSync(this.#pathOf(name), 'wx', FILE_MODE));
    return new LocalWriter({ descriptor, location: this.location, name });
  }

  async rename(source: string, target: string): Promise<void> {
    this.#run('rename', `${source} to ${target}`, () => {
      this.#readers.forget(this.#pathOf(source));
      this.#readers.forget(this.#pathOf(target));
      renameSync(this.#pathOf(source), this.#pathOf(target));
    });
  }

  /** Without hard links, another process could create the target between the look and the rename. */
  async renameNew(source: string, target: string): Promise<void> {
    const isLinked = this.#run('rename', `${source} to ${target}`, () => {
      try {
        linkSync(this.#pathOf(source), this.#pathOf(target));
        return true;
      } catch (error) {
        if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error;
        return false;
      }
    });
    if (isLinked) return void (await this.unlink(source));
    if ((await this.sizeOf(target)) !== undefined) {
      throw backendFailure({ location: this.location, operation: 'rename', name: target, errno: 'EEXIST' });
    }
    await this.rename(source, target);
  }

  async unlink(name: string): Promise<boolean> {
    return this.#run('remove', name, () => {
      this.#readers.forget(this.#pathOf(name));
      return unlessAbsent(() => unlinkSync(this.#pathOf(name)));
    });
  }

  async syncDirectory(directory: string): Promise<void> {
    this.#syncOne(directory);
    for (let inner = directory; inner !== ''; inner = parentOf(inner)) {
      const parent = parentOf(inner);
      if (this.#unsyncedParents.has(parent)) this.#syncOne(parent);
    }
  }

  async touch(name: string): Promise<boolean> {
    // A Date has only whole milliseconds, but two heartbeats in the same millisecond must differ.
    const nowSeconds = (performance.timeOrigin + performance.now()) / 1000;
    return this.#run('touch', name, () => unlessAbsent(() => utimesSync(this.#pathOf(name), nowSeconds, nowSeconds)));
  }

  async heartbeatOf(name: string): Promise<string | undefined> {
    return this.#run('heartbeatOf', name, () => {
      const stats = lstatSync(this.#pathOf(name), { throwIfNoEntry: false, bigint: true });
      return stats?.mtimeNs.toString();
    });
  }

  async close(): Promise<void> {
    this.#run('close', '', () => this.#readers.close());
  }

  #syncOne(directory: string): void {
    this.#run('syncDirectory', directory, () => syncDirectoryPath(this.#pathOf(directory)));
    this.#unsyncedParents.delete(directory);
  }

  #pathOf(name: string): string {
    if (name === '') return this.location;
    assertInside(name);
    return `${this.location}/${name}`;
  }

  #run<T>(operation: BackendOperation, name: string, action: () => T): T {
    try {
      return action();
    } catch (cause) {
      if (cause instanceof assert.AssertionError) throw cause;
      const errno = errnoOf(cause);
      const isRead = operation === 'read' || operation === 'readRange';
      const damage = isRead && unreadableName(this.#pathOf(name), `repository ${this.location}: ${name}`, cause);
      if (damage) throw damage;
      throw backendFailure({ location: this.location, operation, name, errno, cause });
    }
  }
}

function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('/')));
}

/** Returns false if the file does not exist. */
function unlessAbsent(action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}
