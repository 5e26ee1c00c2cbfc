import { randomBytes } from 'node:crypto';
import type { Backend, BackendWriter } from '../backend/backend.ts';
import { isAbsent } from '../errors.ts';
import { repositoryExists } from './config-file.ts';
import { directoryOf } from './layout.ts';

/** Throws if the next step must not be taken, such as when the lock of this process is gone. */
export type Verify = () => Promise<void>;

/** Writes the bytes of a new file, in as many pieces as it likes. `sync` makes those written so far durable. */
export type WriteFile = (append: BackendWriter['append'], sync: BackendWriter['sync']) => Promise<unknown>;

/** A file that is written and has no final name yet. */
export interface TemporaryFile {
  readonly name: string;
  readonly writer: BackendWriter;
}

/** How files appear and vanish durably; the order in which they do is that of `DurableOrder`. */
export class DurableFiles {
  readonly #backend: Backend;
  /** Directories with names that are not durable yet. */
  readonly #unsynced = new Set<string>();
  /** Of a directory: the kernel may have dropped the names, and a second fsync would wrongly succeed. */
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

  /** A failed fsync is never tried again on the same file: the kernel may have dropped the bytes. The file goes. */
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

  /** A copy of a repository may have lost its empty directories. */
  async #inDirectory<T>(directory: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      // A repository that was moved away or unmounted meanwhile must not begin anew.
      if (!isAbsent(error) || !(await repositoryExists(this.#backend))) throw error;
      await this.#backend.makeDirectory(directory);
      await this.#backend.syncDirectory(directoryOf(directory));
      return await action();
    }
  }

  /** Cleans up after a failure, which is what the caller reports; a second failure here adds nothing to it. */
  async discard(name: string, writer: BackendWriter): Promise<void> {
    await writer.close().catch(() => undefined);
    await this.#backend.remove(name).catch(() => false);
  }

  /** Removes a file if it exists; durably gone after the next barrier. */
  async remove(name: string): Promise<void> {
    if (await this.#backend.remove(name)) this.#unsynced.add(directoryOf(name));
  }

  /** Makes every name that appeared or vanished so far durable. */
  async barrier(): Promise<void> {
    if (this.#failedSync !== undefined) throw this.#failedSync.error;
    for (const directory of this.#unsynced) {
      // Before the wait: a name that appears meanwhile may miss this one, and marks the directory again.
      this.#unsynced.delete(directory);
      try {
        await this.#backend.syncDirectory(directory);
      } catch (error) {
        this.#failedSync = { error };
        throw error;
      }
    }
  }
}
