import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Stats } from 'node:fs';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { nativeCalls } from '../native/native.ts';
import { targetError } from '../paths/path-failures.ts';

const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The content of an existing file at the target. All methods throw TargetError. */
export class TargetContent {
  readonly #path: ByteString;
  readonly descriptor: number;

  /** Does not follow a symlink. */
  constructor(path: ByteString) {
    this.#path = path;
    this.descriptor = this.#attempt('open', () => openSync(fsPath(path), READ_FLAGS));
  }

  /** Undefined for anything but a file. */
  get sizeBytes(): number | undefined {
    const stats = this.#stats();
    return stats.isFile() ? stats.size : undefined;
  }

  /** Whether it is a file without other hard links. */
  get hasOneName(): boolean {
    const stats = this.#stats();
    return stats.isFile() && stats.nlink === 1;
  }

  #stats(): Stats {
    return this.#attempt('read the metadata of', () => fstatSync(this.descriptor));
  }

  /** Fills the buffer with the bytes at a position. Returns false if the file ends before. */
  fill(buffer: Uint8Array, position: number): boolean {
    return this.#attempt('read', () => {
      let done = 0;
      while (done < buffer.length) {
        const count = readSync(this.descriptor, buffer, done, buffer.length - done, position + done);
        if (count === 0) return false;
        done += count;
      }
      return true;
    });
  }

  /** Lets the next read come from the disk, as far as the system allows it. */
  dropCache(): void {
    nativeCalls()?.file?.dropCache(this.descriptor);
  }

  close(): void {
    closeSync(this.descriptor);
  }

  #attempt<T>(operation: string, action: () => T): T {
    try {
      return action();
    } catch (cause) {
      throw targetError({ operation, path: this.#path, cause });
    }
  }
}

/** Writes everything that the file system of a directory holds in memory to the disk. Ignores errors. */
export function syncFileSystem(directory: ByteString): void {
  const calls = nativeCalls()?.file;
  if (calls === undefined) return;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(fsPath(directory), constants.O_RDONLY | constants.O_DIRECTORY);
    calls.syncFileSystem(descriptor);
  } catch {
    // Then what is read back may come from memory.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
