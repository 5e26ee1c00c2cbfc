import { randomBytes } from 'node:crypto';
import type { Backend, BackendWriter } from '../backend/backend.ts';
import { isAbsent } from '../errors.ts';
import { repositoryExists } from './config-file.ts';
import { directoryOf } from '../format/layout.ts';

/** Throws if the next step must not be done, for example because the lock of this process is gone. */
export type Verify = () => Promise<void>;

/** Writes the bytes of a new file in any number of pieces. `sync` makes the bytes written so far durable. */
export type WriteFile = (append: BackendWriter['append'], sync: BackendWriter['sync']) => Promise<unknown>;

/** A written file that does not have its final name yet. */
export interface TemporaryFile {
  readonly name: string;
  readonly writer: BackendWriter;
}

/** Creates, renames and removes files durably. `DurableOrder` defines the order of these steps. */
export class DurableFiles {
  readonly #backend: Backend;
  /** Directories with changed names that are not durable yet. */
  readonly #unsynced = new Set<string>();
  /** The error of a failed fsync of a directory. A second fsync would wrongly succeed: the names may be dropped. */
  #failedSync: { readonly error: unknown } | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  async publishBytes(bytes: Uint8Array, name: string, verify?: Verify): Promise<void> {
    const temporary = await this.writeTemporary(async (append) => append(bytes));
    await this.publish(temporary.name, temporary.writer, name, verify);
  }

  async writeTemporary(write: WriteFile): Promise<TemporaryFile> {
    const temporary = await this.createTemporary();
    try {
      const { writer } = temporary;
      await write(
        async (bytes) => writer.append(bytes),
        async () => writer.sync(),
      );
      return temporary;
    } catch (error) {
      await this.discard(temporary.name, temporary.writer);
      throw error;
    }
  }

  async createTemporary(): Promise<TemporaryFile> {
    const name = `tmp/${randomBytes(16).toString('hex')}`;
    return { name, writer: await this.#inDirectory('tmp', async () => this.#backend.create(name)) };
  }

  /** After a failed fsync, the file is removed, not synced again: the kernel may have dropped its bytes. */
  async publish(temporaryName: string, writer: BackendWriter, name: string, verify?: Verify): Promise<void> {
    try {
      await writer.sync();
      await writer.close();
      await verify?.();
      await this.rename(temporaryName, name);
    } catch (error) {
      await this.discard(temporaryName, writer);
      throw error;
    }
  }

  async rename(source: string, target: string): Promise<void> {
    await this.#inDirectory(directoryOf(target), async () => this.#backend.rename(source, target));
    this.#unsynced.add(directoryOf(target));
    if (!source.startsWith('tmp/')) this.#unsynced.add(directoryOf(source));
  }

  /** Returns false if `source` does not exist. */
  async renameUnlessGone(source: string, target: string): Promise<boolean> {
    try {
      await this.rename(source, target);
      return true;
    } catch (error) {
      if (!isAbsent(error) || (await this.#backend.sizeOf(source)) !== undefined) throw error;
      return false;
    }
  }

  /** Creates the directory if it is missing: a copy of a repository may have lost its empty directories. */
  async #inDirectory<T>(directory: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      // Do not start a new repository where this one was moved away or unmounted in the meantime.
      if (!isAbsent(error) || !(await repositoryExists(this.#backend))) throw error;
      await this.#backend.makeDirectory(directory);
      await this.#backend.syncDirectory(directoryOf(directory));
      return await action();
    }
  }

  /** Cleans up after a failure. Ignores errors, since the caller reports the original one. */
  async discard(name: string, writer: BackendWriter): Promise<void> {
    await writer.close().catch(() => undefined);
    await this.#backend.remove(name).catch(() => false);
  }

  /** Removes a file if it exists. The removal is durable after the next barrier. */
  async remove(name: string): Promise<void> {
    if (await this.#backend.remove(name)) this.#unsynced.add(directoryOf(name));
  }

  /** Makes all names that were added or removed so far durable. */
  async barrier(): Promise<void> {
    if (this.#failedSync !== undefined) throw this.#failedSync.error;
    for (const directory of this.#unsynced) {
      // Delete it before waiting: a name that is added during the sync may miss it, and marks the directory again.
      this.#unsynced.delete(directory);
      await this.#syncDirectory(directory);
    }
  }

  /** Makes the names in directories durable that other processes may have added or removed. Skips missing ones. */
  async syncDirectories(directories: readonly string[]): Promise<void> {
    for (const directory of directories) {
      const isThere = await this.#backend.list(directory).then(
        () => true,
        (error: unknown) => !isAbsent(error),
      );
      if (isThere) await this.#syncDirectory(directory);
    }
  }

  async #syncDirectory(directory: string): Promise<void> {
    try {
      await this.#backend.syncDirectory(directory);
    } catch (error) {
      this.#failedSync = { error };
      throw error;
    }
  }

  /** What was set aside earlier is never overwritten. */
  async freeQuarantineName(name: string): Promise<string> {
    const target = `quarantine/${name.replaceAll('/', '-')}`;
    for (let count = 0; ; count += 1) {
      const free = count === 0 ? target : `${target}.${count}`;
      if ((await this.#backend.sizeOf(free)) === undefined) return free;
    }
  }
}
