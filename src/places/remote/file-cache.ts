import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { createPackDigest } from '../../core/crypto/pack-digest.ts';
import type { PackHash } from '../../core/crypto/pack-digest.ts';
import { baseName, directoryOf } from '../../core/format/layout.ts';
import { errnoOf } from '../../core/backend/backend-failure.ts';
import { DescriptorCache } from '../../core/backend/descriptor-cache.ts';
import { CacheRoom } from './cache-room.ts';
import { digestOfFile, markUsed, newDraft, readFully, removeOldDrafts, writeFully, writeTag } from './cache-files.ts';

/** The directories of a repository whose files are kept. */
export const CACHED_DIRECTORIES = ['index', 'snapshots', 'filter', 'packs'] as const;

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const OPEN_FILES_MAX = 32;

interface FileCacheOptions {
  /** The caches of all repositories. */
  readonly directory: string;
  readonly repositoryId: string;
  readonly packHash: PackHash;
  /** When the files need more than this, those that were not used for the longest time are removed. */
  readonly maxBytes: number;
  /** Called at most once, with the reason, when the cache is turned off. */
  readonly onTrouble: (reason: string) => void;
}

/** A file that is being added to the cache. Errors only end the cache. */
export interface CacheDraft {
  append(bytes: Uint8Array): void;
  commit(name: string): void;
  discard(): void;
}

/**
 * Copies of files of one repository in a directory of this machine, byte for byte. The name of a file contains the
 * digest of its bytes, which is verified before the first use in a process; what does not match is removed. So nothing
 * here needs to be durable, and several processes can use it at once.
 *
 * No method throws: whatever fails in the file system ends the use of the cache.
 */
export class FileCache {
  readonly #options: FileCacheOptions;
  readonly #root: string;
  readonly #readers = new DescriptorCache(OPEN_FILES_MAX);
  /** The name in the cache by the name in the repository. */
  readonly #files = new Map<string, string>();
  readonly #verified = new Set<string>();
  /** Measured by the first file that is added. */
  #room: CacheRoom | undefined;
  #isUsable = true;

  constructor(options: FileCacheOptions) {
    this.#options = options;
    this.#root = `${options.directory}/${options.repositoryId}`;
    this.#attempt(() => {
      for (const directory of CACHED_DIRECTORIES) {
        mkdirSync(`${this.#root}/${directory}`, { recursive: true, mode: DIRECTORY_MODE });
        for (const file of readdirSync(`${this.#root}/${directory}`)) {
          this.#files.set(`${directory}/${file.split('.')[0]}`, `${directory}/${file}`);
        }
      }
      writeTag(options.directory);
      removeOldDrafts(this.#root);
    });
  }

  /** Whether there is a copy, which may still turn out to be damaged. */
  has(name: string): boolean {
    return this.#isUsable && this.#files.has(name);
  }

  /** The names of all files in a directory of the repository that have a copy. */
  namesIn(directory: string): string[] {
    return [...this.#files.keys()].filter((name) => directoryOf(name) === directory);
  }

  /** Returns undefined if there is no copy, as the others do. */
  sizeOf(name: string): number | undefined {
    return this.#attempt(() => {
      const descriptor = this.#open(name);
      return descriptor === undefined ? undefined : fstatSync(descriptor).size;
    });
  }

  read(name: string): Uint8Array | undefined {
    const sizeBytes = this.sizeOf(name);
    if (sizeBytes === undefined) return undefined;
    const bytes = Buffer.allocUnsafeSlow(sizeBytes);
    return this.readRange(name, 0, bytes) ? bytes : undefined;
  }

  /** Fills `target` from an offset. Returns false if that is not possible. */
  readRange(name: string, offset: number, target: Uint8Array): boolean {
    const isFilled = this.#attempt(() => {
      const descriptor = this.#open(name);
      return descriptor !== undefined && readFully(descriptor, offset, target) === target.length;
    });
    return isFilled === true;
  }

  create(): CacheDraft {
    const path = newDraft(this.#root);
    let descriptor = this.#attempt(() => openSync(path, 'wx', FILE_MODE));
    const close = (): void => {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    };
    // Also after the cache was turned off: on a full disk, the draft must not stay.
    const discard = (): void => {
      try {
        close();
        rmSync(path, { force: true });
      } catch {
        // It is removed by a later command.
      }
    };
    return {
      append: (bytes) => {
        if (descriptor !== undefined && this.#attempt(() => writeFully(descriptor!, bytes)) !== true) discard();
      },
      commit: (name) => {
        this.#attempt(() => {
          if (descriptor === undefined) return;
          close();
          this.#adopt(path, name);
        });
      },
      discard,
    };
  }

  put(name: string, bytes: Uint8Array): void {
    const draft = this.create();
    draft.append(bytes);
    draft.commit(name);
  }

  drop(name: string): void {
    this.#attempt(() => this.#remove(name));
  }

  close(): void {
    this.#readers.close();
  }

  /** Gives a complete file its name, unless it is not what the name says. */
  #adopt(path: string, name: string): void {
    const digest = this.#digestOf(path, name);
    const isCheckpoint = directoryOf(name) === 'filter';
    if (!isCheckpoint && digest !== baseName(name)) return unlinkSync(path);
    // Only the newest checkpoint is of use.
    if (isCheckpoint) for (const older of this.namesIn('filter')) this.#remove(older);
    const file = isCheckpoint ? `${name}.${digest}` : name;
    renameSync(path, `${this.#root}/${file}`);
    this.#files.set(name, file);
    this.#verified.add(name);
    this.#makeRoom(name);
  }

  /** Returns the descriptor of a copy that has the right bytes. */
  #open(name: string): number | undefined {
    const file = this.#files.get(name);
    if (file === undefined || !this.#isUsable) return undefined;
    const path = `${this.#root}/${file}`;
    if (!this.#verified.has(name)) {
      if (this.#digestOf(path, name) !== baseName(file).split('.').at(-1)) {
        this.#remove(name);
        return undefined;
      }
      this.#verified.add(name);
      markUsed(path);
    }
    return this.#readers.open(path);
  }

  #digestOf(path: string, name: string): string {
    return digestOfFile(path, createPackDigest(directoryOf(name) === 'packs' ? this.#options.packHash : 'sha256'));
  }

  #remove(name: string): void {
    const file = this.#files.get(name);
    if (file === undefined) return;
    this.#files.delete(name);
    this.#room?.remove(name);
    this.#verified.delete(name);
    this.#readers.forget(`${this.#root}/${file}`);
    rmSync(`${this.#root}/${file}`, { force: true });
  }

  /** Removes what was not used for the longest time, and `kept` only if it is too large on its own. */
  #makeRoom(kept: string): void {
    const pathOf = (name: string): string => `${this.#root}/${this.#files.get(name)}`;
    if (this.#room === undefined) {
      const paths = new Map([...this.#files.keys()].map((name) => [name, pathOf(name)]));
      this.#room = new CacheRoom(paths, this.#options.maxBytes);
    } else this.#room.add(kept, pathOf(kept));
    for (let name; (name = this.#room.surplus(kept, pathOf)) !== undefined;) this.#remove(name);
  }

  /** Returns undefined after a failure. Another process may remove any file at any time. */
  #attempt<T>(action: () => T): T | undefined {
    if (!this.#isUsable) return undefined;
    try {
      return action();
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      this.#isUsable = false;
      this.#options.onTrouble(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }
}
