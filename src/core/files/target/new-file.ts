import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { UsageError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath, textOf } from '../../util/byte-string.ts';
import { errnoOf, targetError } from '../paths/path-failures.ts';
import { kindOf } from './replace-file.ts';

/** File systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * A file that is written piece by piece, under a temporary name until it is complete. Replaces nothing. Writes to a
 * device directly.
 */
export class NewFile {
  readonly #path: ByteString;
  /** Undefined for a device. */
  readonly #temporary: ByteString | undefined;
  readonly #descriptor: number;

  /**
   * @throws UsageError if the file exists, and for a directory or a FIFO
   * @throws TargetError if nothing can be written there
   */
  constructor(path: ByteString) {
    const kind = kindOf(path);
    if (kind === 'file') throw existsAlready(path);
    this.#path = path;
    this.#temporary = kind === 'special' ? undefined : (`${path}.${randomBytes(6).toString('hex')}.tmp` as ByteString);
    this.#descriptor = this.#attempt(() => openSync(fsPath(this.#temporary ?? path), kind === 'special' ? 'w' : 'wx'));
  }

  /** @throws TargetError */
  write(bytes: Uint8Array): void {
    this.#attempt(() => {
      for (let done = 0; done < bytes.length;) done += writeSync(this.#descriptor, bytes, done);
    });
  }

  /**
   * Forces the file to the disk and gives it its name.
   * @throws UsageError if the name is taken by now
   * @throws TargetError
   */
  commit(): void {
    const temporary = this.#temporary;
    this.#attempt(() => {
      if (temporary !== undefined) fsyncSync(this.#descriptor);
      closeSync(this.#descriptor);
      if (temporary !== undefined) this.#rename(temporary);
    });
  }

  /** Removes what was written. Call it instead of `commit`, also after `commit` has failed. */
  discard(): void {
    try {
      closeSync(this.#descriptor);
    } catch {
      // It is closed already.
    }
    if (this.#temporary !== undefined) rmSync(fsPath(this.#temporary), { force: true });
  }

  /** A link, unlike a renaming, does not replace a file. */
  #rename(temporary: ByteString): void {
    try {
      linkSync(fsPath(temporary), fsPath(this.#path));
      rmSync(fsPath(temporary));
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') throw existsAlready(this.#path);
      if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error;
      renameSync(fsPath(temporary), fsPath(this.#path));
    }
  }

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (cause) {
      if (cause instanceof UsageError) throw cause;
      throw targetError({ operation: 'write', path: this.#path, cause });
    }
  }
}

function existsAlready(path: ByteString): UsageError {
  return new UsageError(`${textOf(path)} exists already`, { hint: 'Name another file, or remove it.' });
}
