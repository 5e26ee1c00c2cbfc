import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import type { Stats } from 'node:fs';

import { errnoOf } from '../../core/backend/backend-failure.ts';
import { syncDirectoryPath } from '../../core/backend/sync-directory.ts';
import { APPEND_ONLY } from './append-only.ts';
import type { Quota } from './quota.ts';
import { RequestError, STATUS } from './request-error.ts';
import { lstatUnlessAbsent } from './root.ts';
import type { Located, Root } from './root.ts';

/** Flags of SSH_FXP_OPEN (draft-ietf-secsh-filexfer-02, section 6.3). */
const OPEN = { READ: 1, WRITE: 2, APPEND: 4, CREAT: 8, TRUNC: 16, EXCL: 32 } as const;
/** Whatever the client asks for: a repository is private. */
const FILE_MODE = 0o600;
/** Errors of fsync after which the next one wrongly succeeds: the system tells only once what it has lost. */
const LOSING = new Set(['EIO', 'ENOSPC', 'EDQUOT']);
/** How many files and directories a client may have open. */
export const HANDLES_MAX = 512;

interface OpenFile {
  readonly path: string;
  /** Undefined for a directory, which can only be synced. */
  readonly descriptor: number | undefined;
  /** Whether bytes were not written that the client may take for written: it need not wait for the answers. */
  hasFailed: boolean;
}

export interface Limits {
  readonly isAppendOnly: boolean;
  readonly quota: Quota | undefined;
  /** The most names in all listings that are open. */
  readonly listedNamesMax?: number;
}

/** The files that a client has open. Throws `RequestError` or the errors of `node:fs`. */
export class OpenFiles {
  readonly #root: Root;
  readonly #limits: Limits;
  readonly #files = new Map<string, OpenFile>();
  readonly #failedDirectories = new Set<string>();
  #openedCount = 0;

  constructor(root: Root, limits: Limits) {
    this.#root = root;
    this.#limits = limits;
  }

  get count(): number {
    return this.#files.size;
  }

  has(handle: string): boolean {
    return this.#files.has(handle);
  }

  /** Opens a file, or a directory to be synced. Returns its handle. `handle`: one that is not in use. */
  open(path: string, flags: number, handle?: string): string {
    const located = this.#root.locate(path);
    const { stats } = located;
    if (stats?.isDirectory() === true && flags === OPEN.READ) return this.#add({ path: located.path }, handle);
    // A FIFO would block, and a device is not what is served.
    if (stats !== undefined && !stats.isFile()) throw new RequestError(STATUS.FAILURE, 'not a regular file');
    return this.#add({ path: located.path, descriptor: this.#openFile(located, flags) }, handle);
  }

  read(handle: string, offset: number, target: Buffer): number {
    return readSync(this.#fileOf(handle), target, 0, target.length, position(offset));
  }

  write(handle: string, offset: number, bytes: Uint8Array): void {
    try {
      this.#write(handle, offset, bytes);
    } catch (error) {
      const file = this.#files.get(handle);
      if (file !== undefined) file.hasFailed = true;
      throw error;
    }
  }

  #write(handle: string, offset: number, bytes: Uint8Array): void {
    const descriptor = this.#fileOf(handle);
    const { size } = this.#assertStillNamed(handle, descriptor);
    const sizeBytes = Math.max(size, position(offset) + bytes.length);
    this.#limits.quota?.resize(size, sizeBytes);
    try {
      for (let done = 0; done < bytes.length;) {
        done += writeSync(descriptor, bytes, done, bytes.length - done, offset + done);
      }
    } catch (error) {
      this.#limits.quota?.resize(sizeBytes, fstatSync(descriptor).size);
      throw error;
    }
  }

  stat(handle: string): Stats {
    return fstatSync(this.#fileOf(handle));
  }

  /** Makes the content of a file, or the names in a directory, durable. Once that has failed, it fails for ever. */
  sync(handle: string): void {
    const file = this.#known(handle);
    const { path, descriptor } = file;
    if (file.hasFailed || this.#failedDirectories.has(path))
      throw new RequestError(STATUS.FAILURE, 'a write or sync before has failed');
    try {
      if (descriptor === undefined) syncDirectoryPath(path);
      else fsyncSync(descriptor);
    } catch (error) {
      if (!LOSING.has(errnoOf(error) ?? '')) throw error;
      if (descriptor === undefined) this.#failedDirectories.add(path);
      else file.hasFailed = true;
      throw error;
    }
  }

  close(handle: string): void {
    const { descriptor } = this.#known(handle);
    this.#files.delete(handle);
    if (descriptor !== undefined) closeSync(descriptor);
  }

  closeAll(): void {
    for (const handle of this.#files.keys()) this.close(handle);
  }

  #openFile({ name, path, stats }: Located, flags: number): number {
    const writes = (flags & OPEN.WRITE) !== 0;
    const isWritten = writes || (flags & (OPEN.CREAT | OPEN.TRUNC | OPEN.APPEND)) !== 0;
    if (isWritten && this.#limits.isAppendOnly) APPEND_ONLY.assertMayWrite(name);
    if ((flags & OPEN.APPEND) !== 0) throw new RequestError(STATUS.UNSUPPORTED, 'the server does not append');
    const access = !writes ? constants.O_RDONLY : (flags & OPEN.READ) === 0 ? constants.O_WRONLY : constants.O_RDWR;
    const create = (flags & OPEN.CREAT) === 0 ? 0 : constants.O_CREAT;
    const exclusive = (flags & OPEN.EXCL) === 0 ? 0 : constants.O_EXCL;
    const descriptor = openSync(path, access | create | exclusive | constants.O_NOFOLLOW, FILE_MODE);
    if (writes && (flags & OPEN.TRUNC) !== 0) this.#truncate({ name, path, stats }, descriptor);
    return descriptor;
  }

  #truncate({ path }: Located, descriptor: number): void {
    try {
      const { size } = this.#assertStillIs(path, descriptor);
      ftruncateSync(descriptor);
      this.#limits.quota?.resize(size, 0);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  #add(file: { readonly path: string; readonly descriptor?: number }, named?: string): string {
    if (this.#files.size >= HANDLES_MAX) {
      if (file.descriptor !== undefined) closeSync(file.descriptor);
      throw new RequestError(STATUS.FAILURE, `more than ${HANDLES_MAX} open files`);
    }
    this.#openedCount += 1;
    const handle = named ?? `f${this.#openedCount}`;
    this.#files.set(handle, { path: file.path, descriptor: file.descriptor, hasFailed: false });
    return handle;
  }

  #known(handle: string): OpenFile {
    const file = this.#files.get(handle);
    if (file === undefined) throw new RequestError(STATUS.FAILURE, 'no such handle');
    return file;
  }

  #fileOf(handle: string): number {
    const { descriptor } = this.#known(handle);
    if (descriptor === undefined) throw new RequestError(STATUS.FAILURE, 'a directory');
    return descriptor;
  }

  #assertStillNamed(handle: string, descriptor: number): Stats {
    return this.#assertStillIs(this.#known(handle).path, descriptor);
  }

  /**
   * A file that was removed takes up space that no quota counts. One that got its final name, here or by another server,
   * must not change any more: it was opened while it was a temporary file.
   */
  #assertStillIs(path: string, descriptor: number): Stats {
    const stats = fstatSync(descriptor);
    if (stats.nlink === 0) throw new RequestError(STATUS.FAILURE, 'the file was removed');
    if (!this.#limits.isAppendOnly) return stats;
    const named = lstatUnlessAbsent(path);
    if (stats.nlink > 1 || named?.ino !== stats.ino || named.dev !== stats.dev) {
      throw new RequestError(STATUS.PERMISSION_DENIED, 'the server is append-only: the file has another name now');
    }
    return stats;
  }
}

function position(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset > Number.MAX_SAFE_INTEGER / 2) {
    throw new RequestError(STATUS.BAD_MESSAGE, 'no possible offset');
  }
  return offset;
}
