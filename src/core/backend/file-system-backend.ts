import { randomBytes } from 'node:crypto';

import { isAbsent } from '../errors.ts';
import { GROUP_ID_NAME, directoryOf } from '../format/layout.ts';
import { wallClockMs } from '../util/clock.ts';
import type { Backend, BackendFile, NextReads, Place, StagedFile, Verify } from './backend.ts';
import { AskedAlong } from './publication.ts';
import type { FileWriter, Publication, TemporaryFile } from './publication.ts';
import { repositoryExists } from './repository-exists.ts';

/**
 * A backend on a place that works like a file system. A subclass has the steps that such a place offers, from
 * `makeDirectory` to `heartbeatOf`; this class builds the operations of `Backend` from them. A name appears or disappears
 * immediately, but the change survives a power cut only after `syncDirectory` of its directory.
 *
 * A file is published by: temporary file in the same file system, write, length check, fsync, rename; its directory is
 * fsynced at the next barrier.
 */
export abstract class FileSystemBackend implements Backend {
  abstract readonly location: string;
  readonly localDirectory: string | undefined = undefined;
  readonly readsAtOnce: number = 1;
  /** On another machine, a file is verified while it becomes durable, and names are durable when they are renamed. */
  protected readonly isFar: boolean = false;
  /** Directories with changed names that are not durable yet, with the number of the latest change. */
  readonly #unsynced = new Map<string, number>();
  #changeCount = 0;
  /** The last lock that was created, and when by the clock of this machine. */
  #claimed: { readonly name: string; readonly timeMs: number } | undefined;
  #clockAheadMs: number | undefined;
  /** The error of a failed fsync of a directory. A second fsync would wrongly succeed: the names may be dropped. */
  #failedSync: { readonly error: unknown } | undefined;

  /**
   * Creates a directory and its parents; existing ones are accepted. Its name becomes durable with the next
   * `syncDirectory` of the new directory itself.
   */
  abstract makeDirectory(name: string): Promise<void>;
  /** Prepares that a file gets this name, beside the sync of the file, or loses it: its directory is synced then. */
  protected expectName?(name: string, isRemoved?: boolean): void;
  /**
   * Syncs a file and gives it its name at once, where the place can do all of `#publish` itself. Returns false if it was not
   * done, so that it must be done step by step.
   */
  protected publishAtOnce?(file: TemporaryFile, publication: Publication, along: AskedAlong): Promise<boolean>;
  /** Creates a file; fails with the kind `exists` if it exists. `next`: as for `claim`. */
  abstract create(name: string, next?: NextReads): Promise<FileWriter>;
  /** Replaces `target` if it exists. `along`: may be sent with it. */
  abstract rename(source: string, target: string, along?: AskedAlong): Promise<void>;
  /** As `rename`, but fails with the kind `exists` if there is a target. */
  abstract renameNew(source: string, target: string, along?: AskedAlong): Promise<void>;
  /** Returns false if the file did not exist. */
  abstract unlink(name: string): Promise<boolean>;
  /**
   * Makes the additions and removals of names in a directory durable, and the directory itself if `makeDirectory`
   * created it. After a rename between two directories, both are synced, the new one first.
   */
  abstract syncDirectory(directory: string): Promise<void>;
  /** Does so for several, one after the other. `mayBeAbsent`: those that do not exist are skipped. */
  protected async syncDirectories(directories: readonly string[], mayBeAbsent = false): Promise<void> {
    for (const directory of directories) {
      await this.syncDirectory(directory).catch((error: unknown) => {
        if (!mayBeAbsent || !isAbsent(error)) throw error;
      });
    }
  }
  /** Sets the modification time of a file to now; returns false if the file does not exist. */
  abstract touch(name: string): Promise<boolean>;
  /** Returns the modification time of a file, or undefined if it does not exist. */
  abstract heartbeatOf(name: string): Promise<string | undefined>;
  abstract list(directory: string): Promise<BackendFile[]>;
  abstract sizeOf(name: string): Promise<number | undefined>;
  abstract read(name: string): Promise<Uint8Array>;
  abstract readRange(name: string, offset: number, target: Uint8Array): Promise<void>;
  abstract close(): Promise<void>;

  async examine(): Promise<Place | undefined> {
    return undefined;
  }

  async prepare(directories: readonly string[]): Promise<void> {
    for (const directory of directories) await this.makeDirectory(directory);
    await this.syncDirectory('');
  }

  async sizesOf(names: readonly string[]): Promise<Map<string, number>> {
    const sizes = new Map<string, number>();
    for (const name of names) {
      const sizeBytes = await this.sizeOf(name);
      if (sizeBytes !== undefined) sizes.set(name, sizeBytes);
    }
    return sizes;
  }

  async stage(): Promise<StagedFile> {
    const file = await this.createTemporary();
    return {
      append: async (bytes) => file.writer.append(bytes),
      flush: async () => file.writer.sync(),
      publish: async (target, verify, isNew, after) => this.#publish(file, { target, verify, isNew, after }),
      discard: async () => this.#discard(file),
    };
  }

  protected async createTemporary(): Promise<TemporaryFile> {
    const name = `tmp/${randomBytes(16).toString('hex')}`;
    return { name, writer: await this.#inDirectory('tmp', async () => this.create(name)) };
  }

  async publish(name: string, bytes: Uint8Array, verify?: Verify, after?: Verify): Promise<void> {
    const file = await this.stage();
    try {
      await file.append(bytes);
    } catch (error) {
      await file.discard();
      throw error;
    }
    await file.publish(name, verify, false, after);
  }

  async move(source: string, target: string): Promise<void> {
    await this.#renameInto(source, target);
    if (!this.isFar) this.#markUnsynced(directoryOf(source));
  }

  async remove(name: string): Promise<boolean> {
    this.expectName?.(name, true);
    const wasThere = await this.unlink(name);
    if (wasThere) this.#markUnsynced(directoryOf(name));
    return wasThere;
  }

  async barrier(): Promise<void> {
    const changes = [...this.#unsynced];
    await this.#syncNames(changes.map(([directory]) => directory));
    // A name that was added during the sync may have missed it.
    for (const [directory, change] of changes) {
      if (this.#unsynced.get(directory) === change) this.#unsynced.delete(directory);
    }
    // Another barrier may have failed while this one waited for the same directory.
    this.#assertSynced();
  }

  async settle(directories: readonly string[]): Promise<void> {
    await this.#syncNames(directories, true);
  }

  async claim(name: string, next?: NextReads): Promise<void> {
    const writer = await this.#inDirectory(directoryOf(name), async () => this.create(name, next));
    this.#claimed = { name, timeMs: wallClockMs() };
    await writer.close();
  }

  clockAheadMs(): number | undefined {
    return this.#clockAheadMs;
  }

  /** A listing shows when a file was last changed. The file system has set that of a new lock, and no heartbeat yet. */
  protected observeTime(name: string, modifiedMs: number): void {
    if (this.#claimed?.name !== name) return;
    this.#clockAheadMs = modifiedMs - this.#claimed.timeMs;
    this.#claimed = undefined;
  }

  async refresh(name: string): Promise<boolean> {
    return await this.touch(name);
  }

  async release(name: string): Promise<boolean> {
    return await this.unlink(name);
  }

  /** After a failed fsync, the file is removed, not synced again: the kernel may have dropped its bytes. */
  async #publish(file: TemporaryFile, publication: Publication): Promise<void> {
    const along = new AskedAlong(publication.after);
    try {
      if ((await this.publishAtOnce?.(file, publication, along)) === true) await file.writer.close();
      else await this.#publishInSteps(file, publication, along);
    } catch (error) {
      await this.#discard(file);
      throw error;
    }
    await along.answer();
  }

  async #publishInSteps({ name, writer }: TemporaryFile, publication: Publication, along: AskedAlong): Promise<void> {
    const { target, verify, isNew } = publication;
    this.expectName?.(target);
    if (this.isFar) await Promise.all([writer.sync(), verify?.()]);
    else await writer.sync();
    await writer.close();
    if (!this.isFar) await verify?.();
    await this.#renameInto(name, target, isNew, along);
  }

  async #discard({ name, writer }: TemporaryFile): Promise<void> {
    await writer.close().catch(() => undefined);
    await this.unlink(name).catch(() => false);
  }

  async #renameInto(source: string, target: string, isNew = false, along?: AskedAlong): Promise<void> {
    await this.#inDirectory(directoryOf(target), async () =>
      isNew ? this.renameNew(source, target, along) : this.rename(source, target, along),
    );
    if (!this.isFar) this.#markUnsynced(directoryOf(target));
  }

  /** Creates the directory if it is missing: a copy of a repository may have lost its empty directories. */
  async #inDirectory<T>(directory: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      // Do not start a new repository where this one was moved away or unmounted in the meantime.
      if (!isAbsent(error) || !(await this.#isInUse())) throw error;
      await this.makeDirectory(directory);
      await this.syncDirectory(directoryOf(directory));
      return await action();
    }
  }

  /** Whether this is the place of a repository, or of a group of one. */
  async #isInUse(): Promise<boolean> {
    return (await repositoryExists(this)) || (await this.sizeOf(GROUP_ID_NAME)) !== undefined;
  }

  #markUnsynced(directory: string): void {
    this.#changeCount += 1;
    this.#unsynced.set(directory, this.#changeCount);
  }

  async #syncNames(directories: readonly string[], mayBeAbsent = false): Promise<void> {
    this.#assertSynced();
    try {
      if (directories.length > 0) await this.syncDirectories(directories, mayBeAbsent);
    } catch (error) {
      this.#failedSync = { error };
      throw error;
    }
  }

  #assertSynced(): void {
    if (this.#failedSync !== undefined) throw this.#failedSync.error;
  }
}
